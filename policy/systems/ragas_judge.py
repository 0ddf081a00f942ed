"""RAGAS's four metrics as the ``ragas`` package computes them, with a local model as the judge.

The package is an option. It asks its judge for answers of a given shape and its embedder for vectors; here
both are this machine's, and nothing is sent anywhere. What the judge writes is constrained to the shape, so
that a small model's answer can be read; whether it is right is another matter.

Es et al. (2024), RAGAS: Automated Evaluation of Retrieval Augmented Generation.
"""

from __future__ import annotations

import math
import os
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any, ClassVar, Final, Literal, TypeAlias, TypeVar

from pydantic import BaseModel

from models.protocols import Chat, ChatOptions, ContextOverflow, Embedder, Message
from models.structured import parse_json
from policy.systems.answers import Answer
from policy.systems.shortening import unmarked
from traces.errors import DeepthinkError

FAITHFULNESS: Final = "faithfulness"
RELEVANCY: Final = "answer relevancy"
PRECISION: Final = "context precision"
RECALL: Final = "context recall"
METRICS: Final = (FAITHFULNESS, RELEVANCY, PRECISION, RECALL)
"""The share of the answer's statements that the passages support; how like the question is to the one that
the answer seems to answer; whether useful passages come first; the share of the gold answer's statements
that the passages hold."""

_TOKENS: Final = 1024  # of a judgement, as the package has it
_WAY_OUT: Final = "Install it: pip install 'deepthink-tui[ragas]'"

_Shape = TypeVar("_Shape", bound=BaseModel)
Metric: TypeAlias = Callable[[Answer], float]
"""Scores an answer; raises `NotGiven` where the judge fails to."""


class RagasMissing(DeepthinkError):
    """Raised when the optional package is not there, or cannot be imported."""

    title = "RAGAS is not installed"
    kind: ClassVar[Literal["usage"]] = "usage"


class NotGiven(Exception):
    """Raised when a judge gave no score; its text says why."""


def applies(metric: str, answer: Answer) -> bool:
    """Whether a metric says anything of an answer.

    An empty answer is not judged. Without passages there is nothing to be faithful to and no context to
    measure, and without a gold answer no reference to measure it by.
    """
    needed = {
        FAITHFULNESS: (unmarked(answer.text), answer.passages),
        RELEVANCY: (unmarked(answer.text),),
        PRECISION: (answer.passages, answer.gold),
        RECALL: (answer.passages, answer.gold),
    }
    return all(needed[metric])


def require_ragas() -> None:
    """Tell whether the optional package is there, without the seconds that importing it takes.

    Raises:
        RagasMissing: it is not.
    """
    if find_spec("ragas") is None:
        raise RagasMissing("RAGAS's metrics need the optional package ragas.", _WAY_OUT)


def ragas_version() -> str:
    """Which one it is: its prompts change from one to the next."""
    return version("ragas")


def ragas_metrics(
    chat: Chat, embedder: Embedder, cancel: threading.Event | None = None
) -> Mapping[str, Metric]:
    """The four metrics by the names in `METRICS`.

    The reference is the first gold answer. Citation marks and flags are no part of an answer here.

    Args:
        chat: The judge, at temperature 0. Where two metrics ask it the same thing it may answer from a
            `policy.systems.cache.CachedChat`.
        embedder: Compares questions for answer relevancy.
        cancel: Set to have a metric raise `models.protocols.GenerationCancelled`.

    Raises:
        RagasMissing: the package cannot be imported.
    """
    llm_base, embedding_base, ragas = _package()
    judge, vectors = Judge(chat, cancel), QuestionVectors(embedder)
    # The package asks for its own base classes and for what they declare, which both here have.
    llm_base.register(Judge)
    embedding_base.register(QuestionVectors)
    faithfulness = ragas.Faithfulness(llm=judge)
    # By default it takes the mean of three tries; at temperature 0 they are the same.
    relevancy = ragas.AnswerRelevancy(llm=judge, embeddings=vectors, strictness=1)
    precision = ragas.ContextPrecision(llm=judge)
    recall = ragas.ContextRecall(llm=judge)

    return {
        FAITHFULNESS: lambda one: _value(
            faithfulness.score(
                user_input=one.asked,
                response=unmarked(one.text),
                retrieved_contexts=list(one.passages),
            )
        ),
        RELEVANCY: lambda one: _value(
            relevancy.score(user_input=one.asked, response=unmarked(one.text)),
        ),
        PRECISION: lambda one: _value(
            precision.score(
                user_input=one.asked, reference=one.gold[0], retrieved_contexts=list(one.passages)
            )
        ),
        RECALL: lambda one: _value(
            recall.score(user_input=one.asked, reference=one.gold[0], retrieved_contexts=list(one.passages))
        ),
    }


class Judge:
    """A chat model as the package's ``InstructorBaseRagasLLM``.

    Args:
        chat: The model.
        cancel: Ends a call.
    """

    def __init__(self, chat: Chat, cancel: threading.Event | None = None) -> None:
        self._chat = chat
        self._cancel = cancel

    def generate(self, prompt: str, response_model: type[_Shape]) -> _Shape:
        """An answer of that shape.

        Every whole number in the package's shapes is a verdict of 0 or 1, which only their descriptions
        say: another number would give scores beyond 1, so none can be written.

        Raises:
            NotGiven: the prompt does not fit the context, or the answer is cut off or of another shape.
            GenerationCancelled, ModelError: the model was stopped, or fails.
        """
        options = ChatOptions(_TOKENS, _binary(response_model.model_json_schema()), cancel=self._cancel)
        try:
            reply = self._chat.generate([Message("user", prompt)], options)
        except ContextOverflow as error:
            raise NotGiven("the prompt did not fit the context") from error
        if reply.finish_reason == "length":
            raise NotGiven(f"the judgement had no end within {_TOKENS} tokens")
        try:
            shaped = parse_json(reply.text, response_model)
        except ValueError as error:
            raise NotGiven("the judgement was not of the wanted shape") from error
        if not _all_binary(shaped.model_dump()):
            raise NotGiven("a verdict was neither 0 nor 1")
        return shaped

    async def agenerate(self, prompt: str, response_model: type[_Shape]) -> _Shape:
        """The same; the package awaits its judge, one call at a time."""
        return self.generate(prompt, response_model)


class QuestionVectors:
    """An embedder as the package's ``BaseRagasEmbedding``: all that it embeds here are questions."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def embed_text(self, text: str) -> list[float]:
        """One vector."""
        return [float(number) for number in self._embedder.embed_query(text)]

    async def aembed_text(self, text: str) -> list[float]:
        """One vector."""
        return self.embed_text(text)

    async def aembed_texts(self, texts: Sequence[str]) -> list[list[float]]:
        """A vector for each text."""
        return [self.embed_text(text) for text in texts]


def _package() -> tuple[Any, Any, Any]:
    """Its base classes of judges and embedders, and its metrics; it is told first to send no usage data."""
    require_ragas()
    os.environ["RAGAS_DO_NOT_TRACK"] = "true"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what it imports is outdated in places, and says so
            from ragas.embeddings.base import BaseRagasEmbedding
            from ragas.llms.base import InstructorBaseRagasLLM
            from ragas.metrics import collections
    except ImportError as error:
        raise RagasMissing(f"The package ragas cannot be imported: {error}.", _WAY_OUT) from error
    return InstructorBaseRagasLLM, BaseRagasEmbedding, collections


def _value(result: Any) -> float:
    value = float(result.value)
    if math.isnan(value):  # as where the judge found no statements
        raise NotGiven("the judge found nothing to give a verdict on")
    return value


def _binary(schema: Any) -> Any:
    if isinstance(schema, dict):
        narrowed = {name: _binary(value) for name, value in schema.items()}
        return {**narrowed, "enum": [0, 1]} if schema.get("type") == "integer" else narrowed
    return [_binary(one) for one in schema] if isinstance(schema, list) else schema


def _all_binary(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_all_binary, value.values()))
    if isinstance(value, list):
        return all(map(_all_binary, value))
    return not isinstance(value, int) or value in {0, 1}
