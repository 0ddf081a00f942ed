"""Benchmarks and their committed results: `make bench`, or `python -m tests.benchmarks NAME…`.

Owns: measuring. Every figure in a document comes from here; none is typed by hand. Machines differ and
are noisy, so medians and ratios within one run are what is quoted.
"""
