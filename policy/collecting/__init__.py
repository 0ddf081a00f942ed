"""Collecting: questions with known answers become trees of decisions."""
