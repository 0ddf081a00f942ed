"""The nodes of the graph, one file each: `node(state, deps)` returns the fields it writes.

Owns: carrying values between the state, the cognitive steps and the funnel, and emitting events.

Must not know: how the nodes are wired (`agent.graph` does that), or who is watching.
"""
