"""How text gets onto a terminal, and into a pipe."""

from __future__ import annotations

import pytest

from tui.terminal import console, counted


@pytest.mark.parametrize(
    ("number", "told"), [(0, "0 runs"), (1, "1 run"), (2, "2 runs"), (12_345, "12,345 runs")]
)
def test_one_takes_no_s(number: int, told: str) -> None:
    assert counted(number, "run") == told


def test_in_a_pipe_text_stays_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    console().print("a :smile: [bold]b[/bold]")
    assert capsys.readouterr().out == "a :smile: [bold]b[/bold]\n"
