"""Followed folders: kept in step with the library, and watched while somebody is there.

Owns: bringing collections up to date with the folders that they follow, recording what changed, and telling
when something has.

Must not know: the run, its prompts and its decisions.
"""
