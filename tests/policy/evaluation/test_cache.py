"""A prompt is asked once: hits give everything back, any change of the prompt or its options is a miss."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from models.protocols import ChatOptions, GenerationCancelled, Message, Reply, Usage
from policy.evaluation import cache
from policy.evaluation.cache import CachedChat, clock
from policy.evaluation.rows import BadLines
from tests.scripted import Scripted, ScriptedChat

ASKED = [Message("system", "Be short."), Message("user", "Who supplies the bearings?")]
OPTIONS = ChatOptions(max_tokens=16)
THOUGHT = Reply("Tolvang Ceramics", Usage(), "length", "It says so.")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "replies.jsonl"


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A clock that goes on when it is told to."""
    told = SimpleNamespace(seconds=100.0)
    monkeypatch.setattr(cache, "time", SimpleNamespace(monotonic=lambda: told.seconds))
    return told


def _asked(file: Path, replies: Sequence[Scripted], options: ChatOptions = OPTIONS) -> Reply:
    with ScriptedChat(replies) as chat:
        return CachedChat(chat, file).generate(ASKED, options)


def test_a_reply_is_given_again_by_another_process(file: Path) -> None:
    first = _asked(file, [THOUGHT])
    second = _asked(file, [])
    assert second == first
    assert second.usage.evaluated > 0
    assert (second.finish_reason, second.reasoning) == ("length", "It says so.")


def test_a_hit_streams_its_whole_text_at_once(file: Path) -> None:
    pieces: list[str] = []
    streaming = replace(OPTIONS, on_text=pieces.append)
    _asked(file, [THOUGHT], streaming)
    assert pieces == ["Tolvang ", "Ceramics"]
    pieces.clear()
    _asked(file, [], streaming)
    assert pieces == ["Tolvang Ceramics"]


@pytest.mark.parametrize(
    "changed",
    [
        {"max_tokens": 17},
        {"schema": {"type": "object", "properties": {"a": {}, "b": {}}}},
    ],
)
def test_any_changed_option_is_a_miss(file: Path, changed: dict[str, Any]) -> None:
    _asked(file, [THOUGHT])
    assert _asked(file, ["another"], replace(OPTIONS, **changed)).text == "another"


def test_the_order_of_a_schemas_fields_is_part_of_it(file: Path) -> None:
    _asked(file, ["one"], replace(OPTIONS, schema={"properties": {"a": {}, "b": {}}}))
    another = replace(OPTIONS, schema={"properties": {"b": {}, "a": {}}})
    assert _asked(file, ["two"], another).text == "two"


def test_another_prompt_role_or_model_is_a_miss(file: Path) -> None:
    _asked(file, [THOUGHT])
    with ScriptedChat(["another prompt", "another role"]) as chat:
        cached = CachedChat(chat, file)
        assert cached.generate([*ASKED, Message("user", "?")], OPTIONS).text == "another prompt"
        assert cached.generate([ASKED[0], Message("assistant", ASKED[1].content)], OPTIONS).text

    class Larger(ScriptedChat):
        @property
        def name(self) -> str:
            return "larger"

    with Larger(["another model"]) as larger:
        assert CachedChat(larger, file).generate(ASKED, OPTIONS).text == "another model"


def test_what_is_drawn_by_chance_is_drawn_again(file: Path) -> None:
    warm = replace(OPTIONS, temperature=0.7)
    with ScriptedChat(["one", "two"]) as chat:
        cached = CachedChat(chat, file)
        assert [cached.generate(ASKED, warm).text for _ in range(2)] == ["one", "two"]
    assert not file.exists()


def test_a_choice_is_kept_for_its_labels_in_their_order(file: Path) -> None:
    with ScriptedChat([{"A": 3.0, "B": 1.0}, {"A": 3.0, "B": 1.0}]) as chat:
        cached = CachedChat(chat, file)
        first = cached.choose(ASKED, ["A", "B"])
        assert cached.choose(ASKED, ["B", "A"]).probabilities == (0.25, 0.75)
    with ScriptedChat([]) as chat:
        assert CachedChat(chat, file).choose(ASKED, ["A", "B"]) == first
    assert first.probabilities == (0.75, 0.25)


def test_a_line_that_was_cut_off_is_asked_again(file: Path) -> None:
    _asked(file, [THOUGHT])
    _asked(file, ["cut"], replace(OPTIONS, max_tokens=1))
    file.write_bytes(file.read_bytes()[:-9])
    assert _asked(file, []).text == THOUGHT.text
    assert len(file.read_bytes().splitlines()) == 1
    assert _asked(file, ["again"], replace(OPTIONS, max_tokens=1)).text == "again"
    assert _asked(file, [], replace(OPTIONS, max_tokens=1)).text == "again"


@pytest.mark.parametrize(
    "damaged",
    [
        "{",
        "[]",
        "{}",
        '{"key": "k", "seconds": 1, "usage": {}}',
        '{"key": "k", "seconds": "1", "usage": {}}',
    ],
)
def test_a_damaged_line_is_told_with_its_number(file: Path, damaged: str) -> None:
    _asked(file, [THOUGHT])
    file.write_text(f"{file.read_text('utf-8')}{damaged}\n", "utf-8")
    with pytest.raises(BadLines, match=r"Line 2 of replies\.jsonl is damaged") as caught:
        CachedChat(ScriptedChat([]), file)
    assert "made again" in caught.value.way_out


def test_the_clock_counts_what_a_reply_took_when_it_was_made(file: Path, now: SimpleNamespace) -> None:
    def slow(_messages: Sequence[Message]) -> str:
        now.seconds += 7.5
        return "Tolvang Ceramics"

    with ScriptedChat([slow]) as chat:
        cached = CachedChat(chat, file)
        began = clock(cached)
        cached.generate(ASKED, OPTIONS)
        assert (clock(cached) - began, cached.spared) == (7.5, 0.0)
    with ScriptedChat([slow]) as chat:
        cached = CachedChat(chat, file)
        began = clock(cached)
        cached.generate(ASKED, OPTIONS)
        assert (clock(cached) - began, cached.spared) == (7.5, 7.5)
        cached.generate(ASKED, replace(OPTIONS, max_tokens=1))  # a miss takes its own time
        now.seconds += 2
        assert (clock(cached) - began, cached.spared) == (17.0, 7.5)
        assert clock(chat) == now.seconds


def test_what_fetching_took_is_not_spared(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _asked(file, [THOUGHT])
    line = json.loads(file.read_text("utf-8"))
    file.write_text(json.dumps({**line, "seconds": 9.0}) + "\n", "utf-8")
    ticks = iter([5.0, 5.5])
    monkeypatch.setattr(cache, "time", SimpleNamespace(monotonic=lambda: next(ticks)))
    with ScriptedChat([]) as chat:
        cached = CachedChat(chat, file)
        cached.generate(ASKED, OPTIONS)
        assert cached.spared == 8.5


def test_a_cancelled_call_gets_no_reply_from_disk_either(file: Path) -> None:
    _asked(file, [THOUGHT])
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(GenerationCancelled):
        _asked(file, [], replace(OPTIONS, cancel=cancel))


def test_a_call_that_fails_leaves_nothing(file: Path) -> None:
    with pytest.raises(RuntimeError):
        _asked(file, [RuntimeError("out of memory")])
    assert not file.exists()


def test_the_rest_is_the_models(file: Path) -> None:
    chat = ScriptedChat([], context_tokens=77)
    cached = CachedChat(chat, file)
    assert (cached.name, cached.context_tokens, cached.count_tokens("two words")) == ("scripted", 77, 2)
    cached.close()
