"""llama.cpp in this process, behind the `models.protocols.Chat` contract."""

from __future__ import annotations

import codecs
import copy
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
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
from models.think_tags import StreamedAnswer, opens_thinking

_POLL_SECONDS = 0.05


@dataclass(slots=True)
class _Memory:
    """The model, while it is loaded, and the lock of those who use it."""

    lock: threading.RLock = field(default_factory=threading.RLock)
    model: tuple[Engine, ChatTemplate] | None = None


class LlamaCppChat:
    """A GGUF file as a chat model.

    The model is loaded by the first call that needs it and stays in memory until
    `close`; a later call loads it again. Calls from several threads wait for each other. What one
    call left in the KV cache is reused by the next as far as the two prompts agree, so append-only
    prompts cost only what is new. Answers under a schema and choices never think.

    Args:
        path: The GGUF file.
        name: How a person names this model.
        context_tokens: Prompt and answer together; less if the model was trained for less.
        threads: Threads to compute with; chosen from the machine if None.
        adapter: What the model was taught, in GGUF form; used by `taught` alone.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        name: str,
        context_tokens: int = 8192,
        threads: int | None = None,
        adapter: Path | None = None,
    ) -> None:
        self.path = Path(path)
        self.name = name
        self._requested = context_tokens
        self._threads = threads
        self._adapter = adapter
        self._adapted = False
        self._memory = _Memory()

    @property
    def taught(self) -> Chat | None:
        """This model with its adapter, in the same memory; None without one."""
        if self._adapter is None:
            return None
        taught = copy.copy(self)
        taught._adapted = True
        return taught

    @cached_property
    def context_tokens(self) -> int:
        """Tokens one call may use; read from the head of the file, without loading the model.

        Raises what `models.llama_cpp.gguf.read_head` raises.
        """
        return min(self._requested, read_head(self.path).trained_context or self._requested)

    def loaded(self) -> tuple[Engine, ChatTemplate]:
        """The model and its template; loads them if need be.

        Raises:
            ModelMissing: if there is no such file.
            ModelError: if it is damaged, memory is too small, or llama.cpp is not installed.
        """
        with self._memory.lock:
            if self._memory.model is None:
                self._memory.model = self._open()
            return self._memory.model

    def count_tokens(self, text: str) -> int:
        """Tokens of ``text`` alone; loads the model if need be, and raises what `loaded` raises."""
        with self._memory.lock:
            return len(self.loaded()[0].tokenize(text, special=False))

    def generate(self, messages: Sequence[Message], options: ChatOptions) -> Reply:
        """Answer ``messages``; raises what `models.protocols.Chat` names."""
        free = options.schema is None
        with self._held(options.cancel) as (engine, template):
            started = time.perf_counter()
            prompt = _prompt(template, messages, may_think=free)
            tokens = engine.tokenize_prompt(prompt)
            self._refuse_overflow(len(tokens), options.max_tokens, engine)
            answer = StreamedAnswer(options.on_text, inside=free and opens_thinking(prompt), tags=free)
            with self._cancellable(engine, options.cancel):
                reused = engine.evaluate(tokens)
                generated, finish = self._generate(engine, options, answer)
            usage = Usage(len(tokens) - reused, reused, generated, time.perf_counter() - started)
        answer.finish(complete=finish == "stop")
        return Reply(answer.text, usage, finish, answer.reasoning)

    def choose(
        self, messages: Sequence[Message], options: Sequence[str], cancel: threading.Event | None = None
    ) -> Choice:
        """Pick one of the labels by the model's own probabilities of the answer's first token.

        A label counts with and without a leading space, whichever the model would write.

        Raises:
            ModelError: if a label is not a single token, or two labels are the same one.
        """
        with self._held(cancel) as (engine, template):
            started = time.perf_counter()
            labels = [_label_tokens(engine, label) for label in options]
            if len({token for tokens in labels for token in tokens}) != sum(map(len, labels)):
                raise ModelError(f"The labels {', '.join(options)} are not distinct tokens.")
            tokens = engine.tokenize_prompt(_prompt(template, messages, may_think=False))
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
        with self._memory.lock:
            if self._memory.model is not None:
                self._memory.model[0].close()
            self._memory.model = None

    def _generate(
        self, engine: Engine, options: ChatOptions, answer: StreamedAnswer
    ) -> tuple[int, FinishReason]:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")  # a token may end inside a character
        with closing(Picker(engine, options.schema)) as picker:
            for generated in range(options.max_tokens):
                if options.cancel is not None and options.cancel.is_set():
                    raise Aborted
                token = picker.next()
                if token is None:
                    answer.add(decoder.decode(b"", final=True))
                    return generated, "stop"
                answer.add(decoder.decode(engine.piece(token)))
                if generated + 1 < options.max_tokens:
                    engine.append(token)
        answer.add(decoder.decode(b"", final=True))
        return options.max_tokens, "length"

    def _open(self) -> tuple[Engine, ChatTemplate]:
        try:
            engine = Engine(
                self.path, context_tokens=self._requested, threads=self._threads, adapter=self._adapter
            )
        except ImportError as missing:
            raise ModelError(
                "llama.cpp is not installed.", "Install it with `pip install llama-cpp-python`."
            ) from missing
        begin, end = engine.edge_texts()
        try:
            return engine, ChatTemplate(
                engine.template(), begin=begin, end=end, control_texts=engine.control_texts
            )
        except ModelError:
            engine.close()
            raise

    def _refuse_overflow(self, prompt: int, answer: int, engine: Engine) -> None:
        limit = min(self.context_tokens, engine.context_tokens)
        if prompt + answer > limit:
            raise ContextOverflow(
                f"A prompt of {prompt} tokens and an answer of {answer} do not fit the "
                f"{limit} tokens of {self.name}.",
                "Give the model a larger context in the settings, or ask with less material.",
            )

    @contextmanager
    def _held(self, cancel: threading.Event | None) -> Iterator[tuple[Engine, ChatTemplate]]:
        """The loaded model, for this call alone; waiting for another call can be cancelled."""
        lock = self._memory.lock
        while not lock.acquire(timeout=_POLL_SECONDS):
            if cancel is not None and cancel.is_set():
                raise self._cancelled()
        try:
            if cancel is not None and cancel.is_set():
                raise self._cancelled()
            engine, template = self.loaded()
            engine.adapt(self._adapted)
            yield engine, template
        finally:
            lock.release()

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
            raise self._cancelled() from aborted
        finally:
            done.set()
            if watcher is not None:
                watcher.join()

    def _cancelled(self) -> GenerationCancelled:
        return GenerationCancelled(f"The call to {self.name} was cancelled.")


def _prompt(template: ChatTemplate, messages: Sequence[Message], *, may_think: bool) -> str:
    prompt = template.render(messages, may_think=may_think)
    if not may_think and opens_thinking(prompt):
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
