"""Downloading model files."""
