"""Documents and collections: reading files, searching by hand, and a passage in its document."""
