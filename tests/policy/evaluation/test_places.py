"""Gold places are covered by passages of their page, or of any page where a whole document is meant."""

from __future__ import annotations

import pytest

from policy.evaluation.answered import place_of, places_of, share
from policy.evaluation.cases import Place
from tests.agent.made import candidate, evidence


def test_a_passage_stands_in_its_document_on_its_page() -> None:
    assert place_of(evidence(1, "It burned.", document="fire.pdf", page=3)) == Place("fire.pdf", 3)
    assert place_of(candidate(7, "It burned.", document="12")) == Place("12")


def test_each_place_is_told_once_in_its_order() -> None:
    passages = [evidence(n, "…", document=document) for n, document in enumerate("bab", start=1)]
    assert places_of(passages) == (Place("b"), Place("a"))


def test_the_share_counts_gold_places_not_passages() -> None:
    gold = (Place("a", 2), Place("b"), Place("c"))
    held = [Place("a", 1), Place("b", 7), Place("b", 8), Place("c")]
    assert share(gold, held) == pytest.approx(2 / 3)  # another page of a; any page of b
    assert share(gold, []) == 0.0
    assert share((Place("a", 1),), [Place("a")]) == 0.0  # a passage without a page is of no known page


def test_without_gold_there_is_no_share() -> None:
    with pytest.raises(ValueError, match="no gold"):
        share((), [Place("a")])
