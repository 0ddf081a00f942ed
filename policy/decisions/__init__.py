"""Recorded decisions: read from a store as trees, counted, and turned into examples with returns."""
