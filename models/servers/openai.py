"""Chat models on any server with the OpenAI API: llama-server, LM Studio, vLLM and others.

The official client is used. Servers differ in the options they accept beside messages: a JSON schema has
two notations, and few can switch thinking off. So a rejected request is repeated with fewer options, and
the accepted ones are remembered.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx

from models.protocols import (
    ChatOptions,
    ContextOverflow,
    FinishReason,
    Message,
    ModelError,
    ModelMissing,
    ModelUnreachable,
)
from models.servers.chat import Bill, Part, Patience, ServerChat, Wire
from models.servers.kinds import Server
from models.token_estimate import at_most

if TYPE_CHECKING:
    from openai import OpenAI

_KEY = "OPENAI_API_KEY"
_TOO_LONG = {"context_length_exceeded", "exceed_context_size_error"}
# Notation of a schema, and whether thinking is switched off, from the best to what every server accepts.
_DIALECTS = (("json_schema", True), ("json_schema", False), ("json_object", False), ("", False))


def base_url(text: str) -> str:
    """The complete address for one that a user typed: ``box:8080`` is ``http://box:8080/v1``.

    Raises `ValueError` if it is not the address of a web server.
    """
    text = text.strip()
    parts = urlsplit(text if "://" in text else f"http://{text}")
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError(f"{text!r} is not an address")
    _ = parts.port  # raises if it is not a number
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/') or '/v1'}"


class OpenAiServer(Server):
    """A server at an address, in the form that `base_url` accepts."""

    TITLE = "OpenAI API"

    def __init__(self, url: str = "", patience: Patience | None = None) -> None:
        if not url:
            raise ModelMissing(
                "The settings name no server that speaks the OpenAI API.",
                "Give its address: `deepthink config set openai_url http://127.0.0.1:8080/v1`.",
            )
        self.url = base_url(url)
        self.patience = patience or Patience()

    def open_chat(self, model: str, context_tokens: int) -> OpenAiChat:
        return OpenAiChat(model, self, context_tokens)

    def models(self, cancel: threading.Event | None = None) -> Mapping[str, int | None]:
        """The server's models, and the tokens of context of each if the server reports them.

        Raises `ModelUnreachable`, `ModelError` or `GenerationCancelled`.
        """
        wire = Wire("The server", self.patience.quick)

        def ask() -> Iterator[Any]:
            with self.client(wire, may_retry=False) as client:
                yield client.models.list().data

        with self.explain_errors(""):
            (models,) = wire.run(ask, cancel)
            return {str(model.id): _reported_context(model.model_extra or {}) for model in models}

    def client(self, wire: Wire, *, may_retry: bool) -> OpenAI:
        """The official client, with the key from the environment."""
        from openai import OpenAI

        # The client accepts httpx's clients, too, but its types only include those of httpx2.
        connection: Any = httpx.Client(transport=wire, timeout=wire.timeouts)
        key, retries = os.environ.get(_KEY) or "none", 2 if may_retry else 0
        return OpenAI(base_url=self.url, api_key=key, http_client=connection, max_retries=retries)

    @contextmanager
    def explain_errors(self, model: str) -> Iterator[None]:
        """Turns errors of the client into errors that say what to do."""
        import openai

        try:
            yield
        except openai.NotFoundError as refusal:
            raise ModelMissing(
                f"The server at {self.url} does not have {model or 'a list of models'}.",
                "“deepthink models list” shows what it has.",
            ) from refusal
        except (openai.AuthenticationError, openai.PermissionDeniedError) as refusal:
            raise ModelError(
                f"The server at {self.url} wants another key.", f"Set {_KEY} in the environment."
            ) from refusal
        except openai.APIConnectionError as refusal:
            raise ModelUnreachable(
                f"No server answers at {self.url}.", "Start it, or correct openai_url in the settings."
            ) from refusal
        except openai.APIError as refusal:
            if _too_long(refusal):
                raise ContextOverflow(
                    f"The prompt does not fit what the server grants {model}: {refusal.message}",
                    "Set a smaller context in the settings, or give the server a larger one.",
                ) from refusal
            reason = " ".join(refusal.message.split())[:300]
            raise ModelError(
                f"The server at {self.url} refused or failed: {reason}",
                "Look at the server's log; too little memory is the usual reason.",
            ) from refusal
        except (AttributeError, TypeError) as error:  # the client does not validate responses
            raise ModelUnreachable(
                f"The server at {self.url} does not speak OpenAI's API.",
                "Correct openai_url in the settings; it usually ends in /v1.",
            ) from error
        except (httpx.TransportError, ValueError) as error:
            raise self.interrupted() from error


class OpenAiChat(ServerChat):
    """A chat model on a server with the OpenAI API.

    ``context_tokens`` is prompt and answer together; fewer if the server reports that it grants fewer.
    """

    def __init__(self, model: str, server: OpenAiServer, context_tokens: int) -> None:
        super().__init__(f"openai:{model}", partial(Wire, "The server", server.patience))
        self._model = model
        self._server = server
        self._requested = context_tokens
        self._granted: int | None = None
        self._dialect: int | None = None  # the one that the server accepted
        self._finish: FinishReason | None = None
        self._usage: Any = None
        self._pieces = 0

    @property
    def context_tokens(self) -> int:
        """As requested, or fewer if the server reports that it grants fewer.

        The first use asks the server, and raises what `OpenAiServer.models` raises.
        """
        if self._granted is None:
            self._prepare(None)
        return self._granted or self._requested

    def _prepare(self, cancel: threading.Event | None) -> None:
        if self._granted is None:
            try:
                reported = self._server.models(cancel).get(self._model)
            except ModelMissing:  # the server has no list
                reported = None
            self._granted = min(self._requested, reported or self._requested)

    def _parts(self, messages: Sequence[Message], options: ChatOptions, top: int = 0) -> Generator[Part]:
        import openai

        # Some servers report an unsupported option as an internal error.
        refusals = (openai.BadRequestError, openai.UnprocessableEntityError, openai.InternalServerError)
        with self._server.explain_errors(self._model):
            if options.schema is None and not top:
                yield from self._stream(self._request(messages, options), options.cancel, may_retry=True)
                return
            for dialect in range(self._dialect or 0, len(_DIALECTS)):
                request = self._request(messages, options) | _extras(options, top, *_DIALECTS[dialect])
                try:
                    # A request that may be rejected is not retried.
                    yield from self._stream(request, options.cancel, may_retry=self._dialect is not None)
                except refusals as refusal:
                    if _too_long(refusal) or (dialect == len(_DIALECTS) - 1 and not top):
                        raise
                else:
                    self._dialect = dialect
                    return

    def _request(self, messages: Sequence[Message], options: ChatOptions) -> dict[str, Any]:
        return {
            "model": self._model,
            "messages": [{"role": message.role, "content": message.content} for message in messages],
            "max_tokens": options.max_tokens,
            "temperature": 0.0,
            "stream": True,
            "stream_options": {"include_usage": True},
        }

    def _stream(
        self, request: dict[str, Any], cancel: threading.Event | None, *, may_retry: bool
    ) -> Generator[Part]:
        self._finish, self._usage, self._pieces = None, None, 0
        wire = self._wire = self._new_wire()
        create = self._server.client(wire, may_retry=may_retry).chat.completions.create
        for chunk in wire.run(lambda: iter(create(**request)), cancel):
            self._usage = chunk.usage or self._usage
            for choice in chunk.choices[:1]:
                if choice.finish_reason:
                    self._finish = "length" if choice.finish_reason == "length" else "stop"
                extra = choice.delta.model_extra or {}
                logprobs = (choice.logprobs and choice.logprobs.content) or ()
                self._pieces += bool(choice.delta.content)
                yield Part(
                    choice.delta.content or "",
                    str(extra.get("reasoning_content") or extra.get("reasoning") or ""),
                    [
                        (entry.token, entry.logprob)
                        for token in logprobs[:1]
                        for entry in token.top_logprobs
                    ],
                )

    def _bill(self, messages: Sequence[Message]) -> Bill:
        if self._finish is None:
            raise self._server.interrupted()
        if self._usage is None:  # the server does not report counts
            read = sum(at_most(message.content) for message in messages)
            return Bill(read, 0, self._pieces, self._finish, whole=True)
        details = self._usage.prompt_tokens_details
        cached = (details and details.cached_tokens) or 0
        return Bill(
            self._usage.prompt_tokens, cached, self._usage.completion_tokens, self._finish, whole=True
        )


def _extras(options: ChatOptions, top: int, notation: str, switch_thinking_off: bool) -> dict[str, Any]:
    extras: dict[str, Any] = {"logprobs": True, "top_logprobs": top} if top else {}
    if switch_thinking_off:
        extras["extra_body"] = {"chat_template_kwargs": {"enable_thinking": False}}
    if options.schema is not None and notation == "json_schema":
        schema = {"name": "answer", "schema": dict(options.schema), "strict": True}
        extras["response_format"] = {"type": "json_schema", "json_schema": schema}
    elif options.schema is not None and notation:
        extras["response_format"] = {"type": "json_object", "schema": dict(options.schema)}
    return extras


def _reported_context(model: Mapping[str, Any]) -> int | None:
    """Tokens of context in an entry of a list of models, as vLLM or llama-server report it."""
    meta = model.get("meta")
    meta = meta if isinstance(meta, dict) else {}
    tokens = model.get("max_model_len") or meta.get("n_ctx") or meta.get("n_ctx_train")
    return tokens if isinstance(tokens, int) else None


def _too_long(refusal: Any) -> bool:
    return bool({getattr(refusal, "code", None), getattr(refusal, "type", None)} & _TOO_LONG)
