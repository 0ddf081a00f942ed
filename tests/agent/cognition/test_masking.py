"""A question with a mark for each name."""

from __future__ import annotations

import pytest

from agent.cognition.masking import masked, unmasked


@pytest.mark.parametrize(
    ("question", "hidden", "names"),
    [
        ("Where did the author of Kadis die", "Where did the author of ⟦0⟧ die", ["Kadis"]),
        ("Is Kadis (1945 Film) by Mr. Ode", "Is ⟦0⟧ by ⟦1⟧", ["Kadis (1945 Film)", "Mr. Ode"]),
        ("Where was D. J. Ode's father born", "Where was ⟦0⟧'s father born", ["D. J. Ode"]),
        ('Who wrote "the Grand Model"', "Who wrote ⟦0⟧", ['"the Grand Model"']),
        ("how many bridges are there", "how many bridges are there", []),
    ],
)
def test_names_are_hidden_and_come_back(question: str, hidden: str, names: list[str]) -> None:
    assert masked(question) == (hidden, names)
    assert unmasked(hidden, names) == question
