"""Tests of `agent.text`."""
