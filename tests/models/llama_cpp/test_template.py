"""Chat templates of several families, without a model."""

from __future__ import annotations

import pytest

from models.llama_cpp.chat import ChatTemplate
from models.protocols import Message, ModelError

TALK = [
    Message("system", "Be brief."),
    Message("user", "Hello"),
    Message("assistant", "Hi."),
    Message("user", "Bye"),
]
STRICT = (  # as Gemma's: no system role, turns alternate
    "{{ bos_token }}{% for m in messages %}"
    "{% if m['role'] == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
    "{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('alternate') }}{% endif %}"
    "<{{ m['role'] }}>{{ m['content'] }}{% endfor %}"
    "{% if add_generation_prompt %}<model>{% endif %}"
)
SWITCH = (  # as Qwen3's
    "{{ messages[-1]['content'] }}|"
    "{% if enable_thinking is defined and enable_thinking is false %}<think></think>{% endif %}"
)


def test_chatml_where_the_file_carries_no_template() -> None:
    prompt = ChatTemplate(None).render(TALK[:2])
    assert prompt == (
        "<|im_start|>system\nBe brief.<|im_end|>\n"
        "<|im_start|>user\nHello<|im_end|>\n"
        "<|im_start|>assistant\n"
    )


def test_a_template_without_a_system_role_gets_it_told_by_the_user() -> None:
    prompt = ChatTemplate(STRICT, begin="<s>").render(TALK)
    assert prompt == "<s><user>Be brief.\n\nHello<assistant>Hi.<user>Bye<model>"


@pytest.mark.parametrize(
    ("template", "told"),
    [
        ("{{ raise_exception('never') }}", "never"),
        ("{% for m in messages %}{{ m.content }", "cannot be read"),
    ],
)
def test_a_template_that_accepts_nothing_or_is_none(template: str, told: str) -> None:
    with pytest.raises(ModelError, match=told) as caught:
        ChatTemplate(template).render(TALK)
    assert caught.value.way_out


@pytest.mark.parametrize(("may_think", "end"), [(True, "Bye|"), (False, "Bye|<think></think>")])
def test_thinking_is_switched_where_there_is_a_switch(may_think: bool, end: str) -> None:
    assert ChatTemplate(SWITCH).render(TALK, may_think=may_think) == end
