"""Shell completion of names: of things in the store, of models and of settings.

A shell shows whatever is printed, so anything that cannot be read completes to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from traces.store import Store

_LATEST = 50
_PATIENCE = 0.5  # seconds that Tab waits for a library in use by another process

Completion = tuple[str, str]  # a name, and a few words about it


def _completer(names: Callable[[], Iterable[Completion]]) -> Callable[[str], list[Completion]]:
    """Completes to names that begin with the typed text; to none if they cannot be read."""

    def complete(incomplete: str) -> list[Completion]:
        from traces.errors import DeepthinkError
        from tui.terminal import one_line

        try:
            return [(name, one_line(about, 60)) for name, about in names() if name.startswith(incomplete)]
        except (DeepthinkError, OSError):
            return []

    complete.__annotations__ = {"incomplete": str}  # typer reads types, not their names
    return complete


def _store() -> Store:
    """The store. Raises FileNotFoundError if there is none: completion must not create one."""
    from traces.paths import store_file
    from traces.store import Store

    store_file().stat()
    return Store(store_file(), _PATIENCE)


@_completer
def collections() -> Iterable[Completion]:
    """Collections of the library."""
    from traces.library import Library

    for collection in Library(_store()).collections():
        yield collection.name, collection.description or f"{collection.documents} documents"


@_completer
def runs() -> Iterable[Completion]:
    """The latest runs by id, with their questions."""
    from traces.runs import Runs

    latest = Runs(_store()).recent(_LATEST)
    yield "last", "the newest"
    for run in latest:
        yield run.id, run.question


@_completer
def sessions() -> Iterable[Completion]:
    """The latest conversations by name, else by id."""
    from traces.sessions import Sessions

    latest = Sessions(_store()).recent(_LATEST)
    yield "last", "the one used last"
    for session in latest:
        yield session.name or session.id, session.first


@_completer
def models() -> Iterable[Completion]:
    """Models of the catalogue."""
    from models.catalogue import CATALOGUE

    for entry in CATALOGUE:
        yield entry.name, entry.role


@_completer
def chat_models() -> Iterable[Completion]:
    """Language models of the catalogue."""
    from models.catalogue import CATALOGUE

    for entry in CATALOGUE:
        if entry.role == "chat":
            yield entry.name, entry.role


@_completer
def profiles() -> Iterable[Completion]:
    """Profiles of a run."""
    yield "lean", "few model calls"
    yield "seed", "asks the model at every turn"


@_completer
def deciders() -> Iterable[Completion]:
    """What can decide whether a run continues."""
    yield "rules", "follow the plan"
    yield "llm", "ask the language model"
    yield "learned", "the active policy"


@_completer
def policies() -> Iterable[Completion]:
    """Learned policies."""
    from policy.serving.registry import Registry

    for policy in Registry().listed():
        yield policy.name, policy.manifest.method if policy.manifest else policy.problem


@_completer
def settings() -> Iterable[Completion]:
    """Settings by their dotted keys."""
    from tui.settings.settings import keys

    yield from keys().items()
