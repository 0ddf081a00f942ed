"""Shell completion of names: of things in the store, of models and of settings.

A shell shows whatever is printed, so anything that cannot be read completes to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from traces.store import Store

_LATEST = 50
_PATIENCE = 0.5  # seconds that Tab waits for a library in use by another process

_Completion = tuple[str, str]  # a name, and a few words about it


def _completer(names: Callable[[], Iterable[_Completion]]) -> Callable[[str], list[_Completion]]:
    """Completes to names that begin with the typed text; to none if they cannot be read."""

    def complete(incomplete: str) -> list[_Completion]:
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
def collections() -> Iterable[_Completion]:
    from traces.library import Library
    from tui.terminal import counted

    for collection in Library(_store()).collections():
        yield collection.name, collection.description or counted(collection.documents, "document")


@_completer
def runs() -> Iterable[_Completion]:
    from traces.runs import Runs

    latest = Runs(_store()).recent(_LATEST)
    return [("last", "the newest"), *((run.id, run.question) for run in latest)]


@_completer
def sessions() -> Iterable[_Completion]:
    from traces.runs import Sessions

    latest = Sessions(_store()).recent(_LATEST)
    return [("last", "the one used last"), *((one.name or one.id, one.first) for one in latest)]


def _models(roles: Iterable[str]) -> Iterable[_Completion]:
    from models.catalogue import CATALOGUE

    return [(entry.name, entry.role) for entry in CATALOGUE if entry.role in roles]


models = _completer(partial(_models, ("chat", "embedder", "reranker")))
chat_models = _completer(partial(_models, ("chat",)))


@_completer
def policies() -> Iterable[_Completion]:
    from policy.serving.registry import Registry

    for policy in Registry().listed():
        yield policy.name, policy.manifest.method if policy.manifest else policy.problem


@_completer
def settings() -> Iterable[_Completion]:
    from tui.settings.settings import fields

    return [(key, field.description or "") for key, field in fields().items()]
