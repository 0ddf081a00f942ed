"""Policies: which there are, which decides, training new ones, collecting and evaluating."""
