"""The single DuckDB file and what belongs to it.

Owns: the library (collections, documents, chunks, vectors), the record of runs (runs, events,
decisions), feedback (labels, ratings), schema and migrations, every query, the paths of
everything kept on disk, and the base of all errors that users may see.

Must not know: models, the agent, the policy, the terminal. It imports none of the other packages.
"""
