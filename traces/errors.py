"""The base of every error that users may see.

An error has a title (the kind of problem), a message (what happened, with the names involved) and a
way out (what to do next). Packages subclass it beside the code that raises it, with the title and the kind
of the subclass; only the terminal layer turns one into text and an exit code.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection
from typing import TYPE_CHECKING, ClassVar, Literal

if TYPE_CHECKING:
    from pydantic import ValidationError

ErrorKind = Literal["usage", "input", "model", "store", "cancelled", "internal"]


class DeepthinkError(Exception):
    """Raised, always as a subclass, for failures that the user can understand and act on.

    ``message`` says in a sentence what happened, with the names involved; ``way_out`` what to do next.
    """

    title: ClassVar[str] = "Something went wrong"
    kind: ClassVar[ErrorKind] = "internal"

    def __init_subclass__(cls, *, title: str = "", kind: ErrorKind | None = None) -> None:
        cls.title = title or cls.title
        cls.kind = kind or cls.kind

    def __init__(self, message: str, way_out: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.way_out = way_out


def first_problem(error: ValidationError) -> str:
    """The first problem of a value that has another form than is required: where it is, and what."""
    problem = error.errors(include_url=False)[0]
    return ": ".join(filter(None, (".".join(map(str, problem["loc"])), problem["msg"])))


def did_you_mean(name: str, names: Collection[str], otherwise: str, prefix: str = "") -> str:
    """The way out for a name that does not exist: a similar one of ``names``, or ``otherwise``.

    ``prefix`` is what all of them begin with; it does not make them similar. Of a dotted name the last part
    is enough.
    """
    whole = {known.removeprefix(prefix): known for known in names}
    by_word = {word.rpartition(".")[2]: known for word, known in whole.items()} | whole
    near = difflib.get_close_matches(name.removeprefix(prefix), by_word, n=1)
    return f"Did you mean “{by_word[near[0]]}”?" if near else otherwise
