"""Policies on disk and at work: folder, manifest, card, registry, scorers, the learned decider."""
