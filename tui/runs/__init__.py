"""Stored runs and the sessions they belong to: listed, replayed, compared, exported, resumed, deleted."""
