"""The steps of a run, one module each: what a step asks, reads and returns."""

from __future__ import annotations
