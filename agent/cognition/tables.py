"""Reading tables without a model: the rows a question names, and what their cells mean.

Works on a table as chunking writes it: caption lines, one header line, then rows; cells joined by
`` | ``; a line without `` | `` among the rows is a heading for those below it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from agent.retrieval.terms import terms

SEPARATOR = " | "


def names(row: str, wanted: Collection[str]) -> bool:
    """True if ``wanted`` names the row: all terms of its label, or most of them if they are several.

    "Calder Bend" names ``Calder Bend, Ohio``; a label of digits only is named by nothing.
    """
    label, bar, _ = row.partition(SEPARATOR)
    label_terms = set(terms(label)) if any(c.isalpha() for c in label) else set()
    held = len(label_terms.intersection(wanted))
    return bool(bar and held) and (
        held == len(label_terms) or (held >= 2 and held >= 0.6 * len(label_terms))
    )


def with_headings(rows: Sequence[str], kept: Sequence[int]) -> list[str]:
    """The kept rows, each group under the heading row it stands below ("Year ended …:")."""
    chosen = set(kept)
    for index in kept:
        above = next((i for i in range(index, -1, -1) if SEPARATOR not in rows[i]), None)
        if above is not None:
            chosen.add(above)
    return [rows[i] for i in sorted(chosen)]


def parts(text: str) -> tuple[list[str], list[str]]:
    """A table's lines as head (caption and header line) and body."""
    lines = [line for line in text.splitlines() if line.strip()]
    header = next((i for i, line in enumerate(lines) if SEPARATOR in line), 0)
    return lines[: header + 1], lines[header + 1 :]


def named_rows(text: str, question: str) -> list[str]:
    """The rows of a table that ``question`` names by their labels, each spelled out with its columns.

    ``Services | 236.4 | 214.9`` under ``In millions | 2024 | 2023`` becomes
    ``Services: 236.4 (2024), 214.9 (2023)``.
    """
    wanted = set(terms(question))
    head, body = parts(text)
    columns = head[-1].split(SEPARATOR)[1:] if head and SEPARATOR in head[-1] else []
    found: dict[str, None] = {}
    for row in body:
        if names(row, wanted):
            label, *cells = row.split(SEPARATOR)
            if len(cells) == len(columns):
                cells = [
                    f"{cell} ({column})"
                    for cell, column in zip(cells, columns, strict=True)
                    if cell.strip()
                ]
            found[f"{label}: {', '.join(cells)}"] = None
    return list(found)
