"""What the shell completes: the names of things in the store, of models and of settings.

A shell shows whatever is printed, so what cannot be read completes to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from traces.store import Store

_LATEST = 50
_PATIENCE = 0.5  # seconds that a pressed Tab waits for a library in use elsewhere

Named = tuple[str, str]  # what is completed, and a few words about it


def _beginning(names: Callable[[], Iterable[Named]]) -> Callable[[str], list[Named]]:
    """Those that begin with what is typed; none if they cannot be read."""

    def complete(incomplete: str) -> list[Named]:
        from traces.errors import DeepthinkError
        from tui.terminal import one_line

        try:
            return [(name, one_line(about, 60)) for name, about in names() if name.startswith(incomplete)]
        except (DeepthinkError, OSError):
            return []

    complete.__annotations__ = {"incomplete": str}  # typer reads types, not their names
    return complete


def _store() -> Store:
    """The store. Raises FileNotFoundError where there is none: completing must not make one."""
    from traces.paths import store_file
    from traces.store import Store

    store_file().stat()
    return Store(store_file(), _PATIENCE)


@_beginning
def collections() -> Iterable[Named]:
    """Collections of the library."""
    from traces.library import Library

    for one in Library(_store()).collections():
        yield one.name, one.description or f"{one.documents} documents"


@_beginning
def runs() -> Iterable[Named]:
    """The latest runs by id, with their questions."""
    from traces.runs import Runs

    latest = Runs(_store()).recent(_LATEST)
    yield "last", "the newest"
    for run in latest:
        yield run.id, run.question


@_beginning
def sessions() -> Iterable[Named]:
    """The latest conversations by name, else by id."""
    from traces.sessions import Sessions

    latest = Sessions(_store()).recent(_LATEST)
    yield "last", "the one used last"
    for session in latest:
        yield session.name or session.id, session.first


@_beginning
def models() -> Iterable[Named]:
    """Models of the catalogue."""
    from models.catalogue import CATALOGUE

    for entry in CATALOGUE:
        yield entry.name, entry.role


@_beginning
def chat_models() -> Iterable[Named]:
    """Language models of the catalogue."""
    from models.catalogue import CATALOGUE

    for entry in CATALOGUE:
        if entry.role == "chat":
            yield entry.name, entry.role


@_beginning
def profiles() -> Iterable[Named]:
    """Profiles of a run."""
    yield "lean", "few model calls"
    yield "seed", "asks the model at every turn"


@_beginning
def deciders() -> Iterable[Named]:
    """What can decide whether a run continues."""
    yield "rules", "follow the plan"
    yield "llm", "ask the language model"
    yield "learned", "the active policy"


@_beginning
def policies() -> Iterable[Named]:
    """Learned policies."""
    from policy.serving.registry import Registry

    for policy in Registry().listed():
        yield policy.name, policy.manifest.method if policy.manifest else policy.problem


@_beginning
def settings() -> Iterable[Named]:
    """Settings by their dotted keys."""
    from tui.settings.settings import keys

    yield from keys().items()
