"""Mining: what recall brings is told apart into gold, doubtful and hard negatives, and kept in a file."""

from __future__ import annotations

from pathlib import Path

from models.scripted import HashEmbedder
from policy.questions import Paragraph
from policy.reranking.mining import Mined, mine, read_mined, write_mined
from policy.reranking.questions import Asked, Pool

PARAGRAPHS = (
    Paragraph("Jaws", "Jaws was directed by Steven Spielberg."),
    Paragraph("Jaws 2", "Jaws 2 was directed by Jeannot Szwarc."),
    Paragraph("Spielberg", "Steven Spielberg is a director of films."),
    Paragraph("Weather", "It rained in Utrecht."),
)


def mined(depth: int = 3) -> Mined:
    asked = Asked("r", "Who directed Jaws?", True, frozenset({0, 3}), frozenset({2}))
    (one,) = mine(Pool("pool", PARAGRAPHS, [asked], {"r": (0, 1, 2, 3)}), HashEmbedder(), depth)
    return one


def test_what_recall_brings_is_ranked_and_marked() -> None:
    one = mined(depth=4)
    brought = [found for found in one.found if found.rank is not None]
    assert [found.rank for found in brought] == [0, 1, 2, 3]
    by_text = {found.text: found for found in one.found}
    assert by_text["Jaws. Jaws was directed by Steven Spielberg."].gold
    assert by_text["Spielberg. Steven Spielberg is a director of films."].doubtful
    hard = by_text["Jaws 2. Jaws 2 was directed by Jeannot Szwarc."]
    assert not hard.gold
    assert not hard.doubtful
    assert hard.coverage is not None
    assert hard.coverage > 0


def test_gold_that_recall_missed_is_there_without_a_rank() -> None:
    missed = mined(depth=2).found[-1]
    assert (missed.text, missed.gold, missed.rank, missed.vector) == (
        "Weather. It rained in Utrecht.",
        True,
        None,
        None,
    )


def test_a_file_of_it_reads_back_the_same(tmp_path: Path) -> None:
    write_mined(iter([mined()]), tmp_path / "pool.jsonl")
    assert read_mined(tmp_path / "pool.jsonl") == [mined()]
    assert [path.name for path in tmp_path.iterdir()] == ["pool.jsonl"], "no half-written file is left"
