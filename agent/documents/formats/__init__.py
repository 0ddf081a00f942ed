"""The readers: one module a file format, imported only when a file of that format is read."""
