"""The one DuckDB file and what surrounds it.

Owns: what was read (collections, documents, chunks, vectors), what was done (runs, events,
decisions), what a person said of it (labels, ratings), schema and migrations, every query, the paths of
everything kept on disk, and the base of all errors a person may see.

Must not know: models, the agent, the policy, the terminal. It imports none of the other packages.
"""
