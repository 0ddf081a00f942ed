"""Collecting: questions whose evidence is known become trees of decisions.

Owns how a question is run with exploration, and how published paragraphs become a library. Knows nothing of
how the trees are learned from.
"""
