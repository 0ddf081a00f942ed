"""Training a policy: examples in, a versioned folder out, with events.

Owns the trainers, calibration and the order of the phases. Knows nothing of who watches: the caller of a
training iterates over its events.
"""
