"""A stored run as a document: Markdown, an HTML page, or JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Literal

from traces.runs import Run, StoredEvent
from tui.outcome import outcome_of
from tui.run_status import local
from tui.terminal import one_line

Form = Literal["md", "html", "json"]

_ENDINGS: dict[Form, str] = {"md": "md", "html": "html", "json": "json"}


def written(run: Run, stored: Sequence[StoredEvent], form: Form) -> str:
    """The whole document.

    Args:
        run: As `traces.runs.Runs.find` gives it.
        stored: Its events (`traces.runs.Runs.events`).
        form: Which document.
    """
    outcome = outcome_of(run, stored)
    if form == "json":
        return json.dumps(outcome.to_json(), ensure_ascii=False, indent=2) + "\n"
    if form == "html":
        from tui.html_page import to_html

        return to_html(outcome, local(run.started))
    from tui.markdown import to_markdown

    return to_markdown(outcome, local(run.started))


def file_name(run_id: str, question: str, form: Form) -> str:
    """A name that says which run it is: its first words, then the beginning of its id."""
    words = re.findall(r"\w+", one_line(question).casefold())
    short = "-".join(words)[:40].strip("-") or "run"
    return f"{short}-{run_id[:6]}.{_ENDINGS[form]}"
