"""The encoder: MiniLM with an adapter reads the state's text, and the state's numbers are fused late.

It learns a reward for each action by comparing a better with a worse one in the same state, and also
whether the evidence suffices.
"""
