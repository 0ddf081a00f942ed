"""Step ``synthesise``: the draft, from the model or from the findings."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest

import agent.events as ev
from agent import prompts
from agent.budget import ANSWER_NOW, BudgetExhausted
from agent.prompts import NOT_FOUND
from agent.state import Candidate, Evidence, Note, without_marks
from agent.steps import answering
from agent.steps.answering import abstains, cite, left_out
from agent.steps.rerank import LIKELY
from agent.steps.synthesise import from_findings, synthesise
from agent.support import named_cell
from models.protocols import Reader, Reply, Support, Usage
from tests.agent.made import candidate, evidence, note, only, span, state, step
from tests.agent.steps.conftest import Events, Make
from tests.scripted import Scripted, ScriptedChat, WordReader


@pytest.mark.parametrize(
    ("answer", "sentence", "said"),
    [
        ("seven weeks", "It stood still for seven weeks.", "seven weeks – It stood still for seven weeks"),
        ("Tolvang", "Tolvang supplies them.", "Tolvang supplies them"),  # it begins with the answer
        ("", "It burned.", "It burned"),
        ("236.4", "", "236.4"),
    ],
)
def test_what_was_asked_for_comes_before_its_sentence(answer: str, sentence: str, said: str) -> None:
    assert (
        from_findings([note("", found=False), note(answer, 2, 3, sentence=sentence)], [])
        == f"{said} [2][3]."
    )


def test_of_a_row_the_cell_with_the_answer_is_said() -> None:
    text = "Prices\n| Members | Guests\nTerns | £85 | £115\nGulls | £90 | £90"
    held = [evidence(1, text, kind="table")]
    terns, gulls = "Terns: £85 (Members), £115 (Guests)", "Gulls | £90 | £90"
    assert from_findings([note("£115", 1, sentence=terns)], held) == "Terns: £115 (Guests) [1]."
    assert from_findings([note("£90", 1, sentence=gulls)], held) == f"£90 – {gulls} [1].", "either cell"
    assert from_findings([note("Terns", 1, sentence=terns)], held) == f"{terns} [1]."


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("3.80", "£3.80 (Shop price)"),
        ("640", "640 g (Weight)"),
        ("1,284.6", "1,284.6 (Sold (in thousands))"),
    ],
)
def test_the_sign_or_unit_in_a_columns_brackets_is_beside_its_figure(answer: str, said: str) -> None:
    text = (
        "Article | Shop price (£) | Weight (g) | Sold (in thousands)\nPotato bread | 3.80 | 640 | 1,284.6"
    )
    held = evidence(1, text, kind="table")
    draft = from_findings([note(answer, 1, sentence=text.splitlines()[1])], [held])
    assert draft == f"Potato bread: {said} [1]."
    cell = named_cell(without_marks(draft), held)
    assert cell
    assert cell.agrees(draft)


def test_a_long_sentence_is_shown_around_the_answer() -> None:
    sentence = " ".join(["word"] * 100 + ["Tolvang"] + ["word"] * 100)
    said = from_findings([note("Tolvang", 1, sentence=sentence)], [])
    assert said.startswith("Tolvang – … word ")
    assert " Tolvang " in said.partition("…")[2]
    assert said.endswith(" word … [1].")
    assert len(said) < 330


def test_the_earlier_version_of_a_finding_is_told_behind_it() -> None:
    earlier = {"answer": "40 euros", "sentence": "It costs 40 euros.", "number": 1, "date": "2023-01-01"}
    found = [note("It costs 45 euros.", 2, earlier=earlier)]
    held = [evidence(1, "It costs 40 euros.", title="Prices of 2023")]
    assert from_findings(found, held) == (
        "It costs 45 euros [2]. Earlier (2023-01-01): 40 euros – It costs 40 euros [1]."
    )
    earlier["date"] = ""
    assert "[2]. Earlier (Prices of 2023): 40 euros – It" in from_findings(found, held)


# --- the step ---------------------------------------------------------------------------------------

_HELD = [
    evidence(1, "Orlavane buys its ceramic bearings from Tolvang."),
    evidence(2, "It burned in Brevnes."),
]
_DOUBTFUL = [Evidence({**item, "score": 0.1}) for item in _HELD]
_NOTES = [
    note("Tolvang supplies them.", 1, question="Question 1?"),
    note("It burned in Brevnes.", 2, question="Question 2?", step=2),
]
_LOST = note("", question="Question 2?", step=2)
_PLAN = [step(note["question"]) for note in _NOTES]
_FINDINGS = "Tolvang supplies them [1]. It burned in Brevnes [2]."


def _draft(deps: Any, **changes: Any) -> dict[str, Any]:
    return synthesise(state(**{"evidence": _HELD, "notes": _NOTES, **changes}), deps)


def test_the_model_writes(make: Make, events: Events) -> None:
    update = _draft(make([("one to four", "Tolvang does [1].")]), route="deep", notes=_NOTES[:1])
    assert (update["draft"], update["status"]) == ("Tolvang does [1].", "")
    assert "".join(e.text for e in events if isinstance(e, ev.AnswerText)) == "Tolvang does [1]."
    assert _draft(make([("one or two", "Tolvang [1].")], length="brief"))["draft"] == "Tolvang [1]."


def test_the_best_passages_are_read_in_a_prompt_of_their_own(make: Make) -> None:
    held = [evidence(number, f"Passage {number}.", score=number / 10) for number in range(1, 9)]
    held[1]["best"] = True
    deps = make([("[2] Passage 2.", "Tolvang does [8].")])
    _draft(deps, evidence=held, notes=_NOTES[:1], notebook=["STEP 1"])
    assert isinstance(deps.session.chat, ScriptedChat)
    prompt = deps.session.chat.calls[-1].messages[-1].content
    shown = re.findall(r"^\[(\d)\] Passage", prompt, re.MULTILINE)
    assert shown == ["2", "4", "5", "6", "7", "8"], "the best of a look-up, and the likeliest"
    assert prompt.startswith("PASSAGES:\n[2]")
    assert "- Tolvang supplies them. [1]" in prompt
    assert "STEP 1" not in prompt


def test_a_question_that_is_handed_back_and_a_sentence_that_is_cut_off_are_left_out(make: Make) -> None:
    said = "Until when must I submit? By 10:00 am [1]. Who approves it [2]? The manager does [2]."
    draft = _draft(make([said], profile_name="seed"), route="deep")["draft"]
    assert draft == "By 10:00 am [1]. The manager does [2]."
    reply = Reply("Tolvang does, e.g. in 3.5 ways [1]. It also makes", Usage(), "length")
    assert _draft(make([reply]))["draft"] == "Tolvang does, e.g. in 3.5 ways [1]."


@pytest.mark.parametrize(
    ("said", "draft"),
    [
        ("Tolvang does. Annual report.", "Tolvang does [1]."),
        ("Annual report.", "Annual report [1]."),  # it may be what was asked for
        ("Tolvang does. Annual report one says so.", "Tolvang does [1]. Annual report one says so [1]."),
    ],
)
def test_a_passages_source_that_is_copied_is_no_sentence(make: Make, said: str, draft: str) -> None:
    assert _draft(make([said]), evidence=_HELD[:1], notes=_NOTES[:1], length="brief")["draft"] == draft


@pytest.mark.parametrize("said", ["", "[1]", "Which company supplies them? [1]"])
def test_a_draft_that_says_nothing_gives_way_to_what_was_found(make: Make, said: str) -> None:
    assert _draft(make([said]), notes=_NOTES[:1])["draft"] == "Tolvang supplies them [1]."
    assert _draft(make([said]), candidates=_MARKED, notes=[_LOST])["draft"] == _MARKED_WORDS


def test_a_report_is_written_section_by_section(make: Make) -> None:
    replies = [
        ("one or two", "Tolvang supplies Orlavane."),
        (
            "[1] Orlavane buys its ceramic bearings from Tolvang. (Annual report)\n\nQUESTION: Question 1?",
            "Tolvang does.",
        ),
        ("[2] It burned in Brevnes. (Annual report)\n\nQUESTION: Question 2?", NOT_FOUND),
    ]
    held = [_HELD[0], Evidence({**_HELD[1], "step": 2})]
    report = _draft(make(replies, length="report"), evidence=held, notes=[*_NOTES, _LOST])
    assert report["draft"] == (
        "## Short answer\n\nTolvang supplies Orlavane [1].\n\n"
        "## Question 1\n\nTolvang does [1].\n\n"
        "## Question 2\n\nIt burned in Brevnes [2]."
    )


def test_a_report_is_finished_with_the_findings_once_the_budget_is_used(make: Make, events: Events) -> None:
    deps = make(["Tolvang [1].", BudgetExhausted("token budget")], length="report")
    assert _draft(deps)["draft"].endswith(
        "## Question 1\n\nTolvang supplies them [1].\n\n## Question 2\n\nIt burned in Brevnes [2]."
    )
    assert only(events, ev.Warned)


def test_without_evidence_nothing_is_asked(make: Make) -> None:
    for notes in ([], [_LOST]):
        update = _draft(make(), evidence=[], notes=notes)
        assert (update["draft"], update["status"]) == ("", "not_found")


def test_without_a_finding_the_answer_is_shown_once_it_is_checked(make: Make, events: Events) -> None:
    doubtful = {"evidence": _DOUBTFUL, "notes": [_LOST]}
    update = _draft(make([("PASSAGES:", "Tolvang supplies them [1].")]), **doubtful)
    assert (update["draft"], update["status"]) == ("Tolvang supplies them [1].", "")
    assert not only(events, ev.AnswerText)
    for reply in ("", BudgetExhausted("time budget")):
        update = _draft(make([reply]), **doubtful)
        assert (update["draft"], update["status"]) == ("", "not_found")


def test_with_no_budget_left_the_findings_are_the_draft(make: Make, events: Events) -> None:
    update = _draft(make([BudgetExhausted("time budget")]))
    assert (update["draft"], update["status"]) == (_FINDINGS, "")
    assert update["stopped_because"] == "time budget"
    assert only(events, ev.Warned)
    before = _draft(make([BudgetExhausted("token budget")]), notes=[])
    assert before["draft"] == "Orlavane buys its ceramic bearings from Tolvang [1]."  # the best passage
    budget = evidence(1, "Budget\nItem | Planned\nBearings | 4,000\nCooling | 900", kind="table")
    before = _draft(make([BudgetExhausted("token budget")]), notes=[], evidence=[budget])
    assert before["draft"] == "Bearings | 4,000 [1]."


def test_a_single_look_up_of_which_the_reader_is_sure_is_answered_without_the_model(make: Make) -> None:
    sure = [note("Tolvang", 1, sentence="Orlavane buys them from Tolvang.", sure=True)]
    update = _draft(make(), route="single", notes=sure)
    assert update["draft"] == "Tolvang – Orlavane buys them from Tolvang [1]."
    for route, profile in (("deep", "lean"), ("single", "seed")):
        written = _draft(make(["Tolvang does [1]."], profile_name=profile), route=route, notes=sure)
        assert written["draft"] == "Tolvang does [1]."


_JUDGING = WordReader(reads=0.01, judges=Support(0.9, 0.05, 0.05))
"""Finds no answer in a text, but takes every sentence for one that its passage supports."""
_AGREEING = WordReader(reads=0.9, judges=Support(0.9, 0.05, 0.05))
_DOUBTING = WordReader(reads=0.01, judges=Support(0.1, 0.1, 0.8))
"""Takes nothing for an answer."""


def test_a_draft_that_does_not_answer_gives_way_to_the_words_that_the_reader_marked(make: Make) -> None:
    said = "Orlavane buys from Tolvang [1]."

    def draft(route: str, reader: WordReader) -> str:
        deps = make([said], reader=reader)
        return str(_draft(deps, route=route, candidates=_MARKED, notes=[_LOST])["draft"])

    assert draft("single", WordReader()) == said
    assert draft("single", _DOUBTING) == _MARKED_WORDS
    assert draft("deep", _DOUBTING) == said
    # A passage about something else has a sure span, too.
    unlikely = [candidate(2, _HELD[1]["text"], spans=_MARKED[0]["spans"], score=0.4)]
    update = _draft(make([said], reader=_DOUBTING), route="single", candidates=unlikely, notes=[_LOST])
    assert update["draft"] == said
    # Nor is the model asked where the user has the answer rewritten.
    update = _draft(make(reader=_AGREEING), approval="rewrite", candidates=_MARKED, notes=[_LOST])
    assert update["draft"] == _MARKED_WORDS


def test_a_draft_that_the_passages_refute_gives_way_to_the_words_that_the_reader_marked(make: Make) -> None:
    refuting = WordReader(reads=0.9, supports=Support(0.35, 0.6, 0.05))

    def draft(route: str, **fields: Any) -> str:
        deps = make(["Orlavane buys from Tolvang [1]."], reader=refuting)
        return str(_draft(deps, route=route, notes=[_LOST], **fields)["draft"])

    assert draft("single", candidates=_MARKED) == _MARKED_WORDS
    assert draft("single") == draft("deep", candidates=_MARKED) == "Orlavane buys from Tolvang [1]."


def test_a_draft_with_the_marked_words_that_tells_a_figure_more_is_kept(make: Make) -> None:
    def draft(said: str) -> str:
        update = _draft(make([said], reader=_DOUBTING), route="single", candidates=_MARKED, notes=[_LOST])
        return str(update["draft"])

    two_things = "It burned in Brevnes and cost 40 million euros [2]."
    assert draft(two_things) == two_things
    for less in ("It burned in Brevnes [2].", "It cost 40 million euros [2]."):
        assert draft(less) == _MARKED_WORDS


def test_an_answer_is_rewritten_from_findings_that_are_likely_answers(make: Make) -> None:
    # A quotation is supported by its passage, whatever was asked.
    for reader, draft in ((_AGREEING, _FINDINGS), (_JUDGING, ""), (_DOUBTING, "")):
        assert _draft(make(reader=reader), approval="rewrite")["draft"] == draft


# --- a model that was taught -------------------------------------------------------------------------


_MARKED = [candidate(2, _HELD[1]["text"], spans=[span("Brevnes", 0.6, "It burned in Brevnes.")])]
_MARKED_WORDS = "Brevnes – It burned in Brevnes [2]."


def test_a_taught_models_refusal_counts_if_the_reader_has_no_answer_either(make: Make) -> None:
    refused = {"route": "single", "notes": [_LOST], "candidates": _MARKED}
    deps = make([NOT_FOUND, "It burned."], taught=True, reader=_DOUBTING)
    update = _draft(deps, **refused)
    assert (abstains(update["draft"]), update["status"]) == (True, "")
    assert isinstance(deps.session.chat, ScriptedChat)
    first, second = deps.session.chat.calls
    system, asked = first.messages
    assert system.content == prompts.TAUGHT, "asked as it was taught"
    assert asked.content.endswith(f"\n\n{prompts.question(state()['question'])}")
    assert second.messages == first.messages
    assert [call.options and call.options.unlike for call in (first, second)] == ["", NOT_FOUND]
    assert _draft(make([NOT_FOUND]), **refused)["draft"] == _MARKED_WORDS, "another model is not believed"
    sure = [
        candidate(2, _HELD[1]["text"], spans=[span("Brevnes", 0.8, "It burned in Brevnes.")], score=0.8)
    ]
    deps = make([NOT_FOUND, "It burned."], taught=True, reader=_DOUBTING)
    update = _draft(deps, **{**refused, "candidates": sure})
    assert (update["draft"], update["status"]) == (_MARKED_WORDS, "overruled"), "the reader is all but sure"


@pytest.mark.parametrize(
    ("question", "reply", "judged", "draft"),
    [
        ("Who supplies the bearings?", "Tolvang does.", "", "Tolvang does [1]."),
        ("Who supplies the bearings?", "Tolvang does, from 77 plants.", "", NOT_FOUND),  # in no source
        ("Wer liefert die keramischen Lager?", "Tolvang does.", "Tolvang.", "Tolvang does [1]."),
        ("Wer liefert die keramischen Lager?", "No idea.", "", NOT_FOUND),  # no answer by the reader
        ("Wer liefert die keramischen Lager?", "Tolvang does.", NOT_FOUND, NOT_FOUND),  # by the model
    ],
)
def test_a_refusal_gives_way_to_an_answer_that_the_reader_takes_for_one(
    make: Make, events: Events, question: str, reply: str, judged: str, draft: str
) -> None:
    replies = [("QUESTION:", NOT_FOUND), ("QUESTION:", reply)]
    replies += [(reply, judged)] if judged else []
    deps = make(replies, taught=True, reader=WordReader(reads=0.9))
    update = _draft(deps, question=question, route="single", notes=[_LOST])
    assert (update["draft"], update["status"]) == (draft, "" if draft == NOT_FOUND else "overruled")
    assert not only(events, ev.AnswerText), "nothing is shown that may be withdrawn"


_BOTH = ("[1] Orlavane", "Tolvang supplies Orlavane.")


@pytest.mark.parametrize(
    ("score", "replies", "draft"),
    [
        (0.9, [("PASSAGES:\n[2] It", "It burned in Brevnes.")], "It burned in Brevnes"),
        (0.9, [("PASSAGES:\n[2] It", "It burned."), _BOTH], "Tolvang supplies Orlavane"),  # not as marked
        (0.9, [("PASSAGES:\n[2] It", "Brevnes is an old town."), _BOTH], "Tolvang supplies Orlavane"),
        (0.9, [("PASSAGES:\n[2] It", NOT_FOUND), _BOTH], "Tolvang supplies Orlavane"),
        (0.4, [_BOTH], "Tolvang supplies Orlavane"),
    ],
)
def test_the_best_passage_alone_is_enough_where_the_reader_agrees(
    make: Make, events: Events, score: float, replies: list[Scripted], draft: str
) -> None:
    held = [_DOUBTFUL[0], Evidence({**_HELD[1], "score": score, "section": "Fires"})]
    deps = make(replies, taught=True, reader=WordReader())
    update = _draft(deps, evidence=held, candidates=_MARKED, route="single", notes=[_LOST])
    assert update["draft"].startswith(draft)
    shown = "".join(event.text for event in only(events, ev.AnswerText))
    assert shown.startswith(draft) == (score > LIKELY), "and nothing that is withdrawn"
    assert not set("[](") & set(shown), "as it was written, without marks"


def _in_parts(make: Make, replies: Sequence[Scripted], reader: Reader = _JUDGING, **changes: Any) -> str:
    """The draft of a model that was taught, for a question of two look-ups."""
    asked = {"evidence": _DOUBTFUL, "plan": _PLAN, "route": "deep", **changes}
    return str(_draft(make(replies, taught=True, reader=reader), **asked)["draft"])


def test_a_look_up_that_the_answer_leaves_out_is_answered_from_the_same_passages(make: Make) -> None:
    plan = [*_PLAN, step("For how long did it stop?")]
    answers = [
        ("QUESTION: Who supplies", "Tolvang does."),
        ("QUESTION: Question 1?", "Tolvang does."),  # which the draft says already
        ("QUESTION: Question 2?", "It burned."),
        ("QUESTION: For how long", NOT_FOUND),
    ]
    deps = make(answers, taught=True, reader=_JUDGING)
    held = [Evidence({**item, "step": 1}) for item in _DOUBTFUL]
    draft = _draft(deps, evidence=held, plan=plan, route="deep")["draft"]
    assert draft == "Tolvang does [1]. It burned [2]."
    assert isinstance(deps.session.chat, ScriptedChat)
    beginnings = {call.messages[1].content.partition("QUESTION")[0] for call in deps.session.chat.calls}
    assert len(beginnings) == 1, "the model has read them already"


def test_a_look_up_is_answered_from_its_own_passages_where_the_draft_had_others(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answering, "MOST_PASSAGES", 1)
    held = [_DOUBTFUL[0], Evidence({**_DOUBTFUL[1], "step": 2, "score": 0.0})]
    replies = ["Tolvang does.", "Tolvang does.", NOT_FOUND, "It burned."]
    assert _in_parts(make, replies, evidence=held) == "Tolvang does [1]. It burned [2]."


def test_where_the_whole_question_is_refused_its_look_ups_are_answered(make: Make) -> None:
    answers = [
        ("QUESTION: Who supplies", NOT_FOUND),
        ("QUESTION: Question 1?", "Tolvang does."),
        ("QUESTION: Question 2?", NOT_FOUND),
    ]
    assert _in_parts(make, answers, notes=[_NOTES[0], _LOST]) == "Tolvang does [1]."


def test_what_the_reader_does_not_take_for_an_answer_is_not_added(make: Make) -> None:
    replies = ["Tolvang does.", "Tolvang does.", "It burned."]
    assert _in_parts(make, replies, _DOUBTING) == "Tolvang does [1]."


class _OneFact(WordReader):
    """Supports no sentence that joins two facts, as the boxed reader hardly does."""

    def support(self, pairs: Sequence[tuple[str, str]]) -> list[Support]:
        joined = Support(0.1, 0.1, 0.8)
        return [joined if " and " in text else Support(0.9, 0.05, 0.05) for text, _ in pairs]


_COSTS = "What is the cost of the {} one?"


def _of_two(make: Make, notes: list[Note], second: str, *replies: str) -> str:
    """What becomes of a draft about two look-ups, of which the first is answered."""
    held = [evidence(1, "The new one costs 44."), evidence(2, second)]
    draft, reply = replies
    plan = [step(note["question"]) for note in notes]
    texts = [draft, "The new one costs 44.", reply]
    return _in_parts(make, texts, _OneFact(reads=0.9), evidence=held, notes=notes, plan=plan)


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        ("The old one costs 38.", "The new one costs 44 [1]. The old one costs 38 [2]."),
        ("It costs 38 and more.", "The new one costs 44 [1]. 38 is what the old one costs [2]."),
        ("It is cheaper.", "The new one costs 44 and the old one 38 [1][2]."),  # that would lose a figure
    ],
)
def test_an_unsupported_sentence_is_written_by_look_up(make: Make, second: str, expected: str) -> None:
    notes = [
        note("44", 1, question=_COSTS.format("new")),
        note("38", 2, question=_COSTS.format("old"), step=2, sentence="38 is what the old one costs."),
    ]
    assert _of_two(
        make, notes, "The old one costs 38.", "The new one costs 44 and the old one 38.", second
    ) == (expected)


def test_a_sentence_stays_where_a_look_up_has_no_sentence_of_its_own(make: Make) -> None:
    notes = [note("44", 1, question=_COSTS.format("new")), note("", question="Of what is it?", step=2)]
    draft = "The new one costs 44 and the old one is of beta3."
    written = _of_two(make, notes, "The old one is of beta3.", draft, NOT_FOUND)
    assert written.startswith(draft.rstrip("."))


def test_who_wants_the_answer_now_does_not_wait_for_look_ups_that_it_leaves_out(make: Make) -> None:
    assert _in_parts(make, ["Tolvang does."], stopped_because=ANSWER_NOW) == "Tolvang does [1]."


# --- what the question found by itself --------------------------------------------------------------

_SENTENCE = "Sundrell insured the plant."


def _looked(passage_id: int, score: float, probability: float = 0.0) -> Candidate:
    spans = [span("Sundrell", probability, _SENTENCE)] if probability else []
    return candidate(passage_id, _SENTENCE, score=score, spans=spans)


def test_what_the_look_found_is_kept_beside_what_the_steps_found(make: Make, events: Events) -> None:
    deps = make([(f"{_SENTENCE} [3]", "Sundrell did [3], and Tolvang [1].")])
    looked = [_looked(30, 0.9, 0.95)]
    update = _draft(deps, route="deep", notes=_NOTES[:1], looked=looked, notebook=["QUESTION"])
    kept = [(item["number"], item["passage_id"]) for item in update["evidence"]]
    assert kept == [(1, 1), (2, 2), (3, 30)]
    assert [one["cites"] for one in update["notes"]] == [[3], [1]]
    assert f"[3] {_SENTENCE}" in update["notebook"][-1]
    (event,) = only(events, ev.EvidenceKept)
    assert [item["number"] for item in event.fresh] == [3]


def test_an_unsure_look_is_evidence_and_no_finding(make: Make) -> None:
    looked = [_looked(30, 0.9, 0.3), _looked(32, 0.8), _looked(33, 0.7), _looked(31, 0.04)]
    update = _draft(make(["Tolvang [1]."]), route="deep", notes=_NOTES[:1], looked=looked)
    assert [item["passage_id"] for item in update["evidence"]] == [1, 2, 30, 32, 33]
    assert update["notes"] == _NOTES[:1]


def test_what_a_step_kept_is_not_kept_twice_and_is_read_whole(make: Make, events: Events) -> None:
    deps = make(["Tolvang [1]."])
    update = _draft(deps, route="deep", notes=_NOTES[:1], looked=[_looked(1, 0.9, 0.95)])
    assert (update["evidence"][1:], update["notes"]) == (_HELD[1:], _NOTES[:1])
    assert (update["evidence"][0]["number"], update["evidence"][0]["excerpt"]) == (1, _SENTENCE)
    assert not only(events, ev.EvidenceKept)


# --- which passages a model's sentences come from -----------------------------------------------------

_FIRE = evidence(1, "A fire at the Brevnes plant halted all production for seven weeks.")
_RENT_2023 = evidence(2, "The rent of the Brevnes plant was 1,200 euros in 2023, and the roof was mended.")
_RENT_2024 = evidence(3, "From 2024 on the rent is 1,350 euros.")
_LEASE = evidence(4, "Die Miete beträgt 900 Euro im Monat, die Laufzeit zwei Jahre.")

_ALL = [_FIRE, _RENT_2023, _RENT_2024, _LEASE]


@pytest.mark.parametrize(
    ("cited", "held"),
    [
        ("A fire halted production [1].", _ALL),
        ("The rent of the Brevnes plant is 1,350 euros [3].", _ALL),
        ("It rose from 1,200 to 1,350 euros [2][3].", _ALL),
        ("Die Laufzeit sind zwei Jahre [4].", _ALL),  # a language that the reader does not know
        ("- A fire halted production [1].\n- The roof was mended [2].", _ALL),
        (  # the one that holds the name
            "All production at the Ostrand plant halted for weeks [2].",
            [
                _FIRE,
                evidence(2, "Production at the plant in Ostrand halted in March.", document="b.md"),
            ],
        ),
        (  # the one that holds a small number
            "Halted production at the Brevnes plant for seven weeks [1].",
            [evidence(2, "Halted production at the Brevnes plant costs five weeks of stock."), _FIRE],
        ),
        (  # the fewest that hold all numbers
            "A new bracket cost 44 euros in 2024 and 38 in 2023 [2][3].",
            [
                evidence(1, "In 2024 and 2023 a new bracket cost more than before."),
                evidence(2, "A new bracket costs 44 euros in 2024."),
                evidence(3, "A new bracket costs 38 euros in 2023."),
            ],
        ),
    ],
)
def test_a_sentence_cites_what_it_comes_from(cited: str, held: list[Evidence]) -> None:
    draft = re.sub(r" ?\[\d\]", "", cited)
    assert cite(WordReader(), "What happened?", draft, held) == cited


def test_what_cites_already_is_left_alone() -> None:
    draft = "A fire halted production [3]."
    assert cite(WordReader(), "What happened?", draft, _ALL) == draft


@pytest.mark.parametrize(
    ("answer", "left"), [("It costs 44 euros.", [2]), ("It costs 44 euros, once 38.", [])]
)
def test_a_look_up_whose_figures_an_answer_lacks_is_left_out(answer: str, left: list[int]) -> None:
    notes = [
        note("44 euros", 1, step=1, question="What does it cost now?"),
        note("38 euros", 2, step=2, question="What did it cost before?"),
    ]
    reader = WordReader(reads=0.9)
    assert [open_note["step"] for open_note in left_out(reader, notes, [], answer)] == left
