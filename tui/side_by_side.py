"""Several answers to one question next to each other: in columns, one under the other, or as lines.

The systems answer in turn; `tui.column` says what is shown of each.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from types import TracebackType
from typing import Protocol, Self

from rich import box
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from agent import events as ev
from tui.blocks import Block
from tui.column import Column
from tui.render import LABEL_WIDTH, as_grid
from tui.terminal import cells, clean, columns, console, is_live, one_line

_NARROWEST, _WIDEST = 30, 100  # characters of a column that can be read
_BETWEEN = 3  # characters from one column to the next
_MARK = re.compile(r"\[\d+\]")
_DOUBT = re.compile(r"\((?:not supported|only partly supported)\b[^)\n]*\)")
_STYLES = {"warning": "yellow", "sources": "dim", "closing": "dim"}


class Screen(Protocol):
    """Shows the answers as they come."""

    def __enter__(self) -> Self:
        """Begin to show; nothing is known yet."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the terminal as it is meant to stay."""
        ...

    def open(self, question: str, how: str) -> None:
        """The question is asked from now on, with ``how`` in words."""
        ...

    def begin(self, column: Column) -> None:
        """A system is at work."""
        ...

    def take(self, column: Column, event: ev.Event) -> None:
        """It tells something, which its column knows already."""
        ...

    def end(self, column: Column) -> None:
        """It has come to an end."""
        ...

    def close(self) -> None:
        """All have: sum up."""
        ...


def screen(shown: Sequence[Column], *, plain: bool) -> Screen:
    """Columns where a terminal is wide enough, one answer under the other where not; else lines."""
    return LiveAnswers(_wide(len(shown)), shown) if is_live(plain=plain) else PlainAnswers(shown)


class SilentAnswers:
    """Shows nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def open(self, question: str, how: str) -> None:
        """Nothing."""

    def begin(self, column: Column) -> None:
        """Nothing."""

    def take(self, column: Column, event: ev.Event) -> None:
        """Nothing."""

    def end(self, column: Column) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


class PlainAnswers(SilentAnswers):
    """One answer after the other, as lines without codes, as soon as they are known."""

    def __init__(self, shown: Sequence[Column]) -> None:
        self._columns = shown
        self._question = ""

    def open(self, question: str, how: str) -> None:
        """Write the question."""
        self._question = question
        _write(Block("question", one_line(question), (one_line(how),)))

    def begin(self, column: Column) -> None:
        """Write its name."""
        sys.stdout.write("\n")
        _write(Block("system", column.system))

    def take(self, column: Column, event: ev.Event) -> None:
        """Write which step it is at: a long run is to be seen going on."""
        if isinstance(event, ev.StepStarted) and event.plan_step["question"] != self._question:
            _write(Block(f"step {event.step}", one_line(event.plan_step["question"])))

    def end(self, column: Column) -> None:
        """Write what it came to."""
        for block in column.blocks():
            _write(block)

    def close(self) -> None:
        """Write the table."""
        sys.stdout.write("\n")
        console().print(summary(self._columns))


class LiveAnswers:
    """The answers take shape on a terminal, and stand there in the end.

    Args:
        out: As wide as may be used.
        shown: The columns, in their order.
    """

    def __init__(self, out: Console, shown: Sequence[Column]) -> None:
        self._out = out
        self._columns = shown
        self._width = min(_WIDEST, (out.width + _BETWEEN) // len(shown) - _BETWEEN)
        self._beside = len(shown) > 1 and self._width >= _NARROWEST
        self._live = Live(
            console=out,
            get_renderable=self._moving,
            refresh_per_second=8,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=sys.stderr.isatty(),
        )

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def open(self, question: str, how: str) -> None:
        """Print the question above what moves."""
        self._out.print(as_grid(Block("question", one_line(question), (one_line(how),), "opening")))
        self._out.print()

    def begin(self, column: Column) -> None:
        """It moves by itself."""

    def take(self, column: Column, event: ev.Event) -> None:
        """It moves by itself."""

    def end(self, column: Column) -> None:
        """Print what it came to, where it does not stay in its column."""
        if not self._beside:
            self._out.print(Group(Text(column.system, "bold"), *map(as_grid, column.blocks()), Text()))

    def close(self) -> None:
        """Print the columns whole, and the table."""
        self._live.stop()
        if self._beside:
            self._out.print(self._table(room=0))
            self._out.print()
        self._out.print(summary(self._columns))

    def _moving(self) -> RenderableType:
        room = self._out.height - 4
        if self._beside:
            return self._table(room)
        working = [column for column in self._columns if column.status == "working"]
        parts: list[RenderableType] = []
        for column in working:
            parts.append(Text(column.system, "bold"))
            if column.draft:
                lines = Text(clean(column.draft).strip()).wrap(self._out, self._out.width - LABEL_WIDTH)
                parts.append(as_grid(Block("answer", "\n".join(line.plain for line in lines[-room:]))))
            parts.append(Text(column.going_on, "dim", no_wrap=True, overflow="ellipsis"))
        return Group(*parts)

    def _table(self, room: int) -> Table:
        """The columns, each cut to ``room`` lines; 0 for none."""
        table = Table(box=box.MINIMAL, show_edge=False, pad_edge=False, header_style="bold")
        for column in self._columns:
            table.add_column(column.system, width=self._width)
        table.add_row(*(self._cell(column, room) for column in self._columns))
        return table

    def _cell(self, column: Column, room: int) -> Text:
        lines = list(_text(column).wrap(self._out, self._width))
        if room and len(lines) > room:
            working = column.status == "working"
            lines = lines[-room:] if working else [*lines[: room - 1], Text("…", "dim")]
        return Text("\n").join(lines)


def summary(shown: Sequence[Column]) -> Table:
    """What each took, a row for each."""
    counts = ("seconds", "read", "written", "steps", "sources", "flagged")
    table = columns("system", "answer", *counts, right=counts, whole=("system", "answer"))
    for column in shown:
        told, came_to = column.answered, column.status.replace("_", " ")
        if told is None:
            table.add_row(*cells(column.system, came_to, *("" for _ in counts)))
            continue
        cost = told.cost
        table.add_row(
            *cells(
                column.system,
                came_to,
                f"{cost.seconds:.1f}",
                f"{cost.evaluated:,}",
                f"{cost.generated:,}",
                cost.steps,
                len(column.sources),
                f"{told.flagged} of {told.sentences}" if told.sentences else "",
            )
        )
    return table


def _wide(shown: int) -> Console:
    """The terminal, as wide as so many columns can be read; one column as wide as any text."""
    out = console()
    whole = Console(file=sys.stdout).width
    if (whole + _BETWEEN) // shown - _BETWEEN >= _NARROWEST:
        out.width = min(whole, shown * (_WIDEST + _BETWEEN) - _BETWEEN)
    return out


def _text(column: Column) -> Text:
    """A column's content, without its name."""
    if column.status == "working":
        draft = f"{clean(column.draft).strip()}\n\n" if column.draft.strip() else ""
        return Text.assemble(draft, (column.going_on, "dim"))
    if column.status == "not asked":
        return Text()
    parts: list[Text] = []
    for block in column.blocks():
        labelled = block.tone in {"warning", "sources"}
        colon = ":" if block.tone == "warning" and block.text else ""
        said = f"{block.label}{colon} {block.text}".rstrip() if labelled else block.text
        text = Text("\n".join((said, *block.items)), _STYLES.get(block.tone, ""))
        text.highlight_regex(_MARK, "cyan")
        text.highlight_regex(_DOUBT, "bold yellow")
        parts += [text, Text()] if block.tone == "answer" else [text]
    return Text("\n").join(parts)


def _write(block: Block) -> None:
    said = " | ".join(part for part in (block.text, *block.items) if part)
    colon = ":" if said and block.tone != "sources" else ""
    sys.stdout.write(f"{block.label}{colon} {said}".rstrip() + "\n")
    sys.stdout.flush()
