"""Splitting thoughts from answers, however the text is cut into pieces."""

from __future__ import annotations

import pytest

from models.control_tokens import StreamedAnswer, opens_thinking

CASES = {
    "none": ("Paris is the capital.", "Paris is the capital.", ""),
    "plain": ("<think>\nHm, France.\n</think>\n\nParis.", "Paris.", "Hm, France."),
    "other names": ("<Reasoning>a</Reasoning>b", "b", "a"),
    "before and after": ("First.\n<think>wait</think>\nSecond.", "First.\nSecond.", "wait"),
    "twice": ("<think>a</think>b\n<think>c</think>d", "b\nd", "ac"),
    "one after the other": ("<think>a</think> <think>b</think>c", "c", "ab"),
    "unclosed": ("<think>I should look at", "", "I should look at"),
    "mentioned": ("Use the <think> tag, or </think>.", "Use the <think> tag, or </think>.", ""),
    "closed but never opened": ("Hm, France.\n</think>\n\nParis.", "Paris.", "Hm, France."),
    "an unrelated tag": ("<table><tr>1 < 2</tr>", "<table><tr>1 < 2</tr>", ""),
    "cut inside a tag": ("Yes.\n<thi", "Yes.\n<thi", ""),
    "blank before": ("\n  <think>a</think> b", "b", "a"),
    "indented": ("One.\n  <think>a</think>  two", "One.\ntwo", "a"),
    "a tag inside a thought": ("<think>if a </b> then</think>c", "c", "if a </b> then"),
    "empty thought": ("<think>\n\n</think>\n\nParis.", "Paris.", ""),
}


@pytest.mark.parametrize("case", CASES)
def test_splits_the_same_however_it_is_cut(case: str) -> None:
    text, answer, reasoning = CASES[case]
    for size in (1, 2, 3, 7, 1000):
        handed: list[str] = []
        streamed = StreamedAnswer(handed.append)
        for start in range(0, len(text), size):
            streamed.add(text[start : start + size])
        streamed.finish(complete=False)
        assert (streamed.text, streamed.reasoning) == (answer, reasoning), size
        if case != "closed but never opened":  # its first words were handed out before anyone could know
            assert "".join(handed) == answer, size


def test_starts_inside_where_the_prompt_opened_the_tag() -> None:
    handed: list[str] = []
    streamed = StreamedAnswer(handed.append, inside=True)
    for piece in ("Hm, France.</th", "ink>\n\nParis.", " 1 <", " 2"):
        streamed.add(piece)
    assert handed == ["Paris.", " 1 ", "< 2"], "text is held back only while it may be a tag"
    assert streamed.reasoning == "Hm, France."


def test_json_has_no_tags() -> None:
    streamed = StreamedAnswer(tags=False)
    streamed.add('{"a":\n<think>')
    streamed.finish(complete=True)
    assert (streamed.text, streamed.reasoning) == ('{"a":\n<think>', "")


def test_knows_a_prompt_that_ends_inside_a_thought() -> None:
    assert opens_thinking("<|im_start|>assistant\n<think>\n")
    assert not opens_thinking("<|im_start|>assistant\n<think>\n\n</think>\n\n")
    assert not opens_thinking("<|im_start|>assistant\n")


@pytest.mark.parametrize(
    ("text", "reasoning", "complete", "answer"),
    [
        ("", "It is Paris.", True, "It is Paris."),
        (" \n", "It is Paris.", True, "It is Paris."),
        ("<think>It is Paris.", "", True, "It is Paris."),
        ("", "It may be", False, ""),
        ("Paris.", "Hm.", True, "Paris."),
        ("", "", True, ""),
    ],
)
def test_the_answer_may_be_in_the_reasoning(text: str, reasoning: str, complete: bool, answer: str) -> None:
    handed: list[str] = []
    streamed = StreamedAnswer(handed.append)
    streamed.add(text, reasoning)
    streamed.finish(complete=complete)
    assert streamed.text == "".join(handed) == answer
