"""Runs as OpenTelemetry spans: true times, a valid OTLP file, and nothing of what was asked or read."""

from __future__ import annotations

import base64
import json
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from agent import events as ev
from tests.tui import stored
from tests.tui.conftest import Run
from traces.runs import Runs
from tui import telemetry
from tui.assemble import open_store

Span = dict[str, Any]


@pytest.fixture
def line() -> str:
    return _exported(stored.store_run(stored.everything(), session="0123456789ab"))


def test_the_run_holds_its_nodes_and_a_node_its_model_calls(line: str) -> None:
    spans = _spans(line)
    root = spans[0]
    assert root["name"] == "invoke_agent deepthink"
    assert "parentSpanId" not in root
    assert [s["name"] for s in _children(spans, root)] == ["route", "plan", "decide", "synthesise"]
    (route,) = _named(spans, "route")
    (call,) = _children(spans, route)
    assert call["name"] == "chat llama.cpp:small"
    assert {s["traceId"] for s in spans} == {root["traceId"]}


def test_times_are_those_of_the_run() -> None:
    run_id = stored.store_run(stored.everything())
    began = Runs(open_store()).find(run_id).started.replace(tzinfo=UTC).timestamp()
    spans = _spans(_exported(run_id))

    def seconds(name: str) -> list[list[float]]:
        ends = ("startTimeUnixNano", "endTimeUnixNano")
        return [[round(int(span[end]) / 1e9 - began, 3) for end in ends] for span in _named(spans, name)]

    assert seconds("invoke_agent deepthink") == [[0.0, 3.1]]
    assert seconds("route") == [[0.1, 0.4]]
    assert seconds("chat llama.cpp:small") == [[0.1, 0.2], [2.15, 2.5]]


def test_attributes_follow_the_conventions(line: str) -> None:
    spans = _spans(line)
    root = _attributes(spans[0])
    assert root["gen_ai.operation.name"] == "invoke_agent"
    assert root["gen_ai.conversation.id"] == "0123456789ab"
    assert root["gen_ai.usage.input_tokens"] == 360
    assert (root["deepthink.status"], root["deepthink.route"]) == ("answered", "deep")
    assert (root["deepthink.grounded"], root["deepthink.share"]) == (False, 0.5)
    call = _attributes(_named(spans, "chat llama.cpp:small")[1])
    assert call == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "llama.cpp",
        "gen_ai.request.model": "llama.cpp:small",
        "gen_ai.usage.input_tokens": 300,
        "gen_ai.usage.cache_read.input_tokens": 100,
        "gen_ai.usage.output_tokens": 40,
        "deepthink.purpose": "answer",
    }
    (decide,) = _named(spans, "decide")
    (told,) = decide["events"]
    assert told["name"] == "deepthink.decided"
    assert _attributes(told)["deepthink.p.finish"] == 0.7
    assert [
        _attributes(e)["deepthink.rung"] for e in spans[0]["events"] if e["name"].endswith("searched")
    ] == [
        "first",
        "first",
        "web",
    ]


def test_nothing_that_was_asked_read_or_answered_is_in_it(line: str) -> None:
    for word in (
        "supplies",
        "Tolvang",
        "gotcha",
        "example.org",
        "supplier.md",
        "Which year",
        "the last one",
    ):
        assert word not in line


def test_a_failed_run_is_an_error_without_its_message() -> None:
    line = _exported(stored.store_run(status="failed"))
    (root,) = _spans(line)
    assert root["status"] == {"code": 2}
    assert "/home/me" not in line


def test_a_run_without_an_end_can_be_written_and_says_so() -> None:
    events = [(0.1, ev.NodeStarted("plan", 0)), (0.5, ev.Warned("slow"))]
    root, plan = _spans(_exported(stored.store_run(events, status="running")))
    assert _attributes(root)["deepthink.status"] == "running"
    assert plan["endTimeUnixNano"] == root["endTimeUnixNano"]
    assert _attributes(plan) == {"deepthink.cut_off": True}


def test_each_line_is_otlp(line: str) -> None:
    """Read back through the protocol's own definition, ids turned into what protobuf's JSON has."""
    from google.protobuf.json_format import ParseDict  # type: ignore[import-untyped] # has no stubs
    from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

    assert line.count("\n") == 1
    data = json.loads(line)
    for span in _spans(line):
        assert (len(span["traceId"]), len(span["spanId"])) == (32, 16)
        assert isinstance(span["kind"], int)
        assert isinstance(span["startTimeUnixNano"], str)
    for span in data["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        for name in ("traceId", "spanId", "parentSpanId"):
            if name in span:
                span[name] = base64.b64encode(bytes.fromhex(span[name])).decode()
    read = ParseDict(data, TracesData())
    assert len(read.resource_spans[0].scope_spans[0].spans) == len(_spans(line))


def test_a_file_gathers_runs_and_the_same_run_is_the_same_trace(tmp_path: Path) -> None:
    runs = Runs(open_store())
    file = tmp_path / "traces.jsonl"
    ids = [stored.store_run(stored.everything()), stored.store_run()]
    for run_id in (*ids, ids[0]):
        telemetry.write(runs.find(run_id), runs.events(run_id), file)
    first, second, again = file.read_text(encoding="utf-8").splitlines()
    assert first == again
    assert _spans(first)[0]["traceId"] != _spans(second)[0]["traceId"]


def test_export_writes_it(deepthink: Run, tmp_path: Path) -> None:
    run_id = stored.store_run(stored.everything())
    line = _exported(run_id)
    assert deepthink("runs", "export", run_id, "-f", "otlp").out == line
    file = tmp_path / "run.jsonl"
    assert deepthink("runs", "export", "-f", "otlp", "-o", str(file)).code == 0
    assert file.read_text(encoding="utf-8") == line


def _exported(run_id: str) -> str:
    runs = Runs(open_store())
    return telemetry.to_otlp(runs.find(run_id), runs.events(run_id))


def _spans(line: str) -> list[Span]:
    (resource,) = json.loads(line)["resourceSpans"]
    (scope,) = resource["scopeSpans"]
    spans: list[Span] = scope["spans"]
    return spans


def _named(spans: list[Span], name: str) -> list[Span]:
    return [span for span in spans if span["name"] == name]


def _children(spans: list[Span], parent: Span) -> list[Span]:
    return [span for span in spans if span.get("parentSpanId") == parent["spanId"]]


def _attributes(span: Span) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for attribute in span["attributes"]:
        ((kind, value),) = attribute["value"].items()
        found[attribute["key"]] = int(value) if kind == "intValue" else value
    return found
