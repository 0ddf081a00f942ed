"""Tests of `agent.documents`."""
