"""The boxed reader, which comes with the package: its code, its weights and its card."""
