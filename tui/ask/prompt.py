"""The prompt: a question as it is typed, completed and recalled; parsed, and turned into a run."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import OptionList, TextArea

from traces.paths import existing_path
from traces.records import ALL_COLLECTIONS
from tui.app.keys import bindings
from tui.run.live import Begin, LiveRun
from tui.terminal import one_line

if TYPE_CHECKING:
    from tui.app.engine import Engine
    from tui.library.actions import Intake


_REFERENCE = re.compile(r"(?:^|(?<=\s))([#@])(\S+)")
_MAX_NAMED = 5  # unreadable files in a warning


@dataclass(frozen=True, slots=True)
class Typed:
    """A question with the collections (``#``), the paths (``@``) and the filters (``from:``) that it names.

    ``unknown`` are the collections and paths that do not exist; the question is then refused.
    """

    question: str
    collections: tuple[str, ...] = ()
    paths: tuple[Path, ...] = ()
    unknown: tuple[str, ...] = ()
    filters: tuple[tuple[str, str], ...] = ()


def read(text: str, collection_names: frozenset[str]) -> Typed:
    """Parse a typed question; ``collection_names`` are those of the library.

    ``#1`` is part of the question, as is ``@`` before a word that does not look like a path.
    """
    collections: list[str] = []
    paths: list[Path] = []
    unknown: list[str] = []

    def take_reference(match: re.Match[str]) -> str:
        sign, word = match[1], match[2]
        if sign == "#" and (word in collection_names or word == ALL_COLLECTIONS):
            collections.append(word)
            return ""
        if sign == "#" and collection_names and word[0].isalpha():
            unknown.append(match[0])
        path = existing_path(word) if sign == "@" else None
        if path is not None:
            paths.append(path)
            return ""
        if sign == "@" and any(mark in word for mark in "/~"):
            unknown.append(match[0])
        return match[0]

    from agent.retrieval.filters import taken_from

    unfiltered, filters = taken_from(text)
    question = " ".join(_REFERENCE.sub(take_reference, unfiltered).split())
    return Typed(
        question,
        tuple(dict.fromkeys(collections)),
        tuple(dict.fromkeys(paths)),
        tuple(unknown),
        tuple(filters),
    )


def begin(run: LiveRun, typed: Typed, session: str, warn: Callable[[str], None]) -> Begin:
    """Read the files that a question names, then prepare `agent.run.run`; runs in the thread of the run.

    Raises `BadFilter`, `BadSetting`, and what reading raises for a named file, or for all of a folder.

    Args:
        run: Takes words about the progress; its steering stops the reading.
        typed: The question.
        session: Id of the session; "" for a new one, which also replaces one deleted meanwhile.
        warn: Takes a sentence about what is left out: a deleted session, unreadable files of a folder.
    """
    from agent import run as agent_run
    from tui.ask.asking import request_of
    from tui.ask.terminal import AskOptions
    from tui.library.actions import DEFAULT_COLLECTION, Intake

    engine = run.engine
    settings = engine.settings()
    collection = settings.collection or DEFAULT_COLLECTION
    if typed.paths:
        _read_first(run, Intake(typed.paths, (), collection), warn)
    session = _existing_session(engine, session, warn)
    options = AskOptions(typed.question, typed.collections, session=session, filters=typed.filters)
    request = request_of(options, settings, interactive=True)
    if typed.paths and request.collections:
        collections = tuple(dict.fromkeys([*request.collections, collection]))
        request = replace(request, collections=collections)
    return partial(agent_run.run, request)


def _existing_session(engine: Engine, session: str, warn: Callable[[str], None]) -> str:
    from traces.runs import Sessions, UnknownSession

    try:
        return Sessions(engine.store).find(session).id if session else ""
    except UnknownSession:
        warn("The session was deleted; this question begins a new one.")
        return ""


def _read_first(run: LiveRun, intake: Intake, warn: Callable[[str], None]) -> None:
    from agent.documents.ingest import FileFailed
    from tui.library.actions import read_in
    from tui.library.ingesting import IngestFold

    named_files = {str(path.resolve()) for path in intake.paths if not path.is_dir()}
    engine, fold = run.engine, IngestFold()
    for event in read_in(intake, engine.settings(), engine.store, engine.embedder(), run.cancel):
        fold.take(event)
        if isinstance(event, FileFailed) and event.source in named_files:
            raise event.error
        if fold.under_way is not None:
            run.tell(f"{fold.under_way.name}: {fold.doing}")
    failed = fold.failed
    if failed and all(file.outcome == "removed" for file in fold.done):
        raise failed[0].error
    if failed:
        names = ", ".join(one_line(file.name, 40) for file in failed[:_MAX_NAMED])
        more = f" and {len(failed) - _MAX_NAMED} more" if len(failed) > _MAX_NAMED else ""
        warn(f"Asked without what could not be read: {names}{more}.")


PLACEHOLDER = "Ask a question about your documents…"
_HINTS = ("   #collection looks only there", ", @file reads it first")  # as many as there is room for
_MAX_COMPLETIONS = 6
_TYPING_SECONDS = 1.0  # after a key press, the user counts as typing for this long


class Prompt(TextArea):
    """The text of the question; Enter asks it."""

    BINDINGS = bindings("prompt")
    HELP = """\
### The prompt

**Enter** asks; **Ctrl-J** or **Shift-Enter** begins a new line; **↑** and **↓** bring back earlier
questions.

`#name` looks only in that collection, and so do the questions that follow; `#all` looks in all of yours
again, and in the samples only if there is nothing else. `@path` reads a file or a folder into the library
first, then looks there too. `from:petra`, `after:2024-03`, `before:2025`, `type:mail` and `folder:letters`
look only in documents of that sender or author, time, type or folder. While you type a `#name` or `@path`,
**Tab** takes the completion under the cursor of the list.
"""

    @dataclass
    class Sent(Message):
        """The user has sent this text; "" for Enter alone."""

        text: str

    def __init__(self, completions: OptionList) -> None:
        super().__init__(
            "",
            soft_wrap=True,
            show_line_numbers=False,
            tab_behavior="focus",
            placeholder=PLACEHOLDER,
            highlight_cursor_line=False,
        )
        self.collections: Sequence[str] = ()
        self.earlier: list[str] = []  # oldest first
        self._position = 0  # in the history, counted from its end; 0 is the draft
        self._draft = ""
        self._completions = completions  # of the word before the cursor; shown while there are any
        self._last_typed = 0.0

    def on_resize(self) -> None:
        """Show as many of the hints as fit whole."""
        texts = [text for text in accumulate(_HINTS, initial=PLACEHOLDER) if len(text) < self.size.width]
        self.placeholder = texts[-1] if texts else ""

    @property
    def is_being_written(self) -> bool:
        """Whether the user is typing in it."""
        return self.has_focus and time.monotonic() - self._last_typed < _TYPING_SECONDS

    def clear_away(self) -> None:
        """Clear the text; ↑ brings it back."""
        if self.text.strip():
            self.remember(self.text)

    # --- asking ----------------------------------------------------------------------------------

    def action_newline(self) -> None:
        self.insert("\n")

    def action_send(self) -> None:
        text = self.text.strip()
        if text:
            self.remember(text)  # at once: the next keys belong to the next question
        self.post_message(self.Sent(text))

    def take_back(self, text: str) -> None:
        """Restore a question that was not asked, unless the user is typing the next one."""
        if not self.text.strip():
            self.put(text)

    def put(self, text: str) -> None:
        """Set the text, with the cursor at its end."""
        self.text = text
        self.move_cursor(self.document.end)

    def remember(self, text: str) -> None:
        """Add a question to the history and clear the prompt."""
        if not self.earlier or self.earlier[-1] != text:
            self.earlier.append(text)
        self._position, self._draft, self._last_typed = 0, "", 0.0
        self.text = ""

    def action_earlier(self) -> None:
        if self._completions.option_count:
            self._completions.action_cursor_up()
        elif self.cursor_at_first_line and self._position < len(self.earlier):
            self._recall(self._position + 1)
        else:
            self.action_cursor_up()

    def action_later(self) -> None:
        if self._completions.option_count:
            self._completions.action_cursor_down()
        elif self.cursor_at_last_line and self._position > 0:
            self._recall(self._position - 1)
        else:
            self.action_cursor_down()

    def _recall(self, position: int) -> None:
        if self._position == 0:
            self._draft = self.text
        self._position = position
        self.put(self.earlier[-position] if position else self._draft)

    # --- completing ------------------------------------------------------------------------------

    def action_complete(self) -> None:
        """Take the completion; without one, focus the next widget."""
        option = self._completions.highlighted_option
        if option is None:
            self.screen.focus_next()
            return
        word, choice = self._word_before_cursor(), str(option.prompt)
        row, column = self.cursor_location
        insertion = choice if choice.endswith(os.sep) else f"{choice} "
        self.replace(insertion, (row, column - len(word)), (row, column))

    @on(TextArea.SelectionChanged)
    @on(TextArea.Changed)
    def _look_for_completions(self) -> None:
        if self.text:
            self._last_typed = time.monotonic()
        words = _completions(self._word_before_cursor(), self.collections)
        if words != [str(option.prompt) for option in self._completions.options]:
            self._completions.set_options(words)
            self._completions.highlighted = 0 if words else None
            self._completions.set_class(bool(words), "-open")

    def _word_before_cursor(self) -> str:
        """The word before the cursor if it begins with ``#`` or ``@``, else ""."""
        row, column = self.cursor_location
        before = self.document.get_line(row)[:column]
        word = before.rsplit(" ", 1)[-1]
        return word if word[:1] in {"#", "@"} else ""


def _completions(word: str, collections: Sequence[str]) -> list[str]:
    if word.startswith("#"):
        names = [f"#{name}" for name in collections if name.casefold().startswith(word[1:].casefold())]
        return [] if names == [word] else names[:_MAX_COMPLETIONS]
    if word.startswith("@"):
        from tui.library.actions import completions

        paths = [f"@{path}" for path in completions(word[1:])]
        return [] if paths == [word] else paths[:_MAX_COMPLETIONS]
    return []


class PromptBox(Vertical):
    """The prompt and, above it, the completions of its last word."""

    DEFAULT_CSS = """
    PromptBox { height: auto; }
    PromptBox OptionList {
        height: auto; max-height: 6; border: none; padding: 0 1; background: $panel; display: none;
    }
    PromptBox OptionList.-open { display: block; }
    PromptBox Prompt {
        height: auto; min-height: 3; max-height: 8; min-width: 8; border: round $primary 60%; padding: 0 1;
        background: $background;
    }
    PromptBox Prompt:focus { border: round $primary; }
    PromptBox Prompt.-waited-for { border: round $warning; }
    """

    def compose(self) -> ComposeResult:
        completions = OptionList(markup=False)
        completions.can_focus = False
        yield completions
        yield Prompt(completions)

    @on(OptionList.OptionSelected)
    def _take_clicked(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        prompt = self.query_one(Prompt)
        prompt.action_complete()
        prompt.focus()
