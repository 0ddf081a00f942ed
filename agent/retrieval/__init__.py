"""The retrieval funnel's first stage: recall by strategy, and fusion.

Owns: keyword terms and index, maximal marginal relevance, section matching, reciprocal rank fusion of the
ensemble, where a step searches. The later stages are a model's (`models.encoders`) and cognitive
steps' (`agent.cognition.grading`, `agent.cognition.distilling`).

Must not know: prompts, the graph, or how a run decides. It returns passages with the scores of every
stage, so that a person can see why each one is there.
"""
