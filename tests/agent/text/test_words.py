"""Sentences, keyword terms, and names and languages told by their letters alone."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import snowballstemmer
from hypothesis import given
from hypothesis import strategies as st

from agent.text.language import language
from agent.text.names import capitalised_inside, is_mentioned, names, phrases
from agent.text.sentences import sentences
from agent.text.terms import terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Acme Inc. Ltd. pays Mr. Smith. He left.", ["Acme Inc. Ltd. pays Mr. Smith.", "He left."]),
        ("It rose 3.5 percent. In the U.S. It fell.", ["It rose 3.5 percent.", "In the U.S. It fell."]),
        ("第一句。第二句！", ["第一句。", "第二句！"]),
        ("Now it costs 5 euros. £4 before.", ["Now it costs 5 euros.", "£4 before."]),
        ("a line\nanother line", ["a line", "another line"]),
        ("“Quoted.” Then more.", ["“Quoted.”", "Then more."]),
        (
            "Der Vertrag gilt bis zum 31. Dezember. Er wird im 2. Quartal verlängert.",
            ["Der Vertrag gilt bis zum 31. Dezember.", "Er wird im 2. Quartal verlängert."],
        ),
        ("Die Fabrik wurde 2024. Eine zweite folgt.", ["Die Fabrik wurde 2024.", "Eine zweite folgt."]),
        ("The committee has 12. It met in May.", ["The committee has 12.", "It met in May."]),
        ("", []),
        pytest.param(f"{'A. ' * 100_000}B", [f"{'A. ' * 100_000}B"], id="long"),  # in time
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@given(st.text(max_size=300))
def test_no_text_is_lost(text: str) -> None:
    assert "".join("".join(sentences(text)).split()) == "".join(text.split())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Revenues of Companies", ["revenu", "compani"]),
        ("$26,974 million", ["26974", "million"]),
        ("26974", ["26974"]),
        ("Compute & Networking", ["comput", "network"]),
        ("NVIDIA’s and NVIDIA's", ["nvidia", "nvidia"]),
        ("云浦工厂", ["云浦", "浦工", "工厂"]),
        ("MI300X", ["mi", "300", "x"]),
        ("who is it", ["who", "is", "it"]),  # nothing but function words: kept, so the query lives
        ("", []),
        ("…—!?", []),
    ],
)
def test_terms(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


@given(st.text(max_size=200))
def test_any_text_gives_terms_that_keep_the_index_whole(text: str) -> None:
    # Terms are stored joined by spaces: one with a space in it, or an empty one, would come apart.
    found = terms(text)
    assert " ".join(found).split() == found


def test_words_are_stemmed_side_by_side() -> None:
    words = [f"{'ab' * (n % 7)}nation{n}ational" for n in range(2000)]
    letters = str.maketrans("0123456789", "abcdefghij")
    texts = [word.translate(letters) for word in words]
    alone = [snowballstemmer.stemmer("english").stemWord(text) for text in texts]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(terms, texts))
    assert found == [[stem] for stem in alone]


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
    known = capitalised_inside("We buy from Tolvang and Yunpu, and so do Suppliers and suppliers.")
    assert names(text, spoken, [known]) == found


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
