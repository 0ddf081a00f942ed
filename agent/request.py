"""What a run is asked to do, and what is wrong with a request that no run can begin with."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from agent.budget import Budget
from agent.cognition import Length
from agent.deps import Approve
from models.protocols import Chat
from models.token_estimate import at_most
from traces.errors import DeepthinkError
from traces.library import Library
from traces.records import NO_FILTERS, WEB_COLLECTION, Collection, Filters, Scope


class UnusableQuestion(DeepthinkError):
    """Raised when there is no question, or one too long for the model to read."""

    title = "Not a question"
    kind = "usage"


class EmptyLibrary(DeepthinkError):
    """Raised when there is nothing to search."""

    title = "The library is empty"
    kind = "usage"


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be answered, and how.

    Attributes:
        question: In the person's words.
        collections: Where to look; all collections if empty.
        profile: ``lean`` or ``seed``.
        decider: ``rules``, ``llm`` or ``learned``; the profile's own if empty.
        budget: What the run may spend.
        route: ``single`` or ``deep``; the router decides if empty.
        length: Of the answer.
        approve: What becomes of an answer that is not grounded. ``ask`` asks the person, and leaves the
            run waiting where nobody is there; ``always`` accepts it, flagged as it is; ``never`` has it
            rewritten from the evidence once and withholds it if that does not help.
        interactive: Whether somebody is there to answer: if not, nothing is clarified either.
        session: Id of the session whose earlier exchanges the question may lean on; "" begins one.
        session_name: Of the session that is begun; "" leaves it without a name.
        shadow: The decision source that is asked as well and not followed, named likewise; "" none.
        filters: Facts that the documents must have in which it looks; then the web is left alone.
        web: Whether the web may be searched, so that a run goes on as it began; `run` sets it by what it is
            handed. None: an older version stored the run without it.
    """

    question: str
    collections: tuple[str, ...] = ()
    profile: str = "lean"
    decider: str = ""
    budget: Budget = field(default_factory=Budget)
    route: str = ""
    length: Length = "normal"
    approve: Approve = "ask"
    interactive: bool = False
    session: str = ""
    session_name: str = ""
    shadow: str = ""
    web: bool | None = None
    filters: Filters = NO_FILTERS

    @classmethod
    def from_stored(cls, stored: Any) -> Request:
        """The request of a stored run; fields this version does not know are left out."""
        known = {f.name for f in fields(cls)}
        values = {name: value for name, value in dict(stored).items() if name in known}
        budget = Budget(**values.pop("budget", {}))
        collections = tuple(values.pop("collections", ()))
        facts: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in values.pop("filters", {}).items()
        }
        return cls(**values, collections=collections, budget=budget, filters=Filters(**facts))


def checked_question(question: str, chat: Chat) -> str:
    """The question in one line.

    Raises:
        UnusableQuestion: there is none, or it is too long for the model.
    """
    text = " ".join(question.split())
    if not any(c.isalnum() for c in text):
        raise UnusableQuestion(
            "The question is empty.", 'Ask something, for example: deepthink ask "Who …?"'
        )
    most = chat.context_tokens // 8
    # A token is at least one byte: an enormous text need not be counted to be refused.
    if len(text) > 40 * most or (at_most(text) > most and chat.count_tokens(text) > most):
        raise UnusableQuestion(
            f"The question is too long: it has {len(text):,} characters, and there is room for about "
            f"{3 * most:,} characters in the model's context of {chat.context_tokens:,} tokens.",
            "Put the long text into a file, `deepthink ingest` it, and ask about it.",
        )
    return text


class NothingFits(DeepthinkError):
    """Raised when no document has the facts that a question is limited to."""

    title = "No such documents"
    kind = "usage"


def searchable(
    library: Library, names: tuple[str, ...], *, web: bool, filters: Filters = NO_FILTERS
) -> tuple[Collection, ...]:
    """The collections that a run searches: those named, or all.

    Raises:
        UnknownCollection: one is named that the library does not hold.
        EmptyLibrary: there is nothing in them.
        NothingFits: no document in them has the facts that ``filters`` ask for.
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
            "No document in the library is of that sender, date, type or folder.",
            "`deepthink library list` shows these of every document.",
        )
    return collections
