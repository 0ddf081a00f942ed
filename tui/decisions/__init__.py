"""Decisions as steps of a decision process: shown, labelled, exchanged."""
