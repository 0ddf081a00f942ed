"""Renderers for a run's events on the terminal: live, as plain lines, or silent.

All take the same events; `tui.run.words` words them.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Self

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from agent import events as ev
from agent.state import VERDICTS
from tui import failures
from tui.run.fold import MARK, RunFold
from tui.run.keyboard import KEYS, Wheel
from tui.run.words import ANSWERING, RESUMABLE, Block, Tone, Transcript, doing, resume_hint
from tui.terminal import clean, duration

LABEL_WIDTH = 10
"""Columns of the label to the left of the text, including the gap."""

_DOUBT = re.compile("|".join(rf"\(?{words}\)?" for words in VERDICTS.values() if words != "supported"))
_HEADING = re.compile(r"^#{1,6} .*$", re.MULTILINE)
_STYLES: dict[Tone, tuple[str, str, str]] = {  # label, text, items
    "opening": ("bold", "", "dim"),
    "part": ("bold", "", ""),
    "line": ("dim", "", "dim"),
    "warning": ("yellow", "yellow", "yellow"),
    "answer": ("bold", "", ""),
    "sources": ("bold", "", "dim"),
    "closing": ("dim", "dim", "dim"),
}


class Renderer:
    """Shows one run; this base class shows only warnings, on stderr."""

    def __init__(self) -> None:
        self.fold = RunFold()  # the run so far

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        """Leave the terminal in its final state."""

    def take(self, event: ev.Event) -> None:
        self.fold.take(event)
        if isinstance(event, ev.Warned):
            failures.warn(clean(event.message))
        elif isinstance(event, ev.RunFinished) and event.status in RESUMABLE:
            failures.warn(f"{resume_hint(self.fold.run_id, event.status)}.")

    def recall(self, event: ev.Event) -> None:
        """Add an event from before the run was resumed, without showing it again."""
        self.fold.take(event)

    def aside(self) -> AbstractContextManager[object]:
        """Leave the terminal to a question."""
        return nullcontext()


class PlainRun(Renderer):
    """One line per event, without escape codes; in a replay, warnings are part of the text."""

    def __init__(self, *, replay: bool = False) -> None:
        super().__init__()
        self._transcript = Transcript(self.fold)
        self._replay = replay

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self._write(self._transcript.rest())

    def take(self, event: ev.Event) -> None:
        """Write the event's lines at once, so that a reader of the pipe can follow."""
        if isinstance(event, ev.Warned) and not self._replay:
            super().take(event)
            return
        self.fold.take(event)
        self._write(self._transcript.take(event))

    def recall(self, event: ev.Event) -> None:
        super().recall(event)
        self._transcript.recall(event)

    def _write(self, blocks: Sequence[Block]) -> None:
        for block in blocks:
            sys.stdout.write(f"{as_line(block)}\n")
        sys.stdout.flush()


class PipedRun(PlainRun):
    """The answer on stdout, everything else on stderr, or nowhere if ``quiet``."""

    def __init__(self, *, quiet: bool) -> None:
        super().__init__()
        self._quiet = quiet

    def _write(self, blocks: Sequence[Block]) -> None:
        for block in blocks:
            if block.tone == "answer":
                sys.stdout.write(f"{block.text}\n")
                sys.stdout.flush()
            elif not self._quiet:
                sys.stderr.write(f"{as_line(block)}\n")


class AnimatedRun(PlainRun):
    """Events scroll by above the growing answer and a line with the current activity.

    In a replay nothing is animated. ``wheel`` handles single keys, if they are read.
    """

    def __init__(self, out: Console, *, replay: bool = False, wheel: Wheel | None = None) -> None:
        super().__init__(replay=replay)
        self._out = out
        self._wheel = wheel
        self._began = time.monotonic()
        self._tokens_written = 0
        self._reply_was_typed = False  # whether the user has just typed the next reply here
        self._spinner = Spinner("dots", style="cyan")
        self._live = self._new_live()

    def __enter__(self) -> Self:
        if not self._replay:
            self._live.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._live.stop()
        super().__exit__(kind)

    def take(self, event: ev.Event) -> None:
        """Show the event above the status line, or update that line."""
        match event:
            case ev.ModelCalled():
                self._tokens_written += event.generated
            case ev.Heartbeat():
                self._tokens_written = max(self._tokens_written, event.generated)
            case ev.NodeStarted() if self._wheel is not None:
                self._wheel.answering = event.node in ANSWERING
            case ev.Steered() if self._wheel is not None:
                self._wheel.clear_notice()
            case ev.RunFinished():
                self._live.stop()
            case _:
                pass
        if isinstance(event, ev.Replied) and self._reply_was_typed:
            self._reply_was_typed = False
            self.fold.take(event)
            self._transcript.take(event)  # without showing what was just typed
        else:
            super().take(event)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Stop the animation for the duration of a question."""
        self._live.stop()
        self._reply_was_typed = True
        try:
            yield
        finally:
            self._live = self._new_live()  # a stopped one assumes that its lines are still there
            self._live.start()

    def _write(self, blocks: Sequence[Block]) -> None:
        for block in blocks:
            self._out.print(as_grid(block))

    def _new_live(self) -> Live:
        return Live(
            console=self._out,
            get_renderable=self._bottom,
            refresh_per_second=8,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=sys.stderr.isatty(),
        )

    def _bottom(self) -> RenderableType:
        wheel, width = self._wheel, self._out.width
        parts: list[RenderableType] = []
        keys = [f"{key}  {what}" for key, what in KEYS.items()] if wheel and wheel.shows_help else []
        if self.fold.text:
            room = max(3, self._out.height - 4 - len(keys) - bool(keys))
            lines = Text(clean(self.fold.text).strip()).wrap(self._out, width - LABEL_WIDTH)
            parts.append(_row("answer", Text("\n").join(lines[-room:]), "bold"))
        if keys:
            parts.append(_row("keys", Text("\n".join(keys)), "bold"))
        parts.append(self._status())
        if wheel and wheel.prompt:
            prompt = Text(wheel.prompt, style="bold")
            parts += prompt.wrap(self._out, width)[-2:]  # the end, where the cursor is
        return Group(*parts)

    def _status(self) -> RenderableType:
        tokens = f" · {self._tokens_written:,} tokens written" if self._tokens_written else ""
        fold = self.fold
        elapsed = duration(fold.elapsed if fold.node else time.monotonic() - self._began)
        activity = doing(fold) or "loading the models"
        style = "yellow" if fold.paused else "dim"
        text = Text(f"{'paused' if fold.paused else activity} · {elapsed}{tokens}", style=style)
        room = self._out.width - 2  # the spinner and a space
        if self._wheel is not None:
            notice = self._wheel.notice
            for hint in (notice,) if notice else self._wheel.hints:
                gap = room - text.cell_len - cell_len(hint)
                if gap >= 3:
                    text.append(" " * gap)
                    text.append(hint, "yellow" if notice else "dim")
                    break
        text.truncate(room, overflow="ellipsis")
        if fold.paused:
            return Text.assemble(("= ", "yellow"), text)
        self._spinner.update(text=text)
        return self._spinner


def as_line(block: Block) -> str:
    """The block in one line; the answer and the sources keep their lines."""
    if block.tone == "sources":
        details = "".join(f"\n    {item}" for item in block.items)
        return f"{block.label} {block.text}".rstrip() + details if block.text else f"{block.label}:"
    text = " | ".join(part for part in (block.text, "; ".join(block.items)) if part)
    return f"{block.label}: {text}" if text else block.label


def as_grid(block: Block) -> RenderableType:
    """The block with its label in a separate column."""
    label_style, text_style, item_style = _STYLES[block.tone]
    is_source = block.tone == "sources" and block.text
    if block.tone == "sources" and not is_source:
        return Group(Text(), Text(block.label, style=label_style))
    body = [_highlight(block.text, text_style)] if block.text else []
    body += [_highlight(item, item_style) for item in block.items]
    row = _row(block.label, Group(*body), "cyan" if is_source else label_style)
    has_gap = block.tone in {"part", "answer", "closing"}
    return Group(Text(), row) if has_gap else row


def _row(label: str, body: RenderableType, style: str) -> Table:
    grid = Table.grid(padding=(0, 1, 0, 0), expand=True)
    grid.add_column(width=LABEL_WIDTH - 1, no_wrap=True)
    grid.add_column(ratio=1, overflow="fold")
    grid.add_row(Text(label, style=style), body)
    return grid


def _highlight(text: str, style: str) -> Text:
    highlighted = Text(text, style=style)
    highlighted.highlight_regex(MARK, "cyan")
    highlighted.highlight_regex(_DOUBT, "bold yellow")
    highlighted.highlight_regex(_HEADING, "bold")
    return highlighted
