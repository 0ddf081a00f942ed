"""The retrieval funnel: recall by strategy, fusion, reranking, distillation to sentences.

Owns: keyword terms and index, section matching, reciprocal rank fusion, the funnel's stages.

Must not know: prompts, the graph, or how a run decides. It returns passages with the scores of every
stage, so that a person can see why each one is there.
"""
