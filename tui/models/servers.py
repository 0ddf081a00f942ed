"""What the model servers that answer have, and whether documents may be sent to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from models.catalogue import CatalogueRole
from models.servers.ollama import OllamaServer
from models.servers.openai import OpenAiServer
from models.servers.wire import Patience
from traces.errors import DeepthinkError
from tui.assemble import OLLAMA, OPENAI
from tui.settings.settings import Settings
from tui.terminal import counted

SHORT: Final = Patience(connect=1.5, first_token=3.0, idle=3.0)


@dataclass(frozen=True, slots=True)
class Served:
    """What one server has.

    Attributes:
        kind: How its models' names begin: ``ollama:`` or ``openai:``.
        url: Its address.
        models: As the settings name them, each with what it is for.
        told: The same in words, or why there are none.
    """

    kind: str
    url: str
    models: list[tuple[str, CatalogueRole]]
    told: str


def served(settings: Settings) -> list[Served]:
    """What Ollama has, and the server that ``openai_url`` names, if they answer at once."""
    return [_ollama(settings), *([_openai(settings)] if settings.openai_url else [])]


def _ollama(settings: Settings) -> Served:
    try:
        server = OllamaServer(settings.ollama_url or None, SHORT)
    except DeepthinkError as error:
        return Served(OLLAMA, settings.ollama_url, [], f"{error.message} {error.way_out}")
    models: list[tuple[str, CatalogueRole]] = []
    try:
        for name in server.models():
            embeds = "embedding" in server.facts(name).capabilities
            models.append((f"{OLLAMA}{name}", "embedder" if embeds else "chat"))
    except DeepthinkError:
        return Served(OLLAMA, server.url, [], f"No Ollama answers at {server.url}; it is optional.")
    return Served(
        OLLAMA, server.url, models, f"Ollama at {server.url} has {counted(len(models), 'model')}."
    )


def _openai(settings: Settings) -> Served:
    server = OpenAiServer(settings.openai_url, SHORT)
    try:
        models: list[tuple[str, CatalogueRole]] = [(f"{OPENAI}{name}", "chat") for name in server.models()]
    except DeepthinkError as error:
        return Served(OPENAI, server.url, [], error.message)
    told = f"The server at {server.url} has {counted(len(models), 'model')}."
    return Served(OPENAI, server.url, models, told)
