"""Training a policy: examples in, a versioned folder out, told as it goes.

Owns the trainers, calibration and the order of the work. Knows nothing of who watches: whoever starts a
training iterates over its events.
"""
