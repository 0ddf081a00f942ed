"""The frame of the full-screen app.

Workers only post messages (`tui.app.work`), and every view of a run is drawn from a
`tui.run.fold.RunFold`, live or replayed. Nothing that the first frame needs imports pydantic, duckdb,
langgraph or torch.
"""
