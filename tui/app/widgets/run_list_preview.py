"""What a run came to, beside the list that it is chosen from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from agent import events as ev
from traces.runs import Run, Runs
from traces.store import Store
from tui.app.actions.runs import BESIDES, RESUME
from tui.run_status import local
from tui.terminal import clean, duration, one_line
from tui.wording import ENDINGS

if TYPE_CHECKING:
    from tui.app.app import DeepthinkApp

Going = Literal["", "resumable", "going on"]


@dataclass(frozen=True, slots=True)
class Preview:
    """A run, the number of its sources, and whether it can go on or is going on."""

    run: Run
    sources: int
    going: Going


def preview_of(store: Store, run_id: str) -> Preview:
    """Read what the preview shows; meant for a worker. Raises `UnknownRun`."""
    from agent import checkpoints

    runs = Runs(store)
    with store.connect():
        run = runs.find(run_id)
        stored = runs.events(run.id)
    answers = [entry.payload for entry in stored if entry.kind == ev.Answered.kind]
    going: Going = ""
    if (run.finished is None or run.status in {"failed", "cancelled"}) and checkpoints.exists(
        store, run.id
    ):
        going = "going on" if checkpoints.held(store, run.id) else "resumable"
    return Preview(run, len(answers[-1]["sources"]) if answers else 0, going)


class RunPreview(VerticalScroll):
    """The answer of the chosen run, and how it was made."""

    HELP = "The chosen run: its answer, what it rests on, and why it stopped."
    DEFAULT_CSS = """
    RunPreview { padding: 0 1; }
    RunPreview #preview-question { text-style: bold; }
    RunPreview #preview-facts { color: $foreground 65%; }
    RunPreview #preview-answer { margin: 1 0; }
    RunPreview #preview-keys { dock: bottom; color: $foreground 65%; background: $background; }
    """

    def compose(self) -> ComposeResult:
        """Question, facts, answer; and keys that the footer has no room for."""
        yield Static(id="preview-question")
        yield Static(id="preview-facts")
        yield Static(id="preview-answer")
        yield Static(id="preview-keys", markup=False)

    def show(self, preview: Preview | None) -> None:
        """Show a run; nothing if there is none."""
        question, facts, answer, keys = self.query(Static)
        deepthink = cast("DeepthinkApp", self.app)
        self.scroll_home(animate=False)
        if preview is None:
            for part in (question, facts, answer, keys):
                part.update("")
            return
        run = preview.run
        question.update(Content(one_line(run.question)))
        facts.update(Content("\n".join(_facts(preview))))
        told = clean(run.answer).strip() or _without_answer(preview, deepthink.key_for(RESUME))
        answer.update(Content(told))
        keys.update(" · ".join(f"{deepthink.key_for(a)} {a.label.lower()}" for a in BESIDES))


def _facts(preview: Preview) -> list[str]:
    run = preview.run
    took = f", {duration(run.seconds)}" if run.seconds is not None else ""
    ended = ENDINGS["interrupted"] if run.status == "running" else ENDINGS.get(run.status, run.status)
    if preview.going == "going on":
        ended = "… a process is working on it"
    because = "" if run.stopped_because == run.status else one_line(run.stopped_because)
    sources = [f"{preview.sources} source{'s' * (preview.sources != 1)}"] if run.answer else []
    how = [one_line(run.chat_model), run.profile, f"decisions by {run.decider}"]
    return [
        " · ".join([f"{local(run.started):%Y-%m-%d %H:%M}", f"{ended}{took}", *sources]),
        *([f"because {because}"] if because else []),
        " · ".join([*how, f"in {one_line(', '.join(run.collections))}", f"run {run.id}"]),
    ]


def _without_answer(preview: Preview, resume: str) -> str:
    if preview.going == "resumable":
        return f"No answer yet: {resume} goes on with it."
    return "It is still going on." if preview.going == "going on" else "No answer."
