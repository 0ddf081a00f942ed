"""Decisions: what a decider sees, as fields, as text and as numbers, and the sources of decisions."""
