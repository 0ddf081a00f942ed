"""Distillation: passages shrink to the sentences and table rows that bear on the question."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

from agent import notebook, prompts
from agent.cognition import Distilled
from agent.deps import Deps
from agent.documents import table_text
from agent.events import EvidenceKept, NotebookGrew
from agent.session import Session
from agent.state import RELEVANCE, Candidate, Evidence, RunState
from agent.text.sentences import sentences
from agent.text.terms import terms

_LETTERED = re.compile(r"^\s*[\[(]?([A-H])[\])][.:]?\s*(.+)$")
_SHORT = 900  # characters; about a passage of prose as it is cut
_MOST_ROWS = 8
_GAP = " … "


def distil_by_spans(
    _session: Session, _notebook: Sequence[str], _question: str, candidates: Sequence[Candidate]
) -> list[Distilled]:
    """Keep what the reader points at: the sentences around its spans, and the table rows that hold them.

    The best passage is kept whole where it is short: the answer may be beside what was marked.
    """
    return [
        Distilled(candidate, _excerpt(candidate, first=position == 0), candidate["score"])
        for position, candidate in enumerate(candidates)
    ]


def distil_by_model(
    session: Session, notebook: Sequence[str], question: str, candidates: Sequence[Candidate]
) -> list[Distilled]:
    """Ask the model to copy what helps, as the seed does; lines that are in no passage are dropped.

    If nothing is left, what the reader points at is kept.
    """
    shown = candidates[:8]
    instruction = prompts.distil(question, [c["text"] for c in shown])
    reply = session.write("distil", notebook, instruction, 320)
    copied: dict[int, list[str]] = {}
    for line in reply.text.splitlines():
        match = _LETTERED.match(line)
        if match is None:
            continue
        index = ord(match.group(1)) - ord("A")
        if index < len(shown) and _is_in(match.group(2), shown[index]["text"]):
            copied.setdefault(index, []).append(match.group(2).strip())
    if not copied:
        return distil_by_spans(session, notebook, question, shown)
    return [
        Distilled(shown[index], _GAP.join(lines), shown[index]["score"])
        for index, lines in sorted(copied.items())
    ]


def _excerpt(candidate: Candidate, *, first: bool) -> str:
    spans = candidate.get("spans", [])
    if first and len(candidate["text"]) <= _SHORT:
        return candidate["text"]
    units = {span["unit"] for span in spans}
    return _rows(candidate, units) if candidate["kind"] == "table" else _sentences(candidate, units)


def _sentences(candidate: Candidate, units: Collection[str]) -> str:
    """The sentences that hold a span, each with its neighbours; the first ones where none does."""
    parts = sentences(candidate["text"])
    marked = [i for i, part in enumerate(parts) if any(_folded(part) in unit for unit in units)] or [0]
    kept = sorted({near for i in marked for near in (i - 1, i, i + 1) if 0 <= near < len(parts)})
    pieces: list[str] = []
    for position, index in enumerate(kept):
        if position:
            pieces.append(" " if index == kept[position - 1] + 1 else _GAP)
        pieces.append(parts[index])
    return "".join(pieces)


def _rows(candidate: Candidate, units: Collection[str]) -> str:
    """Head and rows of a table: those that hold a span; all where the table is small or none does."""
    head, body = table_text.parts(candidate["text"])
    spelled = {row.line: _folded(row.spelled()) for row in table_text.rows(candidate["text"])}
    marked = [i for i, line in enumerate(body) if spelled.get(line) in units]
    kept = marked if marked and len(body) > _MOST_ROWS else list(range(len(body)))[:_MOST_ROWS]
    rows = table_text.with_headings(body, kept)
    return "\n".join([*(line for line in head if line not in rows), *rows])


def _folded(text: str) -> str:
    return " ".join(text.split())


def _is_in(copied: str, text: str) -> bool:
    """True if nearly all terms of ``copied`` occur in ``text`` (small models drop commas)."""
    have = set(terms(text))
    copied_terms = terms(copied)
    return bool(copied_terms) and sum(t in have for t in copied_terms) >= 0.9 * len(copied_terms)


_UNLIKELY = 2  # passages that are read although the reader sees no answer in any
_ANSWER_ROOM = 700  # context tokens kept free for the instructions and answers still to come


def distil(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads plan, position, step, query, candidates, evidence, notebook. Writes evidence, fresh, again,
    barren, notebook.

    A chunk gets its citation number the first time it is kept, and keeps it. Passages graded incorrect
    are left out, but for the best two where all are: the reader is not alone in saying that nothing is
    there. An empty retrieval never reaches the distiller: it would invent evidence. Passages that do not
    fit the context any more are dropped from the lowest-ranked end.
    """
    question = state["plan"][state["position"]]["question"]
    helpful = [c for c in state["candidates"] if c["grade"] != "incorrect"]
    candidates = helpful or state["candidates"][:_UNLIKELY]
    if not candidates:
        entry = notebook.nothing_entry(state["step"], question)
        deps.session.emit(EvidenceKept(state["step"], [], []))
        deps.session.emit(NotebookGrew(entry))
        return {
            "fresh": [],
            "barren": state["barren"] + 1,
            "notebook": [*state["notebook"], entry],
        }
    if state["route"] == "single" and deps.cognition.instant:
        # One prompt answers it: whole passages serve that better than what is cut out of them.
        kept = [Distilled(one, one["text"], one["score"]) for one in candidates[: deps.kept]]
    else:
        book, query = state["notebook"], state["query"]
        kept = deps.cognition.distil(deps.session, book, query, candidates)[: deps.kept]
    while kept and not deps.session.fits(state["notebook"], _read(kept), _ANSWER_ROOM):
        kept.pop()
    return _keep(state, deps, question, kept)


def _read(kept: list[Distilled]) -> str:
    return "\n".join(f"[00] ({d.candidate['title']}) {d.excerpt}" for d in kept)


def _keep(state: RunState, deps: Deps, question: str, kept: list[Distilled]) -> dict[str, Any]:
    evidence = list(state["evidence"])
    by_passage = {item["passage_id"]: item for item in evidence}
    shown: list[tuple[Evidence, bool]] = []
    fresh: list[Evidence] = []
    again: list[int] = []
    for item in kept:
        held = by_passage.get(item.candidate["passage_id"])
        if held is None:
            new = as_evidence(item, len(evidence) + 1, state["step"])
            evidence.append(new)
            fresh.append(new)
            shown.append((new, False))
            continue
        again.append(held["number"])
        known = item.excerpt in held["excerpt"]
        shown.append((Evidence({**held, "excerpt": item.excerpt}), known))
        if not known:
            # Two cuts of a table do not join into one: from now on it is held whole.
            table = held["kind"] == "table"
            excerpt = held["text"] if table else f"{held['excerpt']} … {item.excerpt}"
            evidence[held["number"] - 1] = Evidence({**held, "excerpt": excerpt})
    entry = notebook.evidence_entry(state["step"], question, shown)
    deps.session.emit(EvidenceKept(state["step"], fresh, again))
    deps.session.emit(NotebookGrew(entry))
    return {
        "evidence": evidence,
        "fresh": [item["number"] for item in fresh],
        "again": again,
        "barren": 0 if fresh else state["barren"] + 1,
        "notebook": [*state["notebook"], entry],
    }


def as_evidence(item: Distilled, number: int, step: int) -> Evidence:
    """A passage that is kept, under its citation number."""
    candidate = item.candidate
    return Evidence(
        number=number,
        step=step,
        passage_id=candidate["passage_id"],
        collection=candidate["collection"],
        document=candidate["document"],
        title=candidate["title"],
        date=candidate["date"],
        section=candidate["section"],
        page=candidate["page"],
        kind=candidate["kind"],
        text=candidate["text"],
        excerpt=item.excerpt,
        score=item.score,
        author=candidate.get("author", ""),
        relevance=candidate["scores"].get(RELEVANCE, 0.0),
    )
