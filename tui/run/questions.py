"""Questions of a run to the user, asked on the terminal."""

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


def put(event: ev.Asked, steering: Steering, *, live: bool) -> None:
    """Show a question, read the reply, and hand it to the run.

    An invalid reply is asked for again. Ctrl-C, or the end of the input, cancels the run. Without ``live``
    the question is plain lines, on stderr if stdout is not a terminal.
    """
    _show(blocks(event), live=live)
    letters = choices(event.options)
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


def blocks(event: ev.Asked) -> list[Block]:
    """The question, the sentences of the answer it is about, and the possible replies."""
    letters = choices(event.options)
    labels = [f"{key}  {REPLIES.get(word, word)}" for key, word in letters.items()]
    return [
        Block(event.about, one_line(event.question), tone="part"),
        *([Block("", "", tuple(map(judged_sentence, event.claims)), "part")] if event.claims else []),
        Block("", "", tuple(labels or ["Enter alone: answer as best it can"]), "part"),
    ]


def choices(options: Sequence[str]) -> dict[str, str]:
    """The options by letter; an option without a letter by its own name."""
    letters = {word: letter for letter, word in _LETTERS.items()}
    return {letters.get(option, option): option for option in options}


def match_choice(line: str, letters: Mapping[str, str]) -> str | None:
    """The option for a typed letter or word, None if there is none; any text if there are no options."""
    if not letters:
        return " ".join(line.split())
    reply = line.strip().casefold()
    return letters.get(reply) or (reply if reply in letters.values() else None)


def judged_sentence(claim: Claim) -> str:
    """A sentence of an answer, its citations, and what is not supported."""
    marks = citation_marks(claim["cites"])
    sentence = f"{one_line(claim['text'])} {marks}".rstrip()
    if claim["verdict"] == "supported":
        return sentence
    reason = f": {one_line(claim['reason'])}" if claim["reason"] else ""
    return f"{sentence} ({VERDICTS[claim['verdict']]}{reason})"


def _show(question_blocks: Sequence[Block], *, live: bool) -> None:
    if live:
        out = console()
        for block in question_blocks:
            out.print(as_grid(block))
        return
    for block in question_blocks:
        if block.text:
            _out().write(f"{block.label}: {block.text}\n")
        _out().writelines(f"    {item}\n" for item in block.items)
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
