"""Judging a policy: calibration, margin, walks over held-out trees, intervals, the gate."""
