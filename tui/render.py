"""A run's events on the terminal: live, as plain lines, or not at all.

All three take the same events; `tui.transcript` says what each one shows.
"""

from __future__ import annotations

import re
import sys
import time
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from agent import events as ev
from tui import failures
from tui.terminal import clean, console, duration, is_live
from tui.transcript import Block, Tone, Transcript

_LABEL_WIDTH = 9
_MARK = re.compile(r"\[\d+\]")
_UNSUPPORTED = re.compile(re.escape("(not supported by the sources)"))
_STYLES: dict[Tone, tuple[str, str, str]] = {  # label, text, items
    "opening": ("bold", "bold", "dim"),
    "part": ("bold", "bold", ""),
    "line": ("dim", "", "dim"),
    "warning": ("yellow", "yellow", "yellow"),
    "answer": ("bold", "", ""),
    "sources": ("bold", "", "dim"),
    "closing": ("dim", "dim", "dim"),
}
_DOING = {
    "plan": "planning",
    "next_step": "preparing the next step",
    "retrieve": "searching",
    "rerank": "ordering the passages",
    "distil": "picking out what matters",
    "reflect": "noting what was found",
    "decide": "deciding what to do next",
    "synthesise": "writing the answer",
}


class Renderer(Protocol):
    """Shows one run."""

    def __enter__(self) -> Self:
        """Begin to show it; nothing has happened yet."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the terminal as it is meant to stay."""
        ...

    def take(self, event: ev.Event) -> None:
        """Show an event."""
        ...


def renderer(*, plain: bool) -> Renderer:
    """Live where a person watches a terminal, plain lines everywhere else."""
    return LiveRun(console()) if is_live(plain=plain) else PlainRun()


class SilentRun:
    """Shows nothing; warnings still reach stderr at the end of `take`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def take(self, event: ev.Event) -> None:
        """Pass on warnings only."""
        if isinstance(event, ev.Warned):
            failures.warn(clean(event.message))


class PlainRun:
    """One line per event, without codes; for pipes, logs and screen readers.

    Args:
        replay: A stored run is being shown: its warnings are part of the text.
    """

    def __init__(self, *, replay: bool = False) -> None:
        self._transcript = Transcript()
        self._replay = replay

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def take(self, event: ev.Event) -> None:
        """Write the event's lines at once, so that a reader of the pipe can follow."""
        if isinstance(event, ev.Warned) and not self._replay:
            failures.warn(clean(event.message))
            return
        for block in self._transcript.take(event):
            sys.stdout.write(f"{_as_line(block)}\n")
        sys.stdout.flush()


class LiveRun:
    """What happened scrolls by; beneath it a line says what is going on, and the answer takes shape.

    Args:
        out: A terminal.
        replay: A stored run is being shown: nothing moves.
    """

    def __init__(self, out: Console, *, replay: bool = False) -> None:
        self._out = out
        self._replay = replay
        self._transcript = Transcript()
        self._began = time.monotonic()
        self._doing = "loading the models"
        self._written = 0
        self._draft = ""
        self._spinner = Spinner("dots", style="cyan")
        self._live = Live(
            console=out,
            get_renderable=self._bottom,
            refresh_per_second=8,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=sys.stderr.isatty(),
        )

    def __enter__(self) -> Self:
        if not self._replay:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def take(self, event: ev.Event) -> None:
        """Show the event above the moving line, or move that line."""
        match event:
            case ev.NodeStarted():
                doing = _DOING.get(event.node, event.node)
                self._doing = f"step {event.step}: {doing}" if event.step else doing
            case ev.ModelCalled():
                self._written += event.generated
            case ev.Heartbeat():
                self._written = max(self._written, event.generated)
            case ev.AnswerText():
                self._draft += event.text
            case ev.Answered():
                self._draft = ""
            case ev.RunFinished():
                self._live.stop()
            case _:
                pass
        if isinstance(event, ev.Warned) and not self._replay:
            failures.warn(clean(event.message))
            return
        for block in self._transcript.take(event):
            self._out.print(_as_grid(block))

    def _bottom(self) -> RenderableType:
        elapsed = duration(time.monotonic() - self._began)
        written = f" · {self._written:,} tokens written" if self._written else ""
        self._spinner.update(text=Text(f"{self._doing} · {elapsed}{written}", style="dim"))
        if not self._draft:
            return self._spinner
        room = max(3, self._out.height - 4)
        lines = Text(clean(self._draft).strip()).wrap(self._out, self._out.width - _LABEL_WIDTH - 1)
        return Group(_row("answer", Text("\n").join(lines[-room:]), "bold"), self._spinner)


def _as_line(block: Block) -> str:
    """The block in one line; what is long by nature, the answer and a source, keeps its lines."""
    if block.tone == "sources":
        quoted = "".join(f"\n    {item}" for item in block.items)
        return f"{block.label} {block.text}".rstrip() + quoted if block.text else f"{block.label}:"
    items = "; ".join(block.items)
    return f"{block.label}: {' | '.join(part for part in (block.text, items) if part)}"


def _as_grid(block: Block) -> RenderableType:
    label_style, text_style, item_style = _STYLES[block.tone]
    numbered = block.tone == "sources" and block.text
    if block.tone == "sources" and not numbered:
        return Group(Text(), Text(block.label, style=label_style))
    body = [_marked(block.text, text_style)] if block.text else []
    body += [_marked(item, item_style) for item in block.items]
    row = _row(block.label, Group(*body), "cyan" if numbered else label_style)
    spaced = block.tone in {"part", "answer", "closing"}
    return Group(Text(), row) if spaced else row


def _row(label: str, body: RenderableType, style: str) -> Table:
    grid = Table.grid(padding=(0, 1, 0, 0), expand=True)
    grid.add_column(width=_LABEL_WIDTH, no_wrap=True)
    grid.add_column(ratio=1, overflow="fold")
    grid.add_row(Text(label, style=style), body)
    return grid


def _marked(text: str, style: str) -> Text:
    """Citation marks and warnings stand out; both are words and brackets without colour too."""
    marked = Text(text, style=style)
    marked.highlight_regex(_MARK, "cyan")
    marked.highlight_regex(_UNSUPPORTED, "bold yellow")
    return marked
