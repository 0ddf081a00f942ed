"""Damages one table of a store, as a failing disk does."""

from __future__ import annotations

import os

from traces.store import Store

_HEADERS = 3 * 4096  # bytes before the first block


def damage_table(store: Store, table: str) -> None:
    """Overwrite the blocks of a table that hold nothing of another one; there has to be one."""
    blocks: dict[str, set[int]] = {}
    with store.connect() as db:
        db.execute("CHECKPOINT")
        [(size,)] = db.execute("SELECT block_size FROM pragma_database_size()").fetchall()
        for (name,) in db.execute("SELECT table_name FROM duckdb_tables()").fetchall():
            rows = db.execute(
                f"SELECT DISTINCT block_id FROM pragma_storage_info('{name}') WHERE persistent"
            ).fetchall()
            blocks[name] = {block for (block,) in rows if block >= 0}
    own = blocks.pop(table).difference(*blocks.values())
    assert own, f"{table} is too small to have blocks of its own"
    with store.path.open("r+b") as file:
        for block in own:
            file.seek(_HEADERS + block * size + size // 2)
            file.write(os.urandom(size // 4))
