"""The encoder: MiniLM with an adapter reads the state's text, and the state's numbers join it late.

It learns a reward of each action by comparing a better with a worse one in the same state, and beside that
whether the evidence suffices.
"""
