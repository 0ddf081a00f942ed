"""Collecting: questions whose evidence is known become trees of decisions.

Owns how a question is worked through without a language model, through the real retrieval funnel, and how
one is run with it and with exploration. Knows nothing of how the trees are learned from.
"""
