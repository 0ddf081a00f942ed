"""A small library with everything in it that the screens show, stored without reading a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agent.text.terms import terms
from tests.agent import made
from traces.library import Library
from traces.records import Chunk
from traces.store import Store

BANK = (
    "At the end of June the company held 412 million in cash.\n"
    "The company did not draw on its credit line in the quarter. It expects to repay the bonds in 2027."
)
TABLE = "Net sales by region (in millions)\nRegion | 2024 | 2023\nEurope | 1,204 | 1,118\nAsia | 618 | 655"


def put(
    library: Library,
    collection: str,
    name: str,
    texts: Sequence[tuple[str, str]],
    *,
    pages: int | None = None,
    **changes: Any,
) -> int:
    """Store a document of ``(section, text)`` chunks; returns its id."""
    chunks = tuple(
        Chunk(
            position=position,
            kind="table" if " | " in text else "text",
            section=tuple(section.split(" › ")) if section else (),
            page=1 + position // 2 if pages else None,
            text=text,
            terms=tuple(terms(text)),
        )
        for position, (section, text) in enumerate(texts)
    )
    fields: dict[str, Any] = {
        "source": f"/documents/{name}",
        "title": name,
        "media_type": "application/pdf" if pages else "text/markdown",
        "bytes": 1000 * len(texts) + 234,
    }
    fields |= {"date": "", "pages": pages, "chunks": chunks, **changes}
    return made.put(library, name, [text for _, text in texts], collection, **fields)


def fill(store: Store) -> dict[str, int]:
    """Two collections with four documents; document name to id."""
    library = Library(store)
    library.describe_collection("filings", "Quarterly and annual reports of Orlavane Thermal.")
    return {
        "report.pdf": put(
            library,
            "filings",
            "report.pdf",
            [
                ("Overview", "Orlavane Thermal makes large heat pumps for district heating."),
                ("Overview", "The company employs 2,310 people at three plants."),
                ("Item 7. Results", TABLE),
                ("Item 7. Results › Liquidity", BANK),
                ("Item 7. Results › Liquidity", "The bonds carry a coupon of 4.5 percent."),
                ("Item 1A. Risk factors", "A fire at a supplier's plant could halt production."),
            ],
            title="Report for the second quarter of 2025",
            pages=3,
            date="2025-06-30",
        ),
        "scan.pdf": put(
            library,
            "filings",
            "scan.pdf",
            [("", "Only the first page of this scan holds text.")],
            title="A scanned letter",
            pages=9,
            coverage=0.31,
            notices=("8 of 9 pages hold pictures only; run OCR on the file and add it again.",),
        ),
        "fire.md": put(
            library,
            "news",
            "fire.md",
            [("Fire", "A fire at the Brevnes plant of Tolvang Ceramics halted production in May.")],
            title="Fire at Brevnes",
            date="2025-05-12",
        ),
        "page": put(
            library,
            "news",
            "example.org/bearings",
            [("Bearings", "Orlavane buys all of its ceramic bearings from Tolvang Ceramics.")],
            title="Bearings for heat pumps",
            source="https://example.org/bearings",
        ),
    }
