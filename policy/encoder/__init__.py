"""The encoder: MiniLM with an adapter reads the state's text, and the state's numbers join it late.

Two ways to train one network: three advantages and a sufficiency by regression (``value``), and a reward
of each action by comparing a better with a worse one in the same state (``reward``).
"""
