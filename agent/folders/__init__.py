"""Followed folders: the library is synced with them, and the app watches them while it is open.

Owns: syncing collections with the folders they follow, the record of changes, and watching for new ones.

Must not know: the run, its prompts and its decisions.
"""
