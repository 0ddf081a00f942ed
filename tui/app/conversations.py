"""What the Ask screen reads from the store, in workers, and the messages that bring it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from agent.run import Resumable
    from traces.runs import Run
    from tui.app.engine import Engine
    from tui.app.fold import RunFold

_HISTORY = 200  # earlier questions that ↑ brings back


@dataclass(frozen=True, slots=True)
class Setting:
    """What the settings say of runs to come, as the line of meters shows it."""

    model: str
    offline: bool


class Beginning(Message):
    """What there is at the start: settings, collections, earlier questions, runs that can go on."""

    def __init__(
        self,
        setting: Setting,
        collections: Sequence[tuple[str, int]],
        history: Sequence[str],
        unfinished: Sequence[Resumable],
        runs: int,
    ) -> None:
        super().__init__()
        self.setting = setting
        self.collections = collections  # name, documents
        self.history = history  # oldest first
        self.unfinished = unfinished
        self.runs = runs


class SessionLoaded(Message):
    """A session's latest turns, oldest first, one run each; and the runs before them."""

    def __init__(
        self, session: str, name: str, folds: Sequence[RunFold], earlier: Sequence[Run] = ()
    ) -> None:
        super().__init__()
        self.session = session
        self.name = name
        self.folds = folds
        self.earlier = earlier


class TurnsLoaded(Message):
    """Earlier turns of a session, oldest first."""

    def __init__(self, session: str, folds: Sequence[RunFold]) -> None:
        super().__init__()
        self.session = session
        self.folds = folds


class ResumeReady(Message):
    """A run that is to go on: what is known of it so far, and the model it began with ("": the set one).

    ``before`` is its session without it; ``web``: whether it may search the web (None: as is set).
    """

    def __init__(
        self, run_id: str, before: SessionLoaded, model: str, web: bool | None, fold: RunFold
    ) -> None:
        super().__init__()
        self.run_id = run_id
        self.before = before
        self.model = model
        self.web = web
        self.fold = fold


def load_beginning(engine: Engine) -> Beginning:
    """Read what there is at the start. Raises `BadSetting`, `StoreError`."""
    from agent.run import resumable
    from traces.library import Library
    from traces.runs import Runs
    from tui.app.screens.unfinished import offered

    settings = engine.settings()
    runs = Runs(engine.store)
    recent = runs.search(limit=_HISTORY)
    history = list(dict.fromkeys(run.question for run in recent))
    return Beginning(
        Setting(settings.model, not settings.web),
        [(c.name, c.documents) for c in Library(engine.store).collections()],
        history[::-1],
        offered(resumable(engine.store)),
        len(recent),
    )


def load_session(engine: Engine, session: str, but: str = "") -> SessionLoaded:
    """Read a session's latest turns; each takes tens of milliseconds. Raises `UnknownSession`.

    Args:
        engine: Where the store comes from.
        session: Its id.
        but: Id of a run that is left out.
    """
    from traces.runs import Runs
    from traces.sessions import Sessions
    from tui.app.widgets.conversation import AT_ONCE

    with engine.store.connect():
        found = Sessions(engine.store).find(session)
        runs = [run for run in Runs(engine.store).of_session(found.id) if run.id != but]
        folds = [load_fold(engine, run) for run in runs[-AT_ONCE:]]
    return SessionLoaded(found.id, found.name, folds, runs[:-AT_ONCE])


def load_turns(engine: Engine, runs: Sequence[Run]) -> TurnsLoaded:
    """Read some turns of one session."""
    with engine.store.connect():
        return TurnsLoaded(runs[0].session, [load_fold(engine, run) for run in runs])


def load_resumed(engine: Engine, run_id: str) -> ResumeReady:
    """Read what a run that is to go on knows. Raises `UnknownRun`, `UnknownSession`."""
    from traces.runs import Runs
    from tui.resuming import model_of, web_of

    run = Runs(engine.store).find(run_id)
    before = load_session(engine, run.session, but=run.id) if run.session else SessionLoaded("", "", ())
    return ResumeReady(run.id, before, model_of(run) or "", web_of(run), load_fold(engine, run))


def load_fold(engine: Engine, run: Run) -> RunFold:
    """A stored run, folded."""
    from traces.runs import Runs
    from tui.app.fold import RunFold
    from tui.outcome import Outcome, events_of

    stored = Runs(engine.store).events(run.id)
    unfinished = "waiting" if run.status == "waiting" else "running"
    fold = RunFold(Outcome(unfinished=unfinished), run_id=run.id)
    fold.take_all(events_of(stored))
    fold.elapsed = stored[-1].elapsed if stored else 0.0
    return fold
