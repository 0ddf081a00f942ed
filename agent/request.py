"""The request of a run, and the errors of invalid requests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter

from agent.budget import Budget
from agent.cognition import Length
from agent.deps import Approve
from models.protocols import Chat
from models.token_estimate import at_most
from traces.errors import DeepthinkError
from traces.library import Library
from traces.plain_text import plain
from traces.records import NO_FILTERS, WEB_COLLECTION, Collection, Filters, Scope


class UnusableQuestion(DeepthinkError):
    """Raised when the question is empty or too long for the model."""

    title = "Not a question"
    kind = "usage"


class EmptyLibrary(DeepthinkError):
    """Raised when there is nothing to search."""

    title = "The library is empty"
    kind = "usage"


@dataclass(frozen=True, slots=True)
class Request:
    """A question, and how to answer it.

    Attributes:
        approve: What to do with an answer that is not grounded: ``ask`` asks the user, and leaves the run
            waiting if there is none; ``always`` accepts it, with its flags; ``never`` rewrites it once
            from the evidence and withholds it if that does not help.
        web: Whether the web may be searched; `run` sets it, so that a resumed run does the same. None in
            runs stored by older versions.
    """

    question: str  # in the user's words
    collections: tuple[str, ...] = ()  # to search; all if empty
    profile: str = "lean"  # or ``seed``
    decider: str = ""  # `agent.decisions.sources.SOURCES`; the profile's own if empty
    budget: Budget = field(default_factory=Budget)
    route: str = ""  # ``single`` or ``deep``; the planner decides if empty
    length: Length = "normal"  # of the answer
    approve: Approve = "ask"
    interactive: bool = False  # whether a user is there to answer; if not, none is asked back
    session: str = ""  # id of the session that the question may refer to; a new one if empty
    session_name: str = ""  # of a new session
    shadow: str = ""  # a second decider, whose decisions are only recorded; none if empty
    web: bool | None = None
    filters: Filters = NO_FILTERS  # that every searched document must match; then the web is not searched

    @classmethod
    def from_stored(cls, stored: Any) -> Request:
        """The request of a stored run; unknown fields are ignored."""
        return TypeAdapter(cls).validate_python(dict(stored))


def checked_question(question: str, chat: Chat) -> str:
    """The question in one line.

    Raises:
        UnusableQuestion: It is empty, or too long for the model.
    """
    text = " ".join(plain(question).split())
    if not any(c.isalnum() for c in text):
        raise UnusableQuestion(
            "The question is empty.", 'Ask something, for example: deepthink ask "Who …?"'
        )
    max_tokens = chat.context_tokens // 8
    # A token is at least one byte, so a huge text is refused without counting.
    if len(text) > 40 * max_tokens or (at_most(text) > max_tokens and chat.count_tokens(text) > max_tokens):
        raise UnusableQuestion(
            f"The question is too long: it has {len(text):,} characters, and there is room for about "
            f"{3 * max_tokens:,} characters in the model's context of {chat.context_tokens:,} tokens.",
            "Put the long text into a file, `deepthink ingest` it, and ask about it.",
        )
    return text


class NothingFits(DeepthinkError):
    """Raised when no document matches the filters of a question."""

    title = "No such documents"
    kind = "usage"


def searchable(
    library: Library, names: tuple[str, ...], *, web: bool, filters: Filters = NO_FILTERS
) -> tuple[Collection, ...]:
    """The collections that a run searches: the named ones, or all.

    Raises:
        UnknownCollection: The library does not have a named collection.
        EmptyLibrary: They are empty.
        NothingFits: No document in them matches ``filters``.
    """
    collections = tuple(
        c
        for c in library.require_collections(names)
        if c.chunks and (names or web or c.name != WEB_COLLECTION)
    )
    if not collections:
        where = f"Nothing is in {', '.join(names)}" if names else "No document has been read"
        raise EmptyLibrary(f"{where} yet.", "Add some: `deepthink ingest PATH`, or try `deepthink demo`.")
    scope = Scope(tuple(collection.name for collection in collections), filters=filters)
    if filters != NO_FILTERS and not len(library.chunk_ids(scope)):
        raise NothingFits(
            "No document in the library has that sender, date, type or folder.",
            "`deepthink library list` shows them for every document.",
        )
    return collections
