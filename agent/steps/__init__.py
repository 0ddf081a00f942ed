"""The steps of a run: what each one asks, reads and returns, one module a step."""

from __future__ import annotations
