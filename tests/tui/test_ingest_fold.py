"""What is known of a reading of files from its events."""

from __future__ import annotations

from agent import ingest as ing
from traces.errors import DeepthinkError
from tui.ingest_fold import IngestFold, is_low, share


def done(name: str, outcome: ing.Outcome) -> ing.FileDone:
    return ing.FileDone(f"/{name}", name, outcome, 3, 1.0, None, 0.1, ())


def under_way(fold: IngestFold) -> tuple[str, tuple[int, int] | None]:
    return (fold.under_way.name if fold.under_way else "", fold.passages)


def test_a_reading_adds_up() -> None:
    fold = IngestFold()
    assert fold.counts == "nothing to do"
    fold.take(ing.FileFound(3))
    fold.take(ing.FileStarted("/a.md", "a.md"))
    assert (fold.total, fold.finished) == (3, 0)
    assert under_way(fold) == ("a.md", None)
    fold.take(ing.FileEmbedding("/a.md", 32, 40))
    assert under_way(fold) == ("a.md", (32, 40))
    fold.take(done("a.md", "added"))
    assert fold.finished == 1
    fold.take(ing.FileStarted("/b.md", "b.md"))
    assert under_way(fold) == ("b.md", None)
    fold.take(ing.FileFailed("/b.md", "b.md", DeepthinkError("b.md is empty.", "Look at it.")))
    fold.take(ing.FileStarted("/c.md", "c.md"))
    fold.take(done("c.md", "unchanged"))
    fold.take(done("d.md", "removed"))
    fold.take(ing.IngestFinished(1, 0, 1, 1, 1, 3, 2.0))
    assert fold.finished == 3
    assert [file.name for file in fold.news] == ["a.md", "d.md"]
    assert fold.summary == "1 added, 1 unchanged, 1 removed, 1 failed in 2.0 s"
    fold.take(ing.FileFound(1))
    fold.take(ing.IngestFinished(0, 0, 0, 0, 0, 0, 1.0))
    assert (fold.total, fold.ended, fold.seconds) == (4, 2, 3.0)


def test_low_coverage_is_said() -> None:
    assert share(1.0) == "100.0%"
    assert share(0.31) == "31.0% low"
    assert not is_low(0.95)


def test_languages_that_the_embedder_does_not_know_are_told_together() -> None:
    fold = IngestFold()
    assert fold.language_note == ""
    for languages in (("German", "French"), ("German",)):
        fold.take(ing.LanguagesUnknown(len(languages), languages, "bge-small-en"))
    assert fold.language_note.startswith("3 documents in German, French, which bge-small-en does not know")
