"""Stored runs and their sessions: list, replay, compare, export, resume, delete."""
