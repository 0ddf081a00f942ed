"""Starts `tests.benchmarks.reader.making`."""

from tests.benchmarks.reader.making import main

main()
