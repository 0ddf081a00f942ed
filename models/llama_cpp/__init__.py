"""llama.cpp in this process, behind the `models.protocols.Chat` contract."""

from __future__ import annotations

import codecs
import logging
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from models.llama_cpp.engine import Aborted, Engine
from models.llama_cpp.gguf import read_head
from models.llama_cpp.grammar import Picker
from models.llama_cpp.template import ChatTemplate
from models.protocols import (
    Chat,
    ChatOptions,
    Choice,
    ContextOverflow,
    FinishReason,
    GenerationCancelled,
    Message,
    ModelError,
    Reply,
    Usage,
)
from models.think_tags import ThinkSplitter, answer_or_thought, opens_thinking

_log = logging.getLogger("deepthink.llama_cpp")
_POLL_SECONDS = 0.05


class LlamaCppChat:
    """A GGUF file as a chat model.

    The model is loaded by the first call that needs it and stays in memory until
    `close`; a later call loads it again. Calls from several threads wait for each other. What one
    call left in the KV cache is reused by the next as far as the two prompts agree, so append-only
    prompts cost only what is new. At temperature 0 the same calls in the same order give the same
    answers.

    Args:
        path: The GGUF file.
        name: How a person names this model.
        context_tokens: Prompt and answer together; less if the model was trained for less.
        threads: Threads to compute with; chosen from the machine if None.
        thinking: Switch thinking on or off for free text, where the chat template has the switch.
            Answers under a schema and choices never think.
        adapter: What the model was taught, in GGUF form; used by `taught` alone.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        name: str,
        context_tokens: int = 8192,
        threads: int | None = None,
        thinking: bool | None = None,
        adapter: Path | None = None,
    ) -> None:
        self._path = Path(path)
        self._name = name
        self._requested = context_tokens
        self._threads = threads
        self._thinking = thinking
        self._adapter = adapter
        self._lock = threading.RLock()
        self._engine: Engine | None = None
        self._template: ChatTemplate | None = None
        self._context_tokens: int | None = None

    @property
    def name(self) -> str:
        """How a person names this model."""
        return self._name

    @property
    def taught(self) -> Chat | None:
        """This model with its adapter; None without one."""
        return _Taught(self) if self._adapter else None

    @property
    def path(self) -> Path:
        """The GGUF file."""
        return self._path

    @property
    def context_tokens(self) -> int:
        """Tokens one call may use; read from the head of the file, without loading the model.

        Raises what `models.llama_cpp.gguf.read_head` raises.
        """
        if self._context_tokens is None:
            trained = read_head(self._path).trained_context
            self._context_tokens = min(self._requested, trained or self._requested)
        return self._context_tokens

    def loaded(self) -> tuple[Engine, ChatTemplate]:
        """The model and its template; loads them if need be.

        Raises:
            ModelMissing: if there is no such file.
            ModelError: if it is damaged, memory is too small, or llama.cpp is not installed.
        """
        with self._lock:
            return self._opened()

    def count_tokens(self, text: str) -> int:
        """Tokens of ``text`` alone; loads the model if need be, and raises what `loaded` raises."""
        with self._lock:
            return len(self._opened()[0].tokenize(text, special=False))

    def generate(
        self, messages: Sequence[Message], options: ChatOptions, *, adapted: bool = False
    ) -> Reply:
        """Answer ``messages``, ``adapted`` or not; raises what `models.protocols.Chat` names."""
        free = options.schema is None
        with self._held(options.cancel, adapted) as (engine, template):
            started = time.perf_counter()
            prompt = _prompt(template, messages, self._thinking if free else False, free)
            tokens = engine.tokenize_prompt(prompt)
            self._refuse_overflow(len(tokens), options.max_tokens, engine)
            answer = _Answer(options, inside=free and opens_thinking(prompt), split=free)
            with self._cancellable(engine, options.cancel):
                reused = engine.evaluate(tokens)
                generated, finish = self._generate(engine, options, answer)
            usage = Usage(len(tokens) - reused, reused, generated, time.perf_counter() - started)
        text = answer.finish(finished=finish == "stop")
        return Reply(text, usage, finish, answer.reasoning)

    def choose(
        self,
        messages: Sequence[Message],
        options: Sequence[str],
        cancel: threading.Event | None = None,
        *,
        adapted: bool = False,
    ) -> Choice:
        """Pick one of the labels by the model's own probabilities of the answer's first token.

        A label counts with and without a leading space, whichever the model would write.

        Raises:
            ModelError: if a label is not a single token, or two labels are the same one.
        """
        with self._held(cancel, adapted) as (engine, template):
            started = time.perf_counter()
            labels = [_label_tokens(engine, label) for label in options]
            if len({token for tokens in labels for token in tokens}) != sum(map(len, labels)):
                raise ModelError(f"The labels {', '.join(options)} are not distinct tokens.")
            tokens = engine.tokenize_prompt(_prompt(template, messages, False, False))
            self._refuse_overflow(len(tokens), 1, engine)
            with self._cancellable(engine, cancel):
                reused = engine.evaluate(tokens)
            logits = engine.logits().astype(np.float64)
            usage = Usage(len(tokens) - reused, reused, 0, time.perf_counter() - started)
        scores = np.array([np.logaddexp.reduce(logits[tokens]) for tokens in labels])
        weights = np.exp(scores - scores.max())
        return Choice(tuple((weights / weights.sum()).tolist()), usage)

    def close(self) -> None:
        """Free the model, once a running call has ended."""
        with self._lock:
            if self._engine is not None:
                self._engine.close()
            self._engine = self._template = None

    def _generate(self, engine: Engine, options: ChatOptions, answer: _Answer) -> tuple[int, FinishReason]:
        picker = Picker(engine, options.temperature, options.schema)
        try:
            for generated in range(options.max_tokens):
                if options.cancel is not None and options.cancel.is_set():
                    raise Aborted
                token = picker.next()
                if token is None:
                    return generated, "stop"
                answer.add(engine.piece(token))
                if generated + 1 < options.max_tokens:
                    engine.append(token)
            return options.max_tokens, "length"
        finally:
            picker.close()

    def _opened(self) -> tuple[Engine, ChatTemplate]:
        if self._engine is None or self._template is None:
            try:
                engine = Engine(
                    self._path,
                    context_tokens=self._requested,
                    threads=self._threads,
                    adapter=self._adapter,
                )
            except ImportError as missing:
                raise ModelError(
                    "llama.cpp is not installed.", "Install it with `pip install llama-cpp-python`."
                ) from missing
            begin, end = engine.edge_texts()
            try:
                self._template = ChatTemplate(
                    engine.template(), begin=begin, end=end, control_texts=engine.control_texts
                )
            except ModelError:
                engine.close()
                raise
            self._engine = engine
            self._context_tokens = min(self._requested, engine.context_tokens)
        return self._engine, self._template

    def _refuse_overflow(self, prompt: int, answer: int, engine: Engine) -> None:
        limit = min(self.context_tokens, engine.context_tokens)
        if prompt + answer > limit:
            raise ContextOverflow(
                f"A prompt of {prompt} tokens and an answer of {answer} do not fit the "
                f"{limit} tokens of {self._name}.",
                "Give the model a larger context in the settings, or ask with less material.",
            )

    @contextmanager
    def _held(self, cancel: threading.Event | None, adapted: bool) -> Iterator[tuple[Engine, ChatTemplate]]:
        """The loaded model, for this call alone; waiting for another call can be cancelled."""
        while not self._lock.acquire(timeout=_POLL_SECONDS):
            if cancel is not None and cancel.is_set():
                raise _cancelled(self._name)
        try:
            if cancel is not None and cancel.is_set():
                raise _cancelled(self._name)
            engine, template = self._opened()
            engine.adapt(adapted)
            yield engine, template
        finally:
            self._lock.release()

    @contextmanager
    def _cancellable(self, engine: Engine, cancel: threading.Event | None) -> Iterator[None]:
        """Lets ``cancel`` stop llama.cpp in the middle of a step."""
        engine.rearm()
        done = threading.Event()

        def watch(event: threading.Event) -> None:
            while not done.wait(_POLL_SECONDS):
                if event.is_set():
                    engine.abort()
                    return

        watcher = None
        if cancel is not None:
            watcher = threading.Thread(target=watch, args=(cancel,), name="deepthink-cancel")
            watcher.start()
        try:
            yield
        except Aborted as aborted:
            raise _cancelled(self._name) from aborted
        finally:
            done.set()
            if watcher is not None:
                watcher.join()


@dataclass(frozen=True, slots=True)
class _Taught:
    """A model with its adapter."""

    _chat: LlamaCppChat

    @property
    def name(self) -> str:
        return self._chat.name

    @property
    def context_tokens(self) -> int:
        return self._chat.context_tokens

    def count_tokens(self, text: str) -> int:
        return self._chat.count_tokens(text)

    def generate(self, messages: Sequence[Message], options: ChatOptions) -> Reply:
        return self._chat.generate(messages, options, adapted=True)

    def choose(
        self,
        messages: Sequence[Message],
        options: Sequence[str],
        cancel: threading.Event | None = None,
    ) -> Choice:
        return self._chat.choose(messages, options, cancel, adapted=True)

    def close(self) -> None:
        self._chat.close()


class _Answer:
    """Turns token bytes into streamed answer text, without think tags and broken characters."""

    def __init__(self, options: ChatOptions, *, inside: bool, split: bool) -> None:
        self._emit = options.on_text
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._splitter = ThinkSplitter(inside=inside) if split else None
        self._plain: list[str] = []

    @property
    def reasoning(self) -> str:
        return self._splitter.reasoning if self._splitter else ""

    def add(self, piece: bytes) -> None:
        self._take(self._decoder.decode(piece))

    def finish(self, *, finished: bool) -> str:
        """The whole answer text; streams what was still held back."""
        self._take(self._decoder.decode(b"", final=True))
        if self._splitter is None:
            return "".join(self._plain)
        self._stream(self._splitter.finish())
        answer = self._splitter.answer
        text = answer_or_thought(answer, self._splitter.reasoning, finished=finished)
        if text != answer:
            self._stream(text)
        return text

    def _take(self, text: str) -> None:
        if self._splitter is None:
            self._plain.append(text)
            self._stream(text)
        else:
            self._stream(self._splitter.feed(text))

    def _stream(self, text: str) -> None:
        if text and self._emit is not None:
            self._emit(text)


def _prompt(template: ChatTemplate, messages: Sequence[Message], thinking: bool | None, free: bool) -> str:
    prompt = template.render(messages, thinking=thinking)
    if not free and opens_thinking(prompt):
        # The template has no switch: close the thought before it begins.
        prompt = prompt.rstrip() + "\n\n</think>\n\n"
    return prompt


def _label_tokens(engine: Engine, label: str) -> list[int]:
    variants = [engine.tokenize(text, special=False) for text in (label, f" {label}")]
    single = sorted({tokens[0] for tokens in variants if len(tokens) == 1})
    if not single:
        raise ModelError(
            f"The label {label!r} is not a single token of this model.",
            "Use single letters as labels.",
        )
    return single


def _cancelled(name: str) -> GenerationCancelled:
    return GenerationCancelled(f"The call to {name} was cancelled.")
