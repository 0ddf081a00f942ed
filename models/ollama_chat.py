"""An Ollama server's model behind the `models.protocols.Chat` contract, through langchain-ollama."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any

from models.ollama_api import ModelFacts, OllamaServer, explained
from models.ollama_wire import Patience, Pump, Wire
from models.protocols import (
    ChatOptions,
    Choice,
    ContextOverflow,
    FinishReason,
    GenerationCancelled,
    Message,
    ModelError,
    ModelUnreachable,
    Reply,
    Usage,
)
from models.think_tags import ThinkSplitter, answer_or_thought
from models.token_estimate import at_least, at_most

_POLL_SECONDS = 0.05
_TURN_TOKENS = 8  # what a chat template adds to each message
_TOP_LOGPROBS = 20  # the most that Ollama gives


class OllamaChat:
    """A chat model on an Ollama server.

    Ollama counts no tokens without computing, so prompts are measured by an estimate that is not too
    low, and refused by it. Whether the server then read the whole prompt is checked afterwards, since
    it drops the head of a prompt that is too long for the context it granted, and says nothing.

    Calls from several threads wait for each other.

    Args:
        model: As ``ollama list`` shows it.
        base_url: The server's address; ``OLLAMA_HOST`` or this machine if None.
        context_tokens: Asked of the server as ``num_ctx``.
        patience: Time-outs.
        thinking: Let models that can switch their thinking think about free text; their default if
            None. Answers under a schema and choices do not think, except where the server then drops
            the schema (some do, silently): noticed at the first answer that is not JSON, and
            thinking is left on from then on.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        context_tokens: int = 8192,
        patience: Patience | None = None,
        thinking: bool | None = None,
    ) -> None:
        self._model = model
        self._patience = patience or Patience()
        self._server = OllamaServer(base_url, self._patience)
        self._requested = context_tokens
        self._thinking = thinking
        self._schema_thinking = False
        self._wire = Wire(self._patience)
        self._lock = threading.Lock()
        self._chat: Any = None
        self._known: ModelFacts | None = None
        self._logprobs = True
        self._previous = ""

    @property
    def name(self) -> str:
        """``ollama:`` and the model."""
        return f"ollama:{self._model}"

    @property
    def model(self) -> str:
        """The model as Ollama names it."""
        return self._model

    @property
    def server(self) -> OllamaServer:
        """The server the model runs on."""
        return self._server

    @property
    def context_tokens(self) -> int:
        """What is asked of the server: no more than the model was trained for.

        The first use asks the server, and raises what `OllamaServer.facts` raises.
        """
        return min(self._requested, self.facts().trained_context or self._requested)

    @property
    def schema_thinking(self) -> bool:
        """Whether the model thinks before an answer under a schema; what a probe found can be set."""
        return self._schema_thinking

    @schema_thinking.setter
    def schema_thinking(self, wanted: bool) -> None:
        self._schema_thinking = wanted

    @property
    def tokens_read(self) -> int | None:
        """Prompt tokens of the last call by the server's own count, None if it did not tell."""
        read = self._wire.last.get("prompt_eval_count")
        return read if isinstance(read, int) else None

    def facts(self, cancel: threading.Event | None = None) -> ModelFacts:
        """What the server says about the model; asked once. Raises what `OllamaServer.facts` does."""
        if self._known is None:
            self._known = self._server.facts(self._model, cancel)
        return self._known

    def count_tokens(self, text: str) -> int:
        """An estimate that is not too low."""
        return at_most(text)

    def generate(self, messages: Sequence[Message], options: ChatOptions) -> Reply:
        """Answer ``messages``; raises what `models.protocols.Chat` names."""
        with self._held(options.cancel):
            started = time.perf_counter()
            thinking = self._thinking if options.schema is None else self._schema_thinking
            request = self._request(messages, options.max_tokens, options.temperature, thinking)
            if options.schema is not None:
                request["format"] = dict(options.schema)
            splitter, thoughts = ThinkSplitter(), list[str]()

            def stream(text: str) -> None:
                if text and options.on_text is not None:
                    options.on_text(text)

            with closing(self._chunks(messages, request, options.cancel)) as chunks:
                for chunk in chunks:
                    thoughts.append(str(chunk.additional_kwargs.get("reasoning_content", "")))
                    stream(splitter.feed(str(chunk.content)))
            stream(splitter.finish())
            usage, finish = self._close_call(messages, started)
            reasoning = "".join(thoughts).strip() or splitter.reasoning
            text = answer_or_thought(splitter.answer, reasoning, finished=finish == "stop")
            if text != splitter.answer:
                stream(text)
            if options.schema is not None and not thinking and finish == "stop":
                self._schema_thinking = not _is_json(text)
            return Reply(text, usage, finish, reasoning)

    def choose(
        self,
        messages: Sequence[Message],
        options: Sequence[str],
        cancel: threading.Event | None = None,
    ) -> Choice:
        """Pick one of the labels by the server's log probabilities of the first token.

        Servers older than 0.12.11 give none; then the model names its pick under a schema, and the
        choice is marked as not measured.

        Raises what `models.protocols.Chat` names, and `ModelError` if no label was picked.
        """
        with self._held(cancel):
            if self._logprobs:
                choice = self._measured(messages, options, cancel)
                if choice is not None:
                    return choice
        schema = {
            "type": "object",
            "properties": {"choice": {"type": "string", "enum": list(options)}},
            "required": ["choice"],
        }
        reply = self.generate(messages, ChatOptions(max_tokens=32, schema=schema, cancel=cancel))
        pick = _picked(reply.text, options)
        if pick is None:
            raise ModelError(
                f"{self.name} picked none of {', '.join(options)}: {reply.text[:80]!r}.",
                "Update Ollama or choose another model.",
            )
        weights = tuple(float(index == pick) for index in range(len(options)))
        return Choice(weights, reply.usage, measured=False)

    def close(self) -> None:
        """Close the connection; the server unloads the model by its own clock."""
        self._wire.cut()
        self._wire.close()

    def _measured(
        self, messages: Sequence[Message], labels: Sequence[str], cancel: threading.Event | None
    ) -> Choice | None:
        started = time.perf_counter()
        request = self._request(messages, 1, 0.0, thinking=False)
        request |= {"logprobs": True, "top_logprobs": _TOP_LOGPROBS}
        listed: list[Mapping[str, Any]] = []
        with closing(self._chunks(messages, request, cancel)) as chunks:
            for chunk in chunks:
                given = chunk.response_metadata.get("logprobs")
                if given and not listed:
                    listed = [dict(entry) for entry in given[0]["top_logprobs"] or ()]
        usage, _ = self._close_call(messages, started)
        if not listed:
            self._logprobs = False
            return None
        return _from_logprobs(listed, labels, usage)

    def _request(
        self, messages: Sequence[Message], answer: int, temperature: float, thinking: bool | None
    ) -> dict[str, Any]:
        context = self.context_tokens
        prompt = sum(at_most(message.content) + _TURN_TOKENS for message in messages)
        if prompt + answer > context:
            raise ContextOverflow(
                f"A prompt of about {prompt} tokens and an answer of {answer} do not fit the "
                f"{context} tokens of {self.name}.",
                "Give the model a larger context in the settings, or ask with less material.",
            )
        options = {"num_ctx": context, "num_predict": answer, "temperature": temperature}
        # Ollama refuses the switch for models that have none.
        reasoning = (thinking is not False) if self.facts().thinks else None
        return {"options": options, "reasoning": reasoning}

    def _chunks(
        self,
        messages: Sequence[Message],
        request: Mapping[str, Any],
        cancel: threading.Event | None,
    ) -> Generator[Any]:
        """The stream; whoever stops early has to close it, for the server to stop, too."""
        turns = [(message.role, message.content) for message in messages]
        pump = Pump[Any](self._wire, self._patience, cancel)
        with explained(self._server.url, self._model):
            yield from pump.run(lambda: iter(self._client().stream(turns, **request)))

    def _client(self) -> Any:
        if self._chat is None:
            from langchain_ollama import ChatOllama

            self._chat = ChatOllama(
                model=self._model,
                base_url=self._server.url,
                sync_client_kwargs={"transport": self._wire, "timeout": self._wire.timeouts},
            )
        return self._chat

    def _close_call(self, messages: Sequence[Message], started: float) -> tuple[Usage, FinishReason]:
        """The bill of the call that has just ended.

        Raises:
            ModelUnreachable: if the stream ended before the answer did.
            ContextOverflow: if the server read less than it was given.
        """
        last = self._wire.last
        if not last.get("done"):
            raise ModelUnreachable(
                f"The Ollama server at {self._server.url} stopped in the middle of an answer.",
                "Look at Ollama's log; a smaller model or context may help.",
            )
        prompt = "\n".join(message.content for message in messages)
        read, cached = last.get("prompt_eval_count"), last.get("prompt_eval_cached_count")
        self._refuse_cut(prompt, read, counts_cached=cached is not None)
        self._previous = prompt
        reused = int(cached or 0)
        usage = Usage(
            max(0, int(read or 0) - reused),
            reused,
            int(last.get("eval_count") or 0),
            time.perf_counter() - started,
        )
        return usage, "length" if last.get("done_reason") == "length" else "stop"

    def _refuse_cut(self, prompt: str, read: object, *, counts_cached: bool) -> None:
        """Some versions leave cached tokens out of their count: then only what is new must be in it."""
        if not isinstance(read, int):
            return  # the field is absent where everything was cached
        fresh = prompt if counts_cached else prompt[_common(self._previous, prompt) :]
        least = at_least(fresh)
        if read < least:
            raise ContextOverflow(
                f"Ollama read only {read} of at least {least} tokens of the prompt and cut the rest "
                f"without a word: it grants {self._model} less than the {self.context_tokens} tokens "
                "asked for.",
                "Set a smaller context in the settings, or free memory on the server.",
            )

    @contextmanager
    def _held(self, cancel: threading.Event | None) -> Iterator[None]:
        while not self._lock.acquire(timeout=_POLL_SECONDS):
            if cancel is not None and cancel.is_set():
                raise GenerationCancelled(f"The call to {self.name} was cancelled.")
        try:
            self.facts(cancel)
            yield
        finally:
            self._lock.release()


def _common(left: str, right: str) -> int:
    for index, (a, b) in enumerate(zip(left, right, strict=False)):
        if a != b:
            return index
    return min(len(left), len(right))


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _picked(text: str, labels: Sequence[str]) -> int | None:
    try:
        answer = json.loads(text)
    except ValueError:
        answer = text
    if isinstance(answer, dict):
        answer = answer.get("choice")
    answer = str(answer).strip().strip("\"'().")
    return labels.index(answer) if answer in labels else None


def _from_logprobs(
    listed: Sequence[Mapping[str, Any]], labels: Sequence[str], usage: Usage
) -> Choice | None:
    """Probabilities among the labels; one that is not listed gets the least that is (its bound).

    None if no label is listed at all: then the model would have answered something else.
    """
    floor = min(float(entry["logprob"]) for entry in listed)
    scores: list[float] = []
    seen = False
    for label in labels:
        mine = [float(e["logprob"]) for e in listed if str(e["token"]).strip() == label]
        seen = seen or bool(mine)
        scores.append(math.log(sum(map(math.exp, mine))) if mine else floor)
    if not seen:
        return None
    weights = [math.exp(score - max(scores)) for score in scores]
    return Choice(tuple(weight / sum(weights) for weight in weights), usage)
