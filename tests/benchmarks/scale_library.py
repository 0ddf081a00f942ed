"""Large libraries for `scale`: real paragraphs, repeated with changed words so that the vocabulary grows.

The first rows are the paragraphs of the question files as they are. The others repeat them: half of the
proper names become new ones, numbers become others, and one word in eight becomes another word of the
files. The terms are the product's own. Vectors are mixtures of two real MiniLM vectors with noise, unit
length: an exact search does the same work whatever the values are; an approximate index is helped or
hindered by how they lie, and real neighbours lie closer together than these.

    python -m tests.benchmarks.scale_library FOLDER ROWS

A killed run goes on where it stopped: rows are drawn per batch, each with a seed of its own.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from agent.text.terms import terms
from models.protocols import Vectors
from tests.benchmarks.library import embedder
from tests.benchmarks.multihop import read_questions
from tests.conftest import DATA
from traces.library import Library
from traces.records import SECTION_SEPARATOR, NewDocument
from traces.store import Store

FILES = tuple(
    f"{name}_{split}.jsonl"
    for name in ("hotpotqa", "2wikimultihopqa", "musique")
    for split in ("train", "dev")
)
COLLECTIONS = ("filings", "letters", "news", "reports")
SECTIONS = tuple(
    SECTION_SEPARATOR.join(("PART I", heading))
    for heading in (
        "Item 1. Business",
        "Item 1A. Risk Factors",
        "Item 2. Properties",
        "Item 3. Legal Proceedings",
        "Item 5. Market for Common Equity",
        "Item 7. Management's Discussion",
        "Item 8. Financial Statements",
        "Item 9. Controls and Procedures",
        "Item 10. Directors and Governance",
        "Item 15. Exhibits",
    )
)
_HANDED_OVER = "vectors.npy"  # the last thing that is made
_BATCH = 10_000
_A_DOCUMENT = 20  # chunks
_EMBEDDED = 4_096
_WORD = re.compile(r"\d+|[^\W\d_]+|[\W_]+")
_SYLLABLES = "ba ce do fi ga hu jo ka le mi no pe ra se ti vo wa xe yu zor lan den mar tel".split()


def questions() -> list[str]:
    """Whole questions of the dev files, ten of each, to search with."""
    return [
        one.text
        for name in FILES
        if name.endswith("_dev.jsonl")
        for one in read_questions(DATA / "multihop" / name).questions[:10]
    ]


def fill(folder: Path, rows: int) -> None:
    """Bring the library in ``folder`` to ``rows`` chunks, and its vectors into ``vectors.npy``."""
    if (folder / _HANDED_OVER).exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    store = Store(folder / "deepthink.duckdb")
    seeds = _embedded(folder.parent)
    _prepare(store, seeds[:1])
    paragraphs = _paragraphs()
    words = [_WORD.findall(paragraph) for paragraph in paragraphs]
    corpus = [word for found in words for word in found if word[0].isalpha()]
    with store.connect() as db:
        ((have,),) = db.execute("SELECT count(*) FROM chunks").fetchall()
    for first in range(have, rows, _BATCH):
        count = min(_BATCH, rows - first)
        texts = _texts(words, corpus, first, count)
        vectors = _vectors(seeds, first, count)
        _insert(store, first, texts, vectors)
        sys.stderr.write(f"\r{first + count:,} of {rows:,}")
    _hand_over(store, folder / _HANDED_OVER, rows, seeds.shape[1])


def _prepare(store: Store, some: Vectors) -> None:
    """The tables as the product makes them: by a document that is stored and removed again."""
    library = Library(store)
    if library.embedder() is not None:
        return
    for name in COLLECTIONS:
        library.describe_collection(name, "")
    empty = NewDocument(COLLECTIONS[0], "/", "", "", "", "", 0, None, "", 1.0, (), 1, ())
    library.remove_document(library.put_document(empty, some, embedder().name))


def _paragraphs() -> list[str]:
    found: dict[str, None] = {}
    for name in FILES:
        for paragraph in read_questions(DATA / "multihop" / name).paragraphs:
            found[f"{paragraph.title}. {paragraph.text}"] = None
    return list(found)


def _embedded(work: Path) -> Vectors:
    """Real vectors of paragraphs from all over the files, made once."""
    kept = work / "minilm.npy"
    if not kept.exists():
        paragraphs = _paragraphs()
        some = [paragraphs[i] for i in np.linspace(0, len(paragraphs) - 1, _EMBEDDED, dtype=int)]
        np.save(kept, embedder().embed_passages(some))
    return np.asarray(np.load(kept), dtype=np.float32)


def _texts(words: list[list[str]], corpus: list[str], first: int, count: int) -> list[str]:
    draw = random.Random(first)
    texts: list[str] = []
    for row in range(first, first + count):
        found = words[row % len(words)]
        changed = row >= len(words)
        texts.append("".join([_changed(word, corpus, draw) for word in found] if changed else found))
    return texts


def _changed(word: str, corpus: list[str], draw: random.Random) -> str:
    if not word[0].isalnum():
        return word
    chance = draw.random()
    if word[0].isdigit():
        return str(draw.randrange(10 ** min(len(word), 6)))
    if word[0].isupper() and len(word) > 3 and chance < 0.5:
        # Most new names are few syllables of many: some are met again, as in real text.
        return "".join(draw.choices(_SYLLABLES, k=draw.choice((2, 3, 3, 4)))).title()
    return corpus[int(draw.random() * len(corpus))] if chance > 0.875 else word


def _vectors(seeds: Vectors, first: int, count: int) -> Vectors:
    draw = np.random.default_rng(first)
    one, other = (seeds[draw.integers(0, len(seeds), count)] for _ in range(2))
    share = draw.uniform(0.5, 0.9, (count, 1))
    noise = draw.normal(0.0, 0.02, one.shape)
    mixed = share * one + (1 - share) * other + noise
    return np.asarray(mixed / np.linalg.norm(mixed, axis=1, keepdims=True), dtype=np.float32)


def _insert(store: Store, first: int, texts: list[str], vectors: Vectors) -> None:
    count = len(texts)
    ids = np.arange(first + 1, first + count + 1)
    document = (ids - 1) // _A_DOCUMENT + 1
    position = (ids - 1) % _A_DOCUMENT
    sections = [SECTIONS[i * len(SECTIONS) // _A_DOCUMENT] for i in position]
    joined = [" ".join(terms(f"{section}. {text}")) for section, text in zip(sections, texts, strict=True)]
    chunks = pa.table(
        {
            "id": ids,
            "document_id": document,
            "position": pa.array(position, pa.int32()),
            "kind": ["text"] * count,
            "section": sections,
            "page": pa.nulls(count, pa.int32()),
            "text": texts,
            "terms": joined,
        }
    )
    flat = pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), vectors.shape[1])
    numbers = pa.table({"number": np.unique(document)})
    with store.transaction() as db:
        db.register("new_chunks", chunks)
        db.register("new_vectors", pa.table({"chunk_id": ids, "vector": flat}))
        db.register("numbers", numbers)
        db.execute("INSERT INTO chunks SELECT * FROM new_chunks")
        db.execute("INSERT INTO vectors SELECT * FROM new_vectors")
        db.execute(
            """
            INSERT INTO documents
            SELECT number, list_extract(?, 1 + CAST(number % ? AS INTEGER)), '/' || number, 'd' || number,
                'Document ' || number, 'text/plain', '', 0, NULL, '', 1.0, '[]', 1, now()::TIMESTAMP
            FROM numbers
            """,
            [list(COLLECTIONS), len(COLLECTIONS)],
        )
        db.execute("UPDATE collections SET generation = generation + 1")


def _hand_over(store: Store, path: Path, rows: int, dimensions: int) -> None:
    """The stored vectors as an array file, by chunk id: what the alternatives are given."""
    unfinished = path.with_suffix(".part")
    vectors = np.lib.format.open_memmap(unfinished, mode="w+", dtype=np.float32, shape=(rows, dimensions))
    for ids, some in _stored(store):
        vectors[ids - 1] = some
    vectors.flush()
    unfinished.rename(path)


def _stored(store: Store) -> Iterator[tuple[npt.NDArray[np.int64], Vectors]]:
    with store.connect() as db:
        for batch in db.sql("SELECT chunk_id, vector FROM vectors").to_arrow_reader(_BATCH):
            flat = batch.column("vector").flatten().to_numpy()
            yield batch.column("chunk_id").to_numpy(), flat.reshape(batch.num_rows, -1)


if __name__ == "__main__":
    fill(Path(sys.argv[1]), int(sys.argv[2]))
