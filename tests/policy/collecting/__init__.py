"""Collecting."""
