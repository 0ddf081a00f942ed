"""The web, off unless the user turns it on: search, fetch, read, keep.

Owns: one protocol for search engines and the two behind it (`search`), a GET that cannot be turned
against this machine or its network (`fetch`, `addresses`), the main text of a page
(`extract`), and the door that puts these together and keeps what was found in the library (`gather`).

Must not know: the graph, the models beyond the embedder, the settings. Nothing imports it while the
web is off.
"""
