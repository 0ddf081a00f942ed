"""Words broken at the end of a line."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.documents.chunking import chunk, coverage
from agent.documents.prose import mended, words_of
from tests.agent.documents.formats.parsed import parse, shape
from tests.agent.documents.formats.samples import pdf_file

KNOWN = "International Functions of the long-term loan, a term. Re-cover or recover?"


@pytest.mark.parametrize(
    ("broken", "read"),
    [
        ("the inter-\nnational banks", "the international\nbanks"),
        ("the Inter-\r\n  national, banks", "the International,\n  banks"),
        ("func-\ntions.\n\nNext", "functions.\n\nNext"),
        ("a long-\nterm loan", "a long-\nterm loan"),
        ("a re-\ncover of", "a re-\ncover of"),
        ("never-\nseen words", "never-\nseen words"),
        ("in-\nter-\nnational", "in-\nter-\nnational"),
        ("state-of-\nthe-art", "state-of-\nthe-art"),
        ("737-\n10 jets", "737-\n10 jets"),
    ],
)
def test_only_words_known_in_one_piece_are_mended(broken: str, read: str) -> None:
    assert mended(broken, words_of(KNOWN)) == read


TEXT = """The banks that are international have functions that
no other has, and use them for the long-term good of
all, as the treaties that they have signed, the inter-
national ones too, will say, and all of their long-
term plans, and as the reports that have been never-
failing, and that they publish, have it of the func-
tions."""
READ = (
    "The banks that are international have functions that no other has, and use them for the long-term "
    "good of all, as the treaties that they have signed, the international ones too, will say, and all of "
    "their long-term plans, and as the reports that have been never-failing, and that they publish, have "
    "it of the functions."
)


@pytest.mark.parametrize(
    ("name", "content"), [("a.txt", TEXT), ("a.pdf", pdf_file(TEXT))], ids=["text", "pdf"]
)
def test_paragraphs(tmp_path: Path, name: str, content: str | bytes) -> None:
    document = parse(tmp_path, name, content)
    assert " ".join(text for _, _, text in shape(document)) == READ
    assert coverage(document, chunk(document)) == 1.0
