"""The cognitive steps: each a small protocol with a model-free implementation and one that asks.

Owns: planning, rewriting a query, choosing a strategy, distilling, reflecting, deciding, writing the
answer; and the profiles, which name the implementation each step uses.

Must not know: the graph. A step gets what it needs as arguments and returns a value; the nodes carry
values into and out of the state.
"""
