"""Policies on disk and in use: folder, manifest, card, registry, scorers, the learned decider."""
