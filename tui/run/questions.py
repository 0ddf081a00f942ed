"""Questions of a run to the user, asked on the terminal."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import TextIO

from agent import events as ev
from agent.steering import Steering
from tui.interrupts import ctrl_c_raises
from tui.run.render import LABEL_WIDTH, as_grid
from tui.run.words import CHOICES, Block, doubts
from tui.terminal import console, one_line

_LETTERS: Mapping[str, str] = {"accept": "a", "rewrite": "r", "search": "s", "stop": "t"}


def put(event: ev.Asked, steering: Steering, *, live: bool) -> None:
    """Show a question, read the reply, and hand it to the run.

    An invalid reply is asked for again. Ctrl-C, or the end of the input, cancels the run. Without ``live``
    the question is plain lines, on stderr if stdout is not a terminal.
    """
    letters = {_LETTERS.get(option, option): option for option in event.options}
    _show(event, letters, live=live)
    prompt = (" " * LABEL_WIDTH if live else "") + (f"{', '.join(letters)}: " if letters else "> ")
    reply = None
    while reply is None:
        try:
            with ctrl_c_raises():
                line = _read(prompt)
        except (EOFError, KeyboardInterrupt):
            _out().write("\n")
            steering.cancel()
            return
        reply = match_choice(line, letters)
    steering.reply(reply)


def match_choice(line: str, letters: Mapping[str, str]) -> str | None:
    """The option for a typed letter or word, None if there is none; any text if there are no options."""
    if not letters:
        return " ".join(line.split())
    reply = line.strip().casefold()
    return letters.get(reply) or (reply if reply in letters.values() else None)


def _show(event: ev.Asked, letters: Mapping[str, str], *, live: bool) -> None:
    """Show the question, the sentences of the answer it is about, and the possible replies."""
    question = one_line(event.question)
    sentences = [(doubts([claim]) or [one_line(claim["text"])])[0] for claim in event.claims]
    replies = [f"{key}  {CHOICES.get(option, option)}" for key, option in letters.items()]
    replies = replies or ["Enter alone: answer as best it can"]
    if live:
        out = console()
        out.print(as_grid(Block(event.about, question, tone="part")))
        for lines in filter(None, (sentences, replies)):
            out.print(as_grid(Block("", "", tuple(lines), "part")))
        return
    _out().write(f"{event.about}: {question}\n")
    _out().writelines(f"    {line}\n" for line in (*sentences, *replies))
    _out().flush()


def _read(prompt: str) -> str:
    """Read a line, without its end. Raises EOFError at the end of the input."""
    if sys.stdout.isatty():
        with suppress(ImportError):
            import readline  # noqa: F401 - so that the arrow keys edit the line
        return input(prompt)
    sys.stderr.write(prompt)
    sys.stderr.flush()
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.rstrip("\n")


def _out() -> TextIO:
    """The stream that the user sees: stderr if stdout is not a terminal."""
    return sys.stdout if sys.stdout.isatty() else sys.stderr
