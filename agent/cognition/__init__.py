"""The cognitive steps: each a small protocol with its implementations, model-free or asking the model.

Owns: planning, rewriting a query, choosing a strategy, distilling, reflecting, deciding, writing the
answer; reading tables and measuring support, which they share. `agent.profiles` names the
implementation that each step uses.

Must not know: the graph. A step gets what it needs as arguments and returns a value; the nodes carry
values into and out of the state.
"""
