"""Distillation: passages are reduced to the sentences and table rows that bear on the question."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import groupby
from typing import Any, cast

from agent import notebook, prompts
from agent.citations import GAP
from agent.deps import Deps
from agent.documents import table_text
from agent.events import EvidenceKept
from agent.retrieval.recall import Hit
from agent.session import Session
from agent.state import RELEVANCE, Candidate, Evidence, FoundPassage, RunState, current_step
from agent.steps.answering import MOST_PASSAGES
from agent.steps.grade import graded
from agent.steps.rerank import LIKELY, shown
from agent.steps.retrieve import candidate as as_candidate
from agent.text.sentences import sentences
from agent.text.terms import terms
from traces.plain_text import squeezed

_LETTERED_LINE = re.compile(r"^\s*[\[(]?([A-H])[\])][.:]?\s*(.+)$")
_SHORT_PASSAGE = 900  # characters; about the length of a chunk of prose
_MOST_ROWS = 8


def distil_by_spans(
    _session: Session, _notebook: Sequence[str], _question: str, candidates: Sequence[Candidate]
) -> list[tuple[Candidate, str]]:
    """Keep what the reader points at: the sentences around its spans, and the table rows that hold them.

    The best passage is kept whole if it is short: the answer may be next to a span.
    """
    return [
        (candidate, _excerpt(candidate, first=position == 0))
        for position, candidate in enumerate(candidates)
    ]


def distil_by_model(
    session: Session, notebook: Sequence[str], question: str, candidates: Sequence[Candidate]
) -> list[tuple[Candidate, str]]:
    """Ask the model to copy what helps, as the seed does; lines that are in no passage are dropped.

    If no line is left, the reader's spans decide instead.
    """
    passages = candidates[:8]
    instruction = prompts.distil(question, [passage["text"] for passage in passages])
    reply = session.write("distil", notebook, instruction, 320)
    lines_by_passage: dict[int, list[str]] = {}
    for line in reply.text.splitlines():
        match = _LETTERED_LINE.match(line)
        if match is None:
            continue
        index = ord(match.group(1)) - ord("A")
        if index < len(passages) and _occurs_in(match.group(2), passages[index]["text"]):
            lines_by_passage.setdefault(index, []).append(match.group(2).strip())
    if not lines_by_passage:
        return distil_by_spans(session, notebook, question, passages)
    return [(passages[index], GAP.join(lines)) for index, lines in sorted(lines_by_passage.items())]


def _excerpt(candidate: Candidate, *, first: bool) -> str:
    spans = candidate.get("spans", [])
    if first and len(candidate["text"]) <= _SHORT_PASSAGE:
        return candidate["text"]
    units = {span["unit"] for span in spans}
    return _rows(candidate, units) if candidate["kind"] == "table" else _sentences(candidate, units)


def _sentences(candidate: Candidate, units: Collection[str]) -> str:
    """The sentences with a span, each with its neighbours; the first two if none has one."""
    parts = sentences(candidate["text"])
    span_indices = [i for i, part in enumerate(parts) if any(squeezed(part) in unit for unit in units)]
    span_indices = span_indices or [0]
    indices = sorted({j for i in span_indices for j in (i - 1, i, i + 1) if 0 <= j < len(parts)})
    pieces: list[str] = []
    for position, index in enumerate(indices):
        if position:
            pieces.append(" " if index == indices[position - 1] + 1 else GAP)
        pieces.append(parts[index])
    return "".join(pieces)


def _rows(candidate: Candidate, units: Collection[str]) -> str:
    """Header and rows of a table: the rows with a span; the first ones if it is small or none has one."""
    head, body = table_text.parts(candidate["text"])
    unit_by_line = {row.line: squeezed(row.spelled()) for row in table_text.rows(candidate["text"])}
    span_rows = [i for i, line in enumerate(body) if unit_by_line.get(line) in units]
    indices = span_rows if span_rows and len(body) > _MOST_ROWS else list(range(len(body)))[:_MOST_ROWS]
    rows = table_text.with_headings(body, indices)
    return "\n".join([*(line for line in head if line not in rows), *rows])


def _occurs_in(line: str, text: str) -> bool:
    """Whether nearly all terms of ``line`` occur in ``text`` (small models drop commas)."""
    text_terms = set(terms(text))
    line_terms = terms(line)
    return bool(line_terms) and sum(term in text_terms for term in line_terms) >= 0.9 * len(line_terms)


_UNSURE = 3
"""Passages kept at least where none is graded correct: the reader's probabilities then tell little."""
_LEAST_SHARE = 0.2
"""Share of the best passage's probability that a passage of a single look-up needs.

Of 80 questions about people's own documents, the four best passages have the evidence for 74; without the
incorrect ones they are 2.9 on average, for 72; those with this share 2.3, for 72; with 0.3 they are 2.1,
for 71.
"""
_SHORT_SECTION = 4
"""Passages of a section that is read whole where the best passage is one of them: a list is often split.

Of 102 questions about people's own documents, the passages that are kept hold all that is asked for in 79,
with the rest of such a section in 81 (two lists more), for 7 % more text.
"""
_ANSWER_ROOM = 700  # context tokens kept free for the instructions and answers still to come


def distil(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads plan, position, step, query, candidates, evidence, notebook. Writes evidence, fresh, again,
    barren, notebook.

    A chunk gets its citation number the first time it is kept, and keeps it. Passages graded incorrect are
    left out; where none is correct, at least the first few are kept whatever their grades: the reader
    alone must not decide that nothing was found. An empty retrieval never reaches the distiller, which
    would invent evidence. Passages that no longer fit the context are dropped, the lowest-ranked first.
    """
    question = current_step(state)["question"]
    candidates = state["candidates"]
    if not candidates:
        return _keep(state, deps, question, [], [])
    is_single = state["route"] == "single" and deps.cognition.instant
    least = _LEAST_SHARE * candidates[0]["score"] if is_single else 0.0
    kept = [c for c in candidates if c["grade"] != "incorrect" and c["score"] >= least]
    if all(candidate["grade"] != "correct" for candidate in candidates):
        others = [candidate for candidate in candidates if candidate not in kept]
        kept += others[: max(0, _UNSURE - len(kept))]
    if is_single:
        # One prompt answers it, and whole passages serve that better than excerpts.
        whole = with_section(question, kept[: deps.evidence_limit], deps)
        passages = [(candidate, candidate["text"]) for candidate in whole[:MOST_PASSAGES]]
    else:
        entries, query = state["notebook"], state["query"]
        passages = deps.cognition.distil(deps.session, entries, query, kept)[: deps.evidence_limit]
    while passages and not deps.session.fits(state["notebook"], _notebook_text(passages), _ANSWER_ROOM):
        passages.pop()
    return _keep(state, deps, question, passages, kept)


def with_section(question: str, candidates: Sequence[Candidate], deps: Deps) -> list[Candidate]:
    """The candidates, the first, if it is a likely one, between the other passages of its short section."""
    if not candidates or candidates[0]["kind"] == "table" or candidates[0]["score"] < LIKELY:
        return list(candidates)
    first, known = candidates[0], {candidate["passage_id"]: candidate for candidate in candidates}
    runs = groupby(deps.library.document_passages(first["document_id"]), key=lambda p: p.section)
    sections = (list(passages) for _, passages in runs)
    passages = next((s for s in sections if any(p.id == first["passage_id"] for p in s)), [])
    if not 1 < len(passages) <= _SHORT_SECTION:
        return list(candidates)
    section = [passage for passage in passages if passage.kind != "table"]
    new = [as_candidate(Hit(passage, 0.0)) for passage in section if passage.id not in known]
    readings = deps.reader.read(question, [shown(candidate).text for candidate in new])
    known |= {
        candidate["passage_id"]: Candidate({**candidate, "score": reading.probability})
        for candidate, reading in zip(new, readings, strict=True)
    }
    inside = [known.pop(passage.id) for passage in section]
    return [*inside, *known.values()]


def _notebook_text(passages: Sequence[tuple[Candidate, str]]) -> str:
    return "\n".join(f"[00] ({candidate['title']}) {excerpt}" for candidate, excerpt in passages)


def _keep(
    state: RunState,
    deps: Deps,
    question: str,
    passages: Sequence[tuple[Candidate, str]],
    ranked: Sequence[Candidate],
) -> dict[str, Any]:
    evidence = list(state["evidence"])
    by_passage = {item["passage_id"]: item for item in evidence}
    entries: list[tuple[Evidence, bool]] = []
    fresh: list[Evidence] = []
    again: list[int] = []
    for candidate, excerpt in passages:
        existing = by_passage.get(candidate["passage_id"])
        if existing is None:
            item = as_evidence(candidate, excerpt, len(evidence) + 1, state["step"])
            evidence.append(item)
            fresh.append(item)
            entries.append((item, False))
            continue
        again.append(existing["number"])
        is_known = squeezed(excerpt) in squeezed(existing["excerpt"])
        entries.append((Evidence({**existing, "excerpt": excerpt}), is_known))
        if not is_known:
            # Two excerpts may overlap, and those of a table do not join: from now on all of it is kept.
            evidence[existing["number"] - 1] = Evidence({**existing, "excerpt": existing["text"]})
    evidence = with_best(evidence, ranked)
    deps.session.emit(EvidenceKept(state["step"], fresh, again))
    return {
        "evidence": evidence,
        "fresh": [item["number"] for item in fresh],
        "again": again,
        # A further try belongs to its step, which was counted.
        "barren": 0 if fresh else state["barren"] + (not state.get("tried")),
        "notebook": deps.grown(
            state["notebook"], notebook.evidence_entry(state["step"], question, entries)
        ),
    }


def with_best(evidence: Sequence[Evidence], candidates: Sequence[Candidate]) -> list[Evidence]:
    """The evidence, with a search's first candidate marked as the best it found, if it may be relevant."""
    best = {c["passage_id"] for c in candidates[:1] if graded(c["score"]) != "incorrect"}
    return [Evidence({**item, "best": True}) if item["passage_id"] in best else item for item in evidence]


def as_evidence(candidate: Candidate, excerpt: str, number: int, step: int) -> Evidence:
    """The evidence for a kept passage, under its citation number."""
    passage = {name: value for name, value in candidate.items() if name in FoundPassage.__annotations__}
    relevance = candidate["scores"].get(RELEVANCE, 0.0)
    kept = {"number": number, "step": step, "excerpt": excerpt, "relevance": relevance}
    return cast(Evidence, {"author": "", **passage, **kept})
