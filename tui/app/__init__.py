"""The frame of the full-screen app.

`app` has modes, themes and failures, `keys` the registry of actions and their keys, `engine` the models
and the store. Each screen is in the folder of what it shows, with its ``.tcss``.

Workers only post messages (`tui.app.work`), and every view of a run is drawn from a
`tui.run.fold.RunFold`, live or replayed. Nothing that the first frame needs imports pydantic, duckdb,
langgraph or torch.
"""
