"""Names, told by their letters alone, in several languages."""

from __future__ import annotations

import pytest

from agent.text.language import language
from agent.text.names import capitalised_inside, is_mentioned, names, phrases


@pytest.mark.parametrize(
    ("text", "spoken", "found"),
    [
        ("The plant of Tolvang Ceramics burned.", "en", ["Tolvang", "Ceramics"]),
        ("Tolvang makes bearings.", "en", ["Tolvang"]),  # known from elsewhere
        ("Suppliers make bearings.", "en", []),
        ("Die Miete für das Haus steigt.", "de", []),  # every noun has a capital
        ("Der MI300X von AMD ist teuer.", "de", ["MI300X", "AMD"]),
        ("Yunpu工厂生产MI300X。", "zh", ["Yunpu", "MI300X"]),
        ("The 3rd kiln burned.", "en", []),
        ("Ann Lee – Ann Lee’s plan", "en", ["Lee", "Lee’s"]),
    ],
)
def test_names(text: str, spoken: str, found: list[str]) -> None:
    assert (
        names(
            text,
            spoken,
            [capitalised_inside("We buy from Tolvang and Yunpu, and so do Suppliers and suppliers.")],
        )
        == found
    )


def test_names_that_stand_side_by_side_are_one() -> None:
    text = "It was sold by Noor Al-Rashid of Tolvang Ceramics, Brevnes and Noor Al-Rashid."
    assert phrases(text, "en") == ["Noor Al-Rashid", "Tolvang Ceramics", "Brevnes"]


@pytest.mark.parametrize(
    ("name", "text", "held"),
    [
        ("Tolvang", "TOLVANG burned", True),
        ("German", "in Germany", True),
        ("Lee's", "Ann Lee", True),
        ("NASA", "the National Aeronautics and Space Administration", False),
        ("PTO", "paid time off", True),
        ("Brevnes", "the plant of Tolvang", False),
        ("Ann", "Annual report", False),
    ],
)
def test_a_name_stands_in_any_case_and_form(name: str, text: str, held: bool) -> None:
    assert is_mentioned(name, text) is held


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("The plant makes ceramic bearings, and it did not restart in May.", "en"),
        ("Der Mieter zahlt zwei Monatsmieten Kaution.", "de"),
        ("甲方将位于临江路18号的仓库出租给乙方,租期三年。", "zh"),
        ("租户每个月要交28,000元。", "zh"),
        ("12 | 14 | 3.5", ""),
        ("", ""),
    ],
)
def test_the_language_of_a_text(text: str, code: str) -> None:
    assert language(text) == code
