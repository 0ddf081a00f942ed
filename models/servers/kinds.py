"""The kinds of servers, and what one can be asked.

A model of a server is named ``KIND:NAME``, and the setting ``KIND_url`` has the server's address. If there
is a setting ``KIND_confirmed``, documents go to another machine only once it has that address.

A new kind is a module with a `Server`, a line in `KINDS`, and its settings.
"""

from __future__ import annotations

import ipaddress
from abc import ABC, abstractmethod
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar, Final, cast
from urllib.parse import urlsplit

from models.catalogue import CatalogueRole
from models.protocols import Chat, Embedder, ModelMissing, ModelUnreachable

if TYPE_CHECKING:
    from models.servers.chat import Patience

KINDS: Final[Mapping[str, str]] = {"ollama": "OllamaServer", "openai": "OpenAiServer"}
"""The kinds, each with the name of its `Server` in the module of the same name here."""


class Server(ABC):
    """A server at an address; how its methods fail is told by `models.servers.chat`.

    Attributes:
        TITLE: Its name for the user; ``SUBJECT`` is what a sentence about it begins with.
        ROLES: What its models can be.
        IS_USUAL: Whether it has a usual address, so that it is looked for without a setting.
        LISTS_ALL: Whether it has no other models than those that it lists.
        FETCH: How the user gets a ``{model}`` that it does not have; "" if that is not known.
    """

    TITLE: ClassVar[str]
    SUBJECT: ClassVar[str] = "The server"
    ROLES: ClassVar[tuple[CatalogueRole, ...]] = ("chat",)
    IS_USUAL: ClassVar[bool] = False
    LISTS_ALL: ClassVar[bool] = False
    FETCH: ClassVar[str] = ""
    url: str

    @abstractmethod
    def __init__(self, url: str = "", patience: Patience | None = None) -> None:
        """At ``url``, or at its usual address. Raises `ModelError` if there is none."""

    @abstractmethod
    def models(self) -> Mapping[str, object]:
        """Its models by name."""

    @abstractmethod
    def open_chat(self, model: str, context_tokens: int) -> Chat:
        """One of its language models."""

    def open_embedder(self, model: str) -> Embedder:
        raise ModelMissing(f"{model} of {self.TITLE} cannot be the embedder.", "Choose another embedder.")

    def role(self, model: str) -> CatalogueRole:
        return "chat"

    def about(self) -> str:
        """Where it is, and more if it tells."""
        return self.url

    def interrupted(self) -> ModelUnreachable:
        """The error to raise where it stops before its answer is complete."""
        return ModelUnreachable(
            f"{self.SUBJECT} at {self.url} stopped in the middle of an answer.",
            "Look at its log; a smaller model or context may help.",
        )

    @staticmethod
    def full_name(model: str) -> str:
        """The name that it lists a model by."""
        return model


def split(name: str) -> tuple[str, str]:
    """The kind of the server and its model, of a model named as in the settings; "" if no server has it."""
    kind, colon, model = name.partition(":")
    return (kind, model) if colon and kind in KINDS else ("", name)


def server_class(kind: str) -> type[Server]:
    return cast("type[Server]", getattr(import_module(f"models.servers.{kind}"), KINDS[kind]))


def is_this_machine(url: str) -> bool:
    """Whether data sent to ``url`` stays on this machine."""
    return is_loopback(urlsplit(url).hostname or "")


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
