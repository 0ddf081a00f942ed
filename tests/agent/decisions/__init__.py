"""Tests of `agent.decisions`."""
