"""A run as OpenTelemetry spans, in a local file and nowhere else.

The run is the root span, its nodes are the root's children, and each model call is a child of the node
that made it; what else happened (searches, grades, decisions, …) is an event of the node's span. The
names follow OpenTelemetry's semantic conventions for generative AI where there is one, ``deepthink.*``
where there is none. What was asked, read and answered is private and stays out: the spans hold numbers,
and the names of models, nodes, grades and the like.

Nothing here listens to a run: spans are made from its stored events, so a run of last week can be
exported as well as the one that just ended.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent import events as ev
from traces.runs import Run, StoredEvent
from traces.typed_path import expanded_path
from tui.outcome import events_of

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

Value = str | bool | int | float | list[str]

_AGENT = "deepthink"
_IDS = ("traceId", "spanId", "parentSpanId")
_IN_PROCESS = "llama.cpp"


@dataclass(slots=True)
class _Span:
    """A span about to be made; times are seconds since the run began."""

    name: str
    key: str  # unique within the run
    parent: _Span | None
    start: float
    end: float
    attributes: dict[str, Value]
    events: list[tuple[str, float, dict[str, Value]]] = field(default_factory=list)
    local: bool = True  # False for a model that another process serves
    failed: bool = False


def write(run: Run, stored: Sequence[StoredEvent], path: Path) -> None:
    """Append a run to ``path`` as one line of OTLP JSON, the OTLP file exporter's format.

    The ids of trace and spans follow from the run's id: a run that is written twice is the same trace.

    Args:
        run: The run as it is stored (`traces.runs.Runs.find`), finished or not.
        stored: Its events (`traces.runs.Runs.events`).
        path: The file; made if it is missing. Its folder has to exist.

    Raises:
        OSError: it cannot be written.
    """
    with expanded_path(path).open("a", encoding="utf-8") as file:
        file.write(to_otlp(run, stored))


def to_otlp(run: Run, stored: Sequence[StoredEvent]) -> str:
    """A run as one line of OTLP JSON (``{"resourceSpans": […]}``), newline included."""
    from google.protobuf.json_format import MessageToDict  # type: ignore[import-untyped] # has no stubs
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

    spans = _spans(run, [entry.elapsed for entry in stored], events_of(stored))
    # OTLP/JSON is not protobuf's own JSON: enums are numbers, and ids are hex instead of base64.
    message = MessageToDict(encode_spans(_readable(run, spans)), use_integers_for_enums=True)
    for resource in message["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                span.update({name: _hex(span[name]) for name in _IDS if name in span})
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")) + "\n"


def _hex(encoded: str) -> str:
    return base64.b64decode(encoded).hex()


def _spans(run: Run, elapsed: Sequence[float], events: Sequence[ev.Event]) -> list[_Span]:
    """The run, its nodes and the model calls, in the order they began to be recorded.

    Events are stored node by node, also where nodes run side by side: what stands between a node's
    beginning and its end is that node's.
    """
    root = _Span(
        f"invoke_agent {_AGENT}", "run", None, 0.0, max(elapsed, default=0.0), _of_run(run, events)
    )
    root.failed = run.status == "failed"
    spans, node = [root], root
    for number, (at, event) in enumerate(zip(elapsed, events, strict=True)):
        told = _told(event)
        match event:
            case ev.NodeStarted():
                # Its end is known if it came to one; a node that was cut off ends with the run.
                node = _Span(event.node, f"node {number}", root, at, root.end, {"deepthink.cut_off": True})
                spans.append(node)
            case ev.NodeFinished() if node is not root:
                node.start, node.end = max(0.0, at - event.seconds), at
                node.attributes = {"deepthink.step": event.step, **_usage(event)}
                node = root
            case ev.ModelCalled():
                spans.append(_call(run, event, at, number, node))
            case _ if told is not None:
                node.events.append((f"{_AGENT}.{event.kind.lower()}", at, told))
            case _:
                pass
    return spans


def _call(run: Run, event: ev.ModelCalled, at: float, number: int, node: _Span) -> _Span:
    attributes: dict[str, Value] = {"gen_ai.operation.name": "chat", **_model(run), **_usage(event)}
    attributes["deepthink.purpose"] = event.purpose
    begun = max(0.0, at - event.seconds)
    local = _provider(run) == _IN_PROCESS
    return _Span(f"chat {run.chat_model}", f"call {number}", node, begun, at, attributes, local=local)


def _of_run(run: Run, events: Sequence[ev.Event]) -> dict[str, Value]:
    attributes: dict[str, Value] = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": _AGENT,
        **_model(run),
        "deepthink.run.id": run.id,
        "deepthink.profile": run.profile,
        "deepthink.decider": run.decider,
        "deepthink.embedder": run.embedder,
        "deepthink.reranker": run.reranker or "none",
        "deepthink.status": run.status,
        "deepthink.model_calls": run.model_calls,
    }
    if run.finished is not None:
        attributes |= _usage(run)
    if run.session:
        attributes["gen_ai.conversation.id"] = run.session
    if run.status == "failed":  # what follows the class may quote anything
        attributes["error.type"] = run.stopped_because.partition(":")[0]
    for event in events:
        match event:
            case ev.Routed():
                attributes |= {"deepthink.route": event.route, "deepthink.route.source": event.source}
            case ev.Answered():
                attributes |= {
                    "deepthink.sentences": len(event.sentences),
                    "deepthink.share": event.share,
                    "deepthink.grounded": event.grounded,
                }
            case _:
                pass
    return attributes


def _told(event: ev.Event) -> dict[str, Value] | None:  # noqa: PLR0911 - one arm per event
    """The attributes of a span event, without any text; None for what is no span event."""
    match event:
        case ev.Resumed():
            return {"deepthink.node": event.node}
        case ev.Planned():
            return {"deepthink.steps": len(event.steps), "deepthink.revision": event.revision}
        case ev.Searched():
            return {
                "deepthink.step": event.step,
                "deepthink.strategy": event.strategy,
                "deepthink.rung": event.rung or "first",
                "deepthink.hits": len(event.hits),
            }
        case ev.Graded():
            counted = {f"deepthink.{name}": event.grades.count(name) for name in sorted(set(event.grades))}
            return {"deepthink.grade": event.grade, "deepthink.grader": event.grader, **counted}
        case ev.Corrected():
            return {"deepthink.rung": event.rung, "deepthink.pages": len(event.pages)}
        case ev.EvidenceKept():
            return {"deepthink.fresh": len(event.fresh), "deepthink.again": len(event.again)}
        case ev.Decided():
            shares = {f"deepthink.p.{name.lower()}": p for name, p in event.probabilities.items()}
            return {"deepthink.action": event.action, "deepthink.source": event.source, **shares}
        case ev.Replied():
            return {"deepthink.about": event.about, "deepthink.by": event.by}
        case ev.Steered():
            return {"deepthink.what": event.what}
        case ev.Contradicted() | ev.Warned():
            return {}
        case _:
            return None


def _usage(spent: Run | ev.NodeFinished | ev.ModelCalled) -> dict[str, Value]:
    # By the conventions, input tokens include those that were read from a cache.
    return {
        "gen_ai.usage.input_tokens": spent.evaluated + spent.reused,
        "gen_ai.usage.cache_read.input_tokens": spent.reused,
        "gen_ai.usage.output_tokens": spent.generated,
    }


def _model(run: Run) -> dict[str, Value]:
    return {"gen_ai.provider.name": _provider(run), "gen_ai.request.model": run.chat_model}


def _provider(run: Run) -> str:
    provider, colon, _model_name = run.chat_model.partition(":")
    return provider if colon else "unknown"


def _readable(run: Run, spans: Sequence[_Span]) -> list[ReadableSpan]:
    """The spans as the SDK has them when they are over.

    They are made directly rather than by a tracer: a tracer would take its sampling, its limits and
    whether it works at all from environment variables that were set for other programs.
    """
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import Event, ReadableSpan
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope
    from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

    began = round(run.started.replace(tzinfo=UTC).timestamp() * 1e6) * 1000
    resource = Resource({"service.name": _AGENT, "service.version": _version()})
    scope = InstrumentationScope(_AGENT, _version())
    trace = _number(run.id, "", 16)

    def moment(seconds: float) -> int:
        return began + round(seconds * 1e9)

    def context(span: _Span) -> SpanContext:
        return SpanContext(trace, _number(run.id, span.key, 8), False, TraceFlags(TraceFlags.SAMPLED))

    def events(told: Sequence[tuple[str, float, Mapping[str, Any]]]) -> list[Event]:
        return [Event(name, attributes, moment(at)) for name, at, attributes in told]

    return [
        ReadableSpan(
            span.name,
            context(span),
            context(span.parent) if span.parent else None,
            resource,
            span.attributes,
            events(span.events),
            kind=SpanKind.INTERNAL if span.local else SpanKind.CLIENT,
            status=Status(StatusCode.ERROR if span.failed else StatusCode.UNSET),
            start_time=moment(span.start),
            end_time=moment(span.end),
            instrumentation_scope=scope,
        )
        for span in spans
    ]


def _number(run_id: str, key: str, size: int) -> int:
    """An id of ``size`` bytes that the same run always gets, never zero in practice."""
    return int.from_bytes(hashlib.sha256(f"{run_id}/{key}".encode()).digest()[:size])


def _version() -> str:
    try:
        return version("deepthink-tui")
    except PackageNotFoundError:
        return "unknown"
