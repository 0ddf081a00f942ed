"""A reranker from our own data: hard negatives from the product's funnel, training, measuring, packing.

Owns: how the boxed reranker (`models.boxed_reranker`) is made, by one command, ``python -m
policy.reranking``. What was tried and did not help is in EXPERIMENTS.md.
"""
