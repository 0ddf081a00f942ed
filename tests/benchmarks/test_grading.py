"""The grader's calibration reads a record's own paragraphs, in whatever order the file has them."""

from __future__ import annotations

import numpy as np

from policy.questions import Paragraph
from policy.reranking.questions import Asked, Pool
from tests.benchmarks.grading import _among_its_own


def test_own_paragraphs_may_come_in_any_order() -> None:
    texts = ("Tolvang makes bearings.", "Brevnes lies on a fjord.", "Orlavane builds compressors.")
    paragraphs = tuple(Paragraph(f"p{i}", text) for i, text in enumerate(texts))
    lookup = Asked("r", "Who makes bearings?", True, frozenset({0}), frozenset())
    vectors = np.eye(3, dtype=np.float32)
    pool = Pool("a set", paragraphs, [lookup], {"r": (2, 0, 1)})
    among = dict(_among_its_own(pool, lookup, vectors, vectors[0]))
    assert {setting: [i for i, _ in found] for setting, found in among.items()} == {
        "own": [0, 1, 2],
        "own-": [1, 2],
    }
    covered = {i: one["scores"]["coverage"] for i, one in among["own"]}
    assert covered[0] > covered[1] == covered[2] == 0.0
