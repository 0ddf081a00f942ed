"""Folders that collections follow, and their changes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Final

from traces.store import Queries, columns, insert

_SPECIAL: Final = re.compile(r"([\\*?\[\]!# ])")  # in a pattern of a .gitignore file
AWAY, BACK = "away", "back"
"""Outcomes of a folder, among the changes."""

_KEPT: Final = 1_000  # changes


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that a collection follows."""

    collection: str
    path: str  # absolute, links resolved
    exclude: tuple[str, ...] = ()  # patterns of what is skipped, as in a .gitignore file

    def holds(self, paths: Iterable[str]) -> bool:
        """Whether one of the paths is in the folder."""
        return any(Path(path).is_relative_to(self.path) for path in paths)


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a file in a followed folder, or of the folder itself."""

    collection: str
    outcome: str  # ``added``, ``updated``, ``moved``, ``removed``, ``failed``; folders: ``away``, ``back``
    source: str
    name: str
    detail: str  # the previous name of a moved file, or the problem
    seen: datetime  # when; the same for all changes found in one scan of the folders


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file that could not be read."""

    bytes: int
    modified: int  # when its content or its permissions last changed, in nanoseconds since 1970
    reader: int  # version of reading that failed; 0 if it was not tried
    reason: str  # a sentence; "" if it was not recorded


class Folders(Queries):
    """Queries on followed folders."""

    def followed(self, collection: str | None = None) -> list[Folder]:
        """The folders of a collection, or of all, by collection and path."""
        query = "FROM folders WHERE ? IS NULL OR collection = ? ORDER BY collection, path"
        return self._store.records(Folder, query, [collection, collection])

    def follow(self, folder: Folder) -> None:
        """Follow a folder from now on; if it is already followed, update its patterns."""
        with self._store.transaction() as db:
            db.execute(
                "DELETE FROM folders WHERE collection = ? AND path = ?", [folder.collection, folder.path]
            )
            insert(db, "folders", [columns(folder)])

    def exclude(self, collection: str, source: str, *, excluded: bool = True) -> bool:
        """Exclude a file by name from the folders that hold it, or no longer; returns whether one does."""
        holding = [folder for folder in self.followed(collection) if folder.holds([source])]
        for folder in holding:
            name = Path(source).relative_to(folder.path).as_posix()
            pattern = "/" + _SPECIAL.sub(r"\\\1", name)
            others = tuple(one for one in folder.exclude if one != pattern)
            patterns = (*others, pattern) if excluded else others
            if patterns != folder.exclude:
                self.follow(replace(folder, exclude=patterns))
        return bool(holding)

    def unfollow(self, path: str) -> int:
        """Stop following a folder; returns how many collections did. Its documents stay."""
        with self._store.transaction() as db:
            return len(db.execute("DELETE FROM folders WHERE path = ? RETURNING 1", [path]).fetchall())

    def unreadable(self, collection: str) -> dict[str, Unreadable]:
        """The files in a collection's folders that could not be read, by source."""
        rows = self._store.rows(
            "SELECT source, bytes, modified, reader, reason FROM unreadable WHERE collection = ?",
            [collection],
        )
        return {source: Unreadable(*values) for source, *values in rows}

    def set_unreadable(self, collection: str, files: Mapping[str, Unreadable]) -> None:
        """Replace the record of a collection's unreadable files."""
        with self._store.transaction() as db:
            db.execute("DELETE FROM unreadable WHERE collection = ?", [collection])
            rows = [{"collection": collection, "source": name, **columns(files[name])} for name in files]
            insert(db, "unreadable", rows)

    def changes(self) -> list[Change]:
        """The latest changes, newest first."""
        return self._store.records(Change, "FROM changes ORDER BY seen DESC, collection, name")

    def away(self, collection: str | None = None) -> dict[str, str]:
        """The followed folders that were missing at the last scan, with the reason."""
        rows = self._store.rows(
            """
            SELECT source, arg_max(detail, seen) FROM changes
            WHERE outcome IN (?, ?) AND (? IS NULL OR collection = ?)
            GROUP BY source HAVING arg_max(outcome, seen) = ? ORDER BY source
            """,
            [AWAY, BACK, collection, collection, AWAY],
        )
        return dict(rows)

    def record(self, changes: Sequence[Change]) -> None:
        """Store changes, and delete the oldest if there are too many."""
        with self._store.transaction() as db:
            insert(db, "changes", [columns(change) for change in changes])
            kept = "SELECT seen FROM changes ORDER BY seen DESC LIMIT ?"
            db.execute(f"DELETE FROM changes WHERE seen < (SELECT min(seen) FROM ({kept}))", [_KEPT])
