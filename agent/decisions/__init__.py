"""Decisions: the interface between a run and what decides its next step.

Owns: the policy state (as fields, as text and as numbers), the protocol of a decider, the rules, the
language model as judge, and the use of a learned policy.

Must not know: how a learned policy works, which is passed in.
"""
