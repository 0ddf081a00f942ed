"""Retrieval: keyword and vector search, their fusion, and what a passage is shown as."""
