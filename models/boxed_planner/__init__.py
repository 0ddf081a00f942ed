"""The boxed planner, which comes with the package: its code, its adapter and its card."""
