"""The research loop, from a folder of files to a cited answer.

Owns: reading and chunking documents, the retrieval funnel, prompts, nodes, the graph, budgets, decisions,
citations, the sample library, and one public entry point, `agent.run.run`, which yields typed events.

Must not know: the policy (a decider is passed in) and the terminal. Models and the store are passed in as
arguments.
"""
