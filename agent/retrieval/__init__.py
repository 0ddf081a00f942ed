"""Retrieval: from a query to passages.

Owns: keyword and vector indexes, their fusion into one ranking, the scopes that a step searches, the text
of a passage as the reader sees it, and versions of documents. Each passage has the scores of every stage,
so that the user can see why it was found.

Must not know: prompts, the graph, or how a run decides.
"""
