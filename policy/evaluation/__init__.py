"""Whole systems on sets of questions, from the bare model to the full loop, compared without a judge.

Must not know: the terminal, and how a policy is trained.
"""
