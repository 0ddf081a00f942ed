"""Whole systems on sets of questions: ways of answering, held against each other on the same everything.

Owns what a system is (from the bare model to the whole loop), the questions it is asked, how an answer is
measured without a judge, where a wrong answer was lost, and the report. Rows on disk make it resumable.

Must not know: the terminal, and how a policy is trained.
"""
