"""The player without a screen: positions, steps, waits, and the fold at each position."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent import events as ev
from tests.tui import parts, stored
from tui.run.fold import RunFold
from tui.run.words import as_text
from tui.runs.replay import Player


def a_run(gap: float = 10.0) -> list[tuple[float, ev.Event]]:
    """A run of two steps, with seconds between its events."""
    events = [e for e in parts.whole_run() if e.stored]
    step = next(n for n, e in enumerate(events) if isinstance(e, ev.StepStarted))
    end = next(n for n, e in enumerate(events) if isinstance(e, ev.Decided))
    second = [replace(e, step=2) if isinstance(e, ev.StepStarted) else e for e in events[step:end]]
    events[end + 1 : end + 1] = second
    return [(gap * n, event) for n, event in enumerate(events)]


@pytest.fixture
def player() -> Player:
    """At the beginning of that run."""
    return Player(a_run())


def test_each_position_is_the_fold_of_what_came_before(player: Player) -> None:
    count = len(player.events)
    for position in [*range(count + 1), *range(count, -1, -1)]:
        player.seek(position)
        fold = RunFold()
        fold.take_all(player.events[:position])
        fold.elapsed = player.fold.elapsed
        assert player.fold == fold
        assert player.position == position


def test_it_stays_within_the_run(player: Player) -> None:
    player.seek(10_000)
    assert (player.over, player.position) == (True, len(player.events))
    player.seek(-5)
    assert (player.position, player.elapsed, player.over, player.last_event) == (0, 0.0, False, None)
    assert Player(()).over


def test_research_steps_are_gone_through(player: Player) -> None:
    first, second = player.steps
    assert player.step_position(1) == first
    player.seek(first)
    assert isinstance(player.last_event, ev.StepStarted)
    assert (player.step_position(1), player.step_position(-1)) == (second, 0)
    player.seek(second + 1)
    assert (player.step_position(1), player.step_position(-1)) == (len(player.events), second)


def test_long_waits_are_cut_short_and_what_is_close_together_is_shown_together(player: Player) -> None:
    assert player.clock[:3] == [0.0, 1.0, 2.0]
    assert (player.position_at(0.0), player.position_at(1.05)) == (1, 2)
    quick = Player(a_run(0.01))
    assert quick.position_at(0.055) == 6
    assert quick.position_at(10.0) == len(quick.events)


def test_every_event_that_is_stored_has_words_that_cannot_steer_the_terminal() -> None:
    events = [event for _, event in stored.everything()] + [e for e in parts.whole_run() if e.stored]
    for event in [*events, ev.NotebookGrew(stored.EVIL), ev.Steered("skip"), ev.Resumed("", "", "", "")]:
        line = as_text(event)
        assert line
        assert "\x1b" not in line
        assert "\n" not in line
