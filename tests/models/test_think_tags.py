"""Splitting thoughts from answers, however the text is cut into pieces."""

from __future__ import annotations

import pytest

from models.think_tags import ThinkSplitter, answer_or_thought, opens_thinking

CASES = {
    "none": ("Paris is the capital.", "Paris is the capital.", ""),
    "plain": ("<think>\nHm, France.\n</think>\n\nParis.", "Paris.", "Hm, France."),
    "other names": ("<Reasoning>a</Reasoning>b", "b", "a"),
    "before and after": ("First.\n<think>wait</think>\nSecond.", "First.\nSecond.", "wait"),
    "twice": ("<think>a</think>b\n<think>c</think>d", "b\nd", "ac"),
    "unclosed": ("<think>I should look at", "", "I should look at"),
    "mentioned": ("Use the <think> tag, or </think>.", "Use the <think> tag, or </think>.", ""),
    "closed but never opened": ("Hm, France.\n</think>\n\nParis.", "Paris.", "Hm, France."),
    "an unrelated tag": ("<table><tr>1 < 2</tr>", "<table><tr>1 < 2</tr>", ""),
    "cut inside a tag": ("Yes.\n<thi", "Yes.\n<thi", ""),
    "blank before": ("\n  <think>a</think> b", "b", "a"),
    "a tag inside a thought": ("<think>if a </b> then</think>c", "c", "if a </b> then"),
    "empty thought": ("<think>\n\n</think>\n\nParis.", "Paris.", ""),
}


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("case", CASES)
def test_splits_the_same_however_it_is_cut(case: str, size: int) -> None:
    text, answer, reasoning = CASES[case]
    splitter = ThinkSplitter()
    handed = [splitter.feed(text[start : start + size]) for start in range(0, len(text), size)]
    handed.append(splitter.finish())
    assert splitter.answer == answer
    assert splitter.reasoning == reasoning
    if case != "closed but never opened":  # its first words were handed out before anyone could know
        assert "".join(handed) == answer
        assert not any("think>" in piece for piece in handed if "think>" not in answer)


def test_starts_inside_where_the_prompt_opened_the_tag() -> None:
    splitter = ThinkSplitter(inside=True)
    assert splitter.feed("Hm, France.</th") == ""
    assert splitter.feed("ink>\n\nParis.") == "Paris."
    assert splitter.finish() == ""
    assert splitter.reasoning == "Hm, France."


def test_text_is_held_back_only_while_it_may_be_a_tag() -> None:
    splitter = ThinkSplitter()
    assert splitter.feed("1 <") == "1 "
    assert splitter.feed(" 2") == "< 2"


def test_knows_a_prompt_that_ends_inside_a_thought() -> None:
    assert opens_thinking("<|im_start|>assistant\n<think>\n")
    assert not opens_thinking("<|im_start|>assistant\n<think>\n\n</think>\n\n")
    assert not opens_thinking("<|im_start|>assistant\n")


def test_the_answer_may_be_only_in_the_reasoning() -> None:
    assert answer_or_thought("", "It is Paris.", finished=True) == "It is Paris."
    assert answer_or_thought(" \n", "It is Paris.", finished=True) == "It is Paris."
    assert answer_or_thought("", "It may be", finished=False) == ""
    assert answer_or_thought("Paris.", "Hm.", finished=True) == "Paris."
    assert answer_or_thought("", "", finished=True) == ""
