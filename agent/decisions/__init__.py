"""Decisions: the interface between a run and what decides its next step.

Owns: the policy state (as fields, as text and as numbers), the protocol of a decider, and the use of a
learned one.

Must not know: what a learned policy is made of: it is passed in.
"""
