"""The full-screen app.

``app`` is the frame (modes, themes, failures), ``actions`` the one registry of what can be done and by
which key, ``engine`` the models and the store, ``live`` a run in a worker thread, ``fold`` what is known of
a run from its events. ``screens/x.py`` lies beside ``screens/x.tcss``; ``widgets/`` is what several screens
show.

Workers only post messages (`tui.app.work`), and every view of a run is drawn from a `tui.run.fold.RunFold`,
live or replayed. Nothing that the first frame needs imports pydantic, duckdb, langgraph or torch.
"""
