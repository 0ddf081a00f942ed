"""The protocols that every model answers to, and the records they speak in.

A *chat* model turns messages into streamed text, or into text that matches a JSON schema; an
*embedder* turns texts into unit vectors; a *reranker* scores passages against a query. Implementations
load their heavy libraries on first use, never at import.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from traces.errors import DeepthinkError

Vectors: TypeAlias = npt.NDArray[np.float32]
JsonSchema: TypeAlias = Mapping[str, Any]
Role = Literal["system", "user", "assistant"]
FinishReason = Literal["stop", "length"]


class ModelError(DeepthinkError, title="The model failed", kind="model"):
    """Raised when a model cannot be opened or fails while it answers."""


class ModelMissing(ModelError, title="Model not found"):
    """Raised when a model is asked for that is not on this machine."""


class ModelUnreachable(ModelError, title="The model server does not answer"):
    """Raised when a model server does not answer, or stops answering within its time-outs."""


class ContextOverflow(ModelError, title="The prompt does not fit the model's context"):
    """Raised *before* a call whose prompt and answer do not fit the context; nothing is cut silently."""


class GenerationCancelled(DeepthinkError, title="Cancelled", kind="cancelled"):
    """Raised by a model call whose ``cancel`` event was set."""


@dataclass(frozen=True, slots=True)
class Message:
    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Usage:
    """What one model call cost: prompt tokens computed and reused, tokens written, wall-clock seconds."""

    evaluated: int = 0
    reused: int = 0
    generated: int = 0
    seconds: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.evaluated + other.evaluated,
            self.reused + other.reused,
            self.generated + other.generated,
            self.seconds + other.seconds,
        )


@dataclass(frozen=True, slots=True)
class Reply:
    """A finished answer, without what the model thought."""

    text: str
    usage: Usage
    finish_reason: FinishReason = "stop"


@dataclass(frozen=True, slots=True)
class Choice:
    probabilities: tuple[float, ...]  # one per option, in order, summing to one
    usage: Usage
    measured: bool = True
    """Whether they were read from the model's logits; else the model only named its pick."""


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """How one call is to be made; the likeliest token is always chosen.

    Attributes:
        max_tokens: Upper bound of the answer.
        schema: A JSON schema the answer must match; implementations constrain the decoding with it.
        on_text: Called with each piece of answer text as it is generated (never reasoning).
        cancel: Polled while the call runs; once set, the call raises `GenerationCancelled` within a
            second, also while a prompt is being evaluated.
        unlike: A text with which the answer may not begin. Models in process heed it; servers cannot.
    """

    max_tokens: int = 512
    schema: JsonSchema | None = None
    on_text: Callable[[str], None] | None = None
    cancel: threading.Event | None = field(default=None, compare=False)
    unlike: str = ""


class Chat(Protocol):
    """A chat model.

    `generate` and `choose` raise `ContextOverflow` before anything is computed if the prompt and
    ``max_tokens`` do not fit, `ModelUnreachable` or `ModelError` if the engine fails, and
    `GenerationCancelled` if ``options.cancel`` is set. They may be called from any thread, one at a
    time.
    """

    @property
    def name(self) -> str:
        """How a person names this model, e.g. ``llama.cpp:qwen2.5-coder-1.5b``."""

    @property
    def context_tokens(self) -> int:
        """Tokens of prompt and answer together that one call may use."""

    def count_tokens(self, text: str) -> int:
        """Tokens of ``text`` alone (an estimate, never too low, where the engine cannot count)."""

    def generate(self, messages: Sequence[Message], options: ChatOptions) -> Reply:
        """Answer ``messages``; streams through ``options.on_text``."""

    def choose(
        self, messages: Sequence[Message], options: Sequence[str], cancel: threading.Event | None = None
    ) -> Choice:
        """Pick one of the single-token labels in ``options`` as the answer's first token."""

    def close(self) -> None:
        """Free what the model holds; calling it twice is harmless."""


@runtime_checkable
class Teachable(Protocol):
    """A chat model that may have been taught this program's own prompts."""

    @property
    def taught(self) -> Chat | None:
        """The same model as it was taught, which knows `agent.prompts.TAUGHT`; None if it was not."""


class Embedder(Protocol):
    """Turns texts into unit-length vectors."""

    @property
    def name(self) -> str:
        """Identity of the vectors: libraries made with another name are never mixed with these."""

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Vectors of shape ``(len(texts), dimensions)``, float32, unit length, of at least one text."""

    def embed_query(self, text: str) -> Vectors:
        """One vector of shape ``(dimensions,)``, float32, unit length."""


@runtime_checkable
class Loadable(Protocol):
    """A model that takes noticeable time to load, and can do so before it is needed."""

    def warm_up(self) -> None:
        """Make the model ready for its first use; meant for a worker thread. Raises `ModelError`."""


class Reranker(Protocol):
    """Scores passages against a query; higher is more relevant."""

    @property
    def name(self) -> str:
        """How a person names this reranker."""

    def score(self, query: str, passages: Sequence[str]) -> list[float]:
        """One score per passage, each in [0, 1], in the order of ``passages``."""


Pixels: TypeAlias = npt.NDArray[np.uint8]
"""A picture, shape ``(height, width, 3)``: red, green, blue."""


@dataclass(frozen=True, slots=True)
class RecognisedWord:
    """A word that was recognised in a picture, with its confidence from 0 to 1.

    Its box is in pixels of the picture set straight, from the upper left corner.
    """

    text: str
    confidence: float
    left: float
    top: float
    right: float
    bottom: float


class TextRecogniser(Protocol):
    """Recognises the text in pictures of pages (OCR). May be called from any thread."""

    @property
    def seconds_a_page(self) -> float:
        """About how long a page takes on two cores."""

    def recognise(self, picture: Pixels) -> list[list[RecognisedWord]]:
        """The words of each line, from left to right, the lines from top to bottom.

        Raises `ModelError` if the model cannot be loaded or fails.
        """


@dataclass(frozen=True, slots=True)
class Span:
    """Words of a passage, from offset ``start`` to ``end``, that may be the answer.

    ``probability``: that exactly these words answer, against all other words and against "not here".
    """

    start: int
    end: int
    probability: float


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reader makes of one passage for one question."""

    probability: float  # that the passage answers the question
    spans: tuple[Span, ...]  # candidate answers, most probable first; they do not overlap


@dataclass(frozen=True, slots=True)
class Support:
    """How a passage bears on a claim: three probabilities that sum to one."""

    supported: float
    refuted: float
    neither: float


class Completer(Protocol):
    """Continues a text, from any thread. Raises `ModelError` if the model cannot be loaded."""

    def complete(self, text: str, max_tokens: int, cancel: threading.Event | None = None) -> Reply:
        """What the model writes after ``text``, greedily, up to its own end; "" if it does not fit.

        ``cancel`` is polled as that of `ChatOptions`.
        """


class Reader(Protocol):
    """Reads passages: whether and where they answer a question, and whether they support a claim.

    Its methods raise `ModelError` if the model cannot be loaded. They may be called from any thread.
    """

    @property
    def name(self) -> str:
        """How a person names this reader."""

    def read(self, question: str, passages: Sequence[str]) -> list[Reading]:
        """One reading per passage, in the order of ``passages``."""

    def support(self, pairs: Sequence[tuple[str, str]]) -> list[Support]:
        """One judgement per ``(claim, passage)`` pair, in their order."""

    def judge(self, question: str, pairs: Sequence[tuple[str, str]]) -> list[Support]:
        """One judgement per ``(answer, passage)`` pair: does the passage give this answer?"""
