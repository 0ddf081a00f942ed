"""An Ollama server: where it is, what it has, and what its failures mean to a person.

Only the native API is used. The OpenAI-compatible one under ``/v1`` ignores ``num_ctx`` and cuts long
prompts without a word.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx

from models.ollama_wire import Patience, Pump, Wire
from models.protocols import ModelError, ModelMissing, ModelUnreachable

DEFAULT_URL = "http://127.0.0.1:11434"
_PORT = 11434


def base_url(wanted: str | None = None) -> str:
    """The server's address: the one given, else ``OLLAMA_HOST``, else the default.

    Forms that Ollama itself accepts are accepted (``0.0.0.0``, ``host:port``), and a trailing ``/v1``
    is dropped.

    Raises:
        ValueError: ``wanted`` is no address.
        ModelUnreachable: ``OLLAMA_HOST`` is none.
    """
    if wanted:
        return _normalised(wanted.strip())
    host = os.environ.get("OLLAMA_HOST", "").strip() or DEFAULT_URL
    try:
        return _normalised(host)
    except ValueError as error:
        raise ModelUnreachable(
            f"OLLAMA_HOST is {host!r}, which is no address.",
            "Set it to one like http://127.0.0.1:11434, or unset it.",
        ) from error


def _normalised(text: str) -> str:
    if "://" not in text:
        text = f"http://{text}"
    parts = urlsplit(text)
    host = parts.hostname or "127.0.0.1"
    host = "127.0.0.1" if host == "0.0.0.0" else host  # that is where to listen, not where to go
    host = f"[{host}]" if ":" in host else host
    port = parts.port or {"http": _PORT, "https": 443}.get(parts.scheme, _PORT)
    path = parts.path.rstrip("/").removesuffix("/v1")
    login = f"{parts.username}:{parts.password}@" if parts.username else ""
    return f"{parts.scheme}://{login}{host}:{port}{path}"


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What a server says about one model.

    Attributes:
        trained_context: Tokens the model was trained for, None if unknown.
        capabilities: E.g. ``completion``, ``thinking``, ``embedding``.
    """

    trained_context: int | None
    capabilities: frozenset[str]

    @property
    def thinks(self) -> bool:
        """Whether the model's thinking can be switched."""
        return "thinking" in self.capabilities


class OllamaServer:
    """The questions asked of a server that are not a chat or an embedding.

    Every method raises `ModelUnreachable` if the server does not answer, `ModelMissing` for a model
    it does not have, `ModelError` for any other refusal and `GenerationCancelled` if ``cancel`` is
    set.

    Args:
        url: As `base_url` takes it.
        patience: Time-outs; an answer may take as long as ``idle``.
    """

    def __init__(self, url: str | None = None, patience: Patience | None = None) -> None:
        self.url = base_url(url)
        self._patience = patience or Patience()

    def version(self, cancel: threading.Event | None = None) -> str:
        """The server's version, e.g. ``0.12.11``."""
        return str(self._ask("GET", "/api/version", None, cancel).get("version", ""))

    def models(self, cancel: threading.Event | None = None) -> Mapping[str, str]:
        """The models on the server and their digests."""
        found = _listed(self._ask("GET", "/api/tags", None, cancel))
        return {str(model.get("name", "")): str(model.get("digest", "")) for model in found}

    def loaded_context(self, model: str, cancel: threading.Event | None = None) -> int | None:
        """The context that the loaded model was really given, if the server tells."""
        for running in _listed(self._ask("GET", "/api/ps", None, cancel)):
            if full_name(str(running.get("name", ""))) == full_name(model):
                granted = running.get("context_length")
                return granted if isinstance(granted, int) else None
        return None

    def facts(self, model: str, cancel: threading.Event | None = None) -> ModelFacts:
        """What the server says about ``model``."""
        shown = self._ask("POST", "/api/show", {"model": model}, cancel, model=model)
        info = shown.get("model_info") or {}
        lengths = [value for key, value in info.items() if key.endswith(".context_length")]
        context = lengths[0] if lengths and isinstance(lengths[0], int) else None
        return ModelFacts(context, frozenset(map(str, shown.get("capabilities") or ())))

    def _ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None,
        cancel: threading.Event | None,
        *,
        model: str = "",
    ) -> Mapping[str, Any]:
        wire = Wire(self._patience)
        quick = Patience(self._patience.connect, self._patience.idle, self._patience.idle)

        def ask() -> Iterator[Mapping[str, Any]]:
            with httpx.Client(transport=wire, base_url=self.url, timeout=wire.timeouts) as client:
                answer = client.request(method, path, json=body)
                answer.raise_for_status()
                value = answer.json()
                if not isinstance(value, dict):
                    raise TypeError(f"{value!r:.40} is no object")
                yield value

        with explained(self.url, model):
            (answer,) = Pump[Mapping[str, Any]](wire, quick, cancel).run(ask)
        return answer


def full_name(model: str) -> str:
    """A model's name with its tag: ``llama3`` is ``llama3:latest``."""
    return model if ":" in model.rsplit("/", 1)[-1] else f"{model}:latest"


@contextmanager
def explained(url: str, model: str) -> Iterator[None]:
    """Turns what the client libraries raise into errors a person can act on.

    Raises:
        ModelMissing, ModelUnreachable, ModelError: as the failure demands.
    """
    import ollama

    try:
        yield
    except ollama.ResponseError as refusal:
        raise _refused(model, refusal.status_code, refusal.error) from refusal
    except httpx.HTTPStatusError as refusal:
        raise _refused(model, refusal.response.status_code, refusal.response.text) from refusal
    except (ConnectionError, httpx.ConnectError, httpx.ConnectTimeout) as refusal:
        raise ModelUnreachable(
            f"No Ollama server answers at {url}.", "Start it with `ollama serve`."
        ) from refusal
    except (AttributeError, TypeError) as strange:  # the libraries take what is no object for one
        raise ModelUnreachable(
            f"What answers at {url} does not speak as Ollama does.", "Check the address of the server."
        ) from strange
    except (httpx.TransportError, ValueError) as broken:
        raise ModelUnreachable(
            f"The Ollama server at {url} stopped in the middle of an answer.",
            "Look at Ollama's log; a smaller model or context may help.",
        ) from broken


def _refused(model: str, status: int, text: str) -> ModelError:
    if status == httpx.codes.NOT_FOUND:
        return ModelMissing(
            f"Ollama does not have the model {model}." if model else f"Ollama says: {text.strip()}.",
            f"Fetch it with `ollama pull {model}`." if model else "Update Ollama.",
        )
    return ModelError(
        f"Ollama refused or failed: {text.strip() or f'status {status}'}.",
        "Look at Ollama's log; too little memory is the usual reason.",
    )


def _listed(answer: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    models: Sequence[Mapping[str, Any]] = answer.get("models") or ()
    return models
