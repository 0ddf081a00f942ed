"""The web, off unless the user turns it on: search, fetch, read, keep.

Owns: the protocol of a search engine and two engines (`search`), a GET that cannot be turned against this
machine or its network (`fetch`), and the entry point that combines these, takes the main text of a page and
keeps it in the library (`gather`).

Must not know: the graph, models other than the embedder, the settings. Nothing imports it while the web is
off.
"""
