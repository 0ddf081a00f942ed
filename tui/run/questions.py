"""Questions that a run has for the person who watches it, asked where they are looking."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TextIO

from agent import events as ev
from agent.state import Claim, citation_marks
from agent.steering import Steering
from tui.interrupts import ctrl_c_raises
from tui.run.render import LABEL_WIDTH, as_grid
from tui.run.words import REPLIES, VERDICTS, Block
from tui.terminal import console, one_line

_LETTERS: Mapping[str, str] = {"a": "accept", "r": "rewrite", "s": "search", "t": "stop"}


def put(asked: ev.Asked, steering: Steering, *, live: bool) -> None:
    """Show a question, read the reply, and hand it to the run.

    A reply that is no choice is asked for again. Ctrl-C, or the end of the input, cancels the run. Without
    ``live`` it is plain lines, on stderr where stdout goes elsewhere.
    """
    _show(blocks(asked), live=live)
    letters = choices(asked.options)
    prompt = (" " * LABEL_WIDTH if live else "") + (f"{', '.join(letters)}: " if letters else "> ")
    reply = None
    while reply is None:
        try:
            with ctrl_c_raises():
                typed = _read(prompt)
        except (EOFError, KeyboardInterrupt):
            _out().write("\n")
            steering.cancel()
            return
        reply = chosen(typed, letters)
    steering.reply(reply)


def blocks(asked: ev.Asked) -> list[Block]:
    """What is shown of a question: the answer it is about, by sentence, and what may be replied."""
    letters = choices(asked.options)
    named = [f"{key}  {REPLIES.get(word, word)}" for key, word in letters.items()]
    return [
        Block(asked.about, one_line(asked.question), tone="part"),
        *([Block("", "", tuple(map(judged, asked.claims)), "part")] if asked.claims else []),
        Block("", "", tuple(named or ["Enter alone: answer as best it can"]), "part"),
    ]


def choices(options: Sequence[str]) -> dict[str, str]:
    """Each option by its letter; by itself if it has none."""
    own = {word: letter for letter, word in _LETTERS.items()}
    return {own.get(option, option): option for option in options}


def chosen(typed: str, letters: Mapping[str, str]) -> str | None:
    """The option that was typed, by letter or as a word; any text where there are none; None: neither."""
    if not letters:
        return " ".join(typed.split())
    wanted = typed.strip().casefold()
    return letters.get(wanted) or (wanted if wanted in letters.values() else None)


def judged(claim: Claim) -> str:
    """A sentence of an answer, its citations, and what is wrong with it."""
    marks = citation_marks(claim["cites"])
    sentence = f"{one_line(claim['text'])} {marks}".rstrip()
    if claim["verdict"] == "supported":
        return sentence
    why = f": {one_line(claim['reason'])}" if claim["reason"] else ""
    return f"{sentence} ({VERDICTS[claim['verdict']]}{why})"


def _show(shown: Sequence[Block], *, live: bool) -> None:
    if live:
        out = console()
        for block in shown:
            out.print(as_grid(block))
        return
    for block in shown:
        if block.text:
            _out().write(f"{block.label}: {block.text}\n")
        _out().writelines(f"    {item}\n" for item in block.items)
    _out().flush()


def _read(prompt: str) -> str:
    """A line of what is typed, without its end. Raises EOFError where there is no more."""
    if sys.stdout.isatty():
        with suppress(ImportError):
            import readline  # noqa: F401 - then the line can be edited with the arrow keys
        return input(prompt)
    sys.stderr.write(prompt)
    sys.stderr.flush()
    typed = sys.stdin.readline()
    if not typed:
        raise EOFError
    return typed.rstrip("\n")


def _out() -> TextIO:
    """Where a person looks: stderr if stdout goes into a file."""
    return sys.stdout if sys.stdout.isatty() else sys.stderr
