"""Decisions of published questions, collected without a language model: every path of every question."""
