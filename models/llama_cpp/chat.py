"""llama.cpp in this process, behind the `models.protocols.Chat` contract: prompts, grammars, generation.

JSON schemas become grammars by llama-cpp-python's converter, with two of its rules replaced. Its strings
admit raw line breaks, which are not JSON, and unlimited white space, in which small models get lost. The
replacements allow one blank at a time, inside strings and between them.
"""

from __future__ import annotations

import codecs
import copy
import json
import logging
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from models.control_tokens import StreamedAnswer, control_pattern, defused, opens_thinking
from models.llama_cpp.engine import Aborted, Engine, Logits
from models.llama_cpp.gguf import read_head
from models.protocols import (
    ChatOptions,
    Choice,
    ContextOverflow,
    FinishReason,
    GenerationCancelled,
    JsonSchema,
    Message,
    ModelError,
    Reply,
    Usage,
)

_POLL_SECONDS = 0.05
CHATML = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)

_log = logging.getLogger("deepthink.llama_cpp")
_STRICTER_RULES = {
    "char": r'[^"\\ \x00-\x1F\x7F] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4})',
    "string": r'"\"" (" "? char)* " "? "\"" space',
}
_SHORTLIST_SIZE = 256


class ChatTemplate:
    """One model's chat template; ChatML if the file has none.

    Any of ``control_texts`` in a message, for example from a document, is broken up, so that a passage
    cannot pose as a turn of the conversation. Raises `ModelError` if ``source`` is no Jinja template.
    """

    def __init__(
        self, source: str | None, *, begin: str = "", end: str = "", control_texts: Sequence[str] = ()
    ) -> None:
        import jinja2
        from llama_cpp.llama_chat_format import Jinja2ChatFormatter

        try:
            self._formatter: Any = Jinja2ChatFormatter(
                template=source or CHATML, bos_token=begin, eos_token=end
            )
        except jinja2.TemplateError as error:
            raise ModelError(
                f"The model's chat template cannot be read: {error}.", "Choose another model file."
            ) from error
        self._controls = control_pattern(control_texts)

    def render(self, messages: Sequence[Message], *, may_think: bool = True) -> str:
        """The prompt, up to where the assistant's answer begins. Raises `ModelError`.

        ``may_think``: as the template's default; otherwise thinking is off if the template has a switch.
        """
        import jinja2

        defused_messages = [
            {"role": m.role, "content": defused(m.content, self._controls)} for m in messages
        ]
        options = {} if may_think else {"enable_thinking": False}
        problem: Exception | None = None
        # Some templates have no system role and require alternating turns.
        for turns in (defused_messages, _alternate_roles(defused_messages)):
            try:
                return str(self._formatter(messages=turns, **options).prompt)
            except (jinja2.TemplateError, ValueError, TypeError) as error:
                problem = error
        raise ModelError(
            f"The model's chat template does not accept these messages: {problem}.",
            "Choose another model file.",
        ) from problem


def _alternate_roles(messages: list[dict[str, str]]) -> list[dict[str, str]]:
    """The conversation with system turns as user turns, and consecutive turns of one role joined."""
    turns: list[dict[str, str]] = []
    for message in messages:
        role = "user" if message["role"] == "system" else message["role"]
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += "\n\n" + message["content"]
        else:
            turns.append({"role": role, "content": message["content"]})
    return turns


def gbnf(schema: JsonSchema) -> str | None:
    """The grammar of a JSON schema; None, with a logged warning, if the converter does not support it."""
    from llama_cpp.llama_grammar import json_schema_to_gbnf

    try:
        text: str = json_schema_to_gbnf(json.dumps(schema))
    except (AssertionError, KeyError, ValueError, TypeError, AttributeError) as error:
        _log.warning("no grammar for the schema %s: %s", schema.get("title", ""), error)
        return None
    rules = dict(line.split(" ::= ", 1) for line in text.splitlines())
    rules.update({name: rule for name, rule in _STRICTER_RULES.items() if name in rules})
    return "\n".join(f"{name} ::= {rule}" for name, rule in rules.items())


def picked(engine: Engine, schema: JsonSchema | None = None, unlike: str = "") -> Generator[int]:
    """The likeliest tokens up to the end of the answer; the caller appends each to the engine.

    The first is not that with which ``unlike`` begins.

    The grammar of a schema checks the best token first, then a shortlist, and only then the whole
    vocabulary, which would take longer than computing the token. If a schema has no grammar, the answer is
    unconstrained; the caller has to validate it anyway.
    """
    text = gbnf(schema) if schema is not None else None
    grammar = engine.grammar(text) if text is not None else None
    if text is not None and not grammar:
        _log.warning("llama.cpp could not compile this grammar:\n%s", text)
    excluded = engine.tokenize(unlike, special=False)[:1] if unlike else []
    try:
        while True:
            logits = engine.logits()
            if excluded:
                logits = logits.copy()
                logits[excluded], excluded = -np.inf, []
            token: int | None = int(np.argmax(logits))
            if grammar and not engine.allowed(grammar, np.array([token], dtype=np.int32))[0]:
                token = _pick_admitted(engine, grammar, logits)
            if token is None or engine.ends(token):
                return
            if grammar:
                engine.accept(grammar, token)
            yield token
    finally:
        if grammar:
            engine.free_sampler(grammar)


def _pick_admitted(engine: Engine, grammar: Any, logits: Logits) -> int | None:
    """The likeliest token that the grammar admits; None if there is none: the answer is then invalid."""
    size = min(_SHORTLIST_SIZE, len(logits))
    shortlist = np.argpartition(logits, -size)[-size:].astype(np.int32)
    for tokens in (shortlist, np.arange(len(logits), dtype=np.int32)):
        admitted = tokens[engine.allowed(grammar, tokens)]
        if len(admitted):
            admitted.sort()  # of equals the first one is chosen, as without a grammar
            return int(admitted[np.argmax(logits[admitted])])
    return None


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
    def taught(self) -> LlamaCppChat | None:
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

        Raises `ModelMissing` if there is no such file, and `ModelError` if it is damaged or memory is too
        small.
        """
        with self._memory.lock:
            if self._memory.model is None:
                self._memory.model = self._open()
            return self._memory.model

    def warm_up(self) -> None:
        self.loaded()

    def count_tokens(self, text: str) -> int:
        """Tokens of ``text`` alone; loads the model if need be, and raises what `loaded` raises."""
        with self._memory.lock:
            return len(self.loaded()[0].tokenize(text, special=False))

    def generate(self, messages: Sequence[Message], options: ChatOptions) -> Reply:
        free = options.schema is None
        with self._held(options.cancel) as (engine, template):
            prompt = _prompt(template, messages, may_think=free)
            answer = StreamedAnswer(options.on_text, inside=free and opens_thinking(prompt), tags=free)
            return self._reply(engine, engine.tokenize_prompt(prompt), options, answer)

    def complete(self, text: str, max_tokens: int, cancel: threading.Event | None = None) -> Reply:
        """Continue ``text`` as it is, without the template; raises as `generate`."""
        with self._held(cancel) as (engine, _):
            tokens = engine.tokenize(text, special=False)
            options = ChatOptions(max_tokens, cancel=cancel)
            return self._reply(engine, tokens, options, StreamedAnswer(tags=False))

    def choose(
        self, messages: Sequence[Message], options: Sequence[str], cancel: threading.Event | None = None
    ) -> Choice:
        """Pick one of the labels by the model's own probabilities of the answer's first token.

        A label counts with and without a leading space, whichever the model would write. Raises
        `ModelError` if a label is not a single token, or two labels are the same one.
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

    def _reply(
        self, engine: Engine, tokens: Sequence[int], options: ChatOptions, answer: StreamedAnswer
    ) -> Reply:
        started = time.perf_counter()
        self._refuse_overflow(len(tokens), options.max_tokens, engine)
        with self._cancellable(engine, options.cancel):
            reused = engine.evaluate(tokens)
            generated, finish = self._generate(engine, options, answer)
        usage = Usage(len(tokens) - reused, reused, generated, time.perf_counter() - started)
        answer.finish(complete=finish == "stop")
        return Reply(answer.text, usage, finish)

    def _generate(
        self, engine: Engine, options: ChatOptions, answer: StreamedAnswer
    ) -> tuple[int, FinishReason]:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")  # a token may end inside a character
        with closing(picked(engine, options.schema, options.unlike)) as tokens:
            for generated in range(options.max_tokens):
                if options.cancel is not None and options.cancel.is_set():
                    raise Aborted
                token = next(tokens, None)
                if token is None:
                    answer.add(decoder.decode(b"", final=True))
                    return generated, "stop"
                answer.add(decoder.decode(engine.piece(token)))
                if generated + 1 < options.max_tokens:
                    engine.append(token)
        answer.add(decoder.decode(b"", final=True))
        return options.max_tokens, "length"

    def _open(self) -> tuple[Engine, ChatTemplate]:
        engine = Engine(
            self.path, context_tokens=self._requested, threads=self._threads, adapter=self._adapter
        )
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
            f"The label {label!r} is not a single token of this model.", "Use single letters as labels."
        )
    return single
