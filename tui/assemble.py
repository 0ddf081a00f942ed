"""Composition: from settings to the store and the models. Nothing is loaded before it is used."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from models.catalogue import CATALOGUE, QWEN_CODER_0_5B, CatalogueRole, ModelEntry, entry
from models.fetch import checked
from models.offline import forbid_hubs
from models.protocols import (
    Chat,
    Completer,
    Embedder,
    ModelError,
    ModelMissing,
    Reader,
    Reranker,
    TextRecogniser,
)
from traces.paths import store_file
from traces.store import Store
from traces.typed_path import expanded_path
from tui import failures
from tui.settings.settings import DDGS, Settings
from tui.terminal import size

if TYPE_CHECKING:
    from agent.web.fetch import Fetcher, Limits
    from agent.web.gather import Web
    from policy.serving.learned import Served

OLLAMA = "ollama:"
OPENAI = "openai:"
NO_RERANKER = "none"


class NoModelYet(ModelMissing):
    """Raised when the language model that the settings name is not on this machine."""

    title = "No language model yet"


class AddressNotConfirmed(ModelError):
    """Raised before documents are sent to a server on another machine that nobody has agreed to."""

    title = "Your documents would leave this machine"

    def __init__(self, url: str) -> None:
        super().__init__(
            f"Questions and passages of your documents would be sent to {url}.",
            f"To allow it: `deepthink config set openai_confirmed {url}`.",
        )


def open_store() -> Store:
    """The library and the runs; the file is opened by the first query."""
    return Store(store_file(), on_wait=failures.warn_once)


def open_chat(settings: Settings) -> Chat:
    """The language model that the settings name, not yet loaded.

    Raises:
        ModelMissing: it is not on this machine; `NoModelYet` if it could be fetched.
        ChecksumMismatch: its file is not the published one.
        AddressNotConfirmed: it is on a machine that nobody has agreed to.
    """
    forbid_hubs()
    wanted = settings.model
    if wanted.startswith(OPENAI):
        from models.servers.openai import OpenAiChat

        if unconfirmed := unconfirmed_address(settings):
            raise AddressNotConfirmed(unconfirmed)
        return OpenAiChat(
            wanted.removeprefix(OPENAI),
            base_url=settings.openai_url,
            context_tokens=settings.context_tokens,
        )
    if wanted.startswith(OLLAMA):
        from models.servers.ollama import OllamaChat

        return OllamaChat(
            wanted.removeprefix(OLLAMA),
            base_url=settings.ollama_url or None,
            context_tokens=settings.context_tokens,
        )
    from models.llama_cpp import LlamaCppChat

    path, name = chat_file(wanted)
    return LlamaCppChat(
        path,
        name=f"llama.cpp:{name}",
        context_tokens=settings.context_tokens,
        threads=settings.threads or None,
    )


def unconfirmed_address(settings: Settings) -> str:
    """The address of the OpenAI-compatible server if the user has yet to agree to it, else "".

    Raises:
        ModelMissing: the settings name no address.
    """
    from models.servers.openai import base_url, is_this_machine

    if not settings.openai_url:
        raise ModelMissing(
            "The settings name no server that speaks the OpenAI API.",
            "Give its address: `deepthink config set openai_url http://127.0.0.1:8080/v1`.",
        )
    url = base_url(settings.openai_url)
    agreed = settings.openai_confirmed and base_url(settings.openai_confirmed) == url
    return "" if agreed or is_this_machine(url) else url


def open_embedder(settings: Settings) -> Embedder:
    """The embedder that the settings name, not yet loaded.

    Raises:
        ModelMissing: it is not on this machine.
        ChecksumMismatch: one of its files is not the published one.
    """
    forbid_hubs()
    wanted = settings.embedder
    if wanted.startswith(OLLAMA):
        from models.servers.ollama import OllamaEmbedder

        return OllamaEmbedder(wanted.removeprefix(OLLAMA), base_url=settings.ollama_url or None)
    from models import encoders

    return encoders.open_embedder(located(wanted, "embedder"))


def open_reranker(settings: Settings) -> Reranker | None:
    """The reranker that the settings name, not yet loaded; None where they want none.

    Raises:
        ModelMissing: it is not on this machine.
        ChecksumMismatch: one of its files is not the published one.
    """
    forbid_hubs()
    if settings.reranker == NO_RERANKER:
        return None
    from models import encoders

    return encoders.open_reranker(located(settings.reranker, "reranker"))


def open_recogniser(settings: Settings) -> TextRecogniser | None:
    """What recognises the text on scans, not yet loaded; None where the settings turn it off."""
    if not settings.ocr:
        return None
    from models.ocr import RapidOcr

    return RapidOcr()


def open_reader(settings: Settings) -> Reader:
    """The reader that ships, not yet loaded; a reranker that the settings name orders for it.

    Raises:
        ModelMissing: a reranker is named that is not on this machine.
    """
    from models.boxed_reader import BoxedReader

    reader = BoxedReader()
    reranker = open_reranker(settings)
    if reranker is None:
        return reader
    from models.ranked_reader import RankedReader

    return RankedReader(reader, reranker)


def open_planner(settings: Settings) -> Completer | None:
    """The planner that ships, not yet loaded; None where the language model plans.

    It does where the settings want it so, and where the planner's base is not on this machine.

    Raises:
        ChecksumMismatch: what lies there under the base's name is another file.
    """
    if settings.planner == "model":
        return None
    from models.boxed_planner import shipped_planner

    return shipped_planner()


def open_learned() -> Served | None:
    """The active learned policy, not yet loaded; None where there is none, not even in the box."""
    forbid_hubs()
    from policy.serving.learned import active_policy

    return active_policy()


def open_parts(settings: Settings) -> dict[str, Any]:
    """What every run needs besides the store, by the names of `agent.run.run`; nothing is loaded yet.

    Raises:
        ModelMissing, ChecksumMismatch, AddressNotConfirmed: as the functions above.
    """
    return {
        "chat": open_chat(settings),
        "embedder": open_embedder(settings),
        "reader": open_reader(settings),
        "planner": open_planner(settings),
    }


def open_web(settings: Settings, store: Store, embedder: Embedder) -> Web | None:
    """The web, for one run; None where it is off."""
    if not settings.web:
        return None
    from agent.web.gather import Web
    from agent.web.search import Ddgs, SearchEngine, Searxng

    engine: SearchEngine = Ddgs() if settings.web_search == DDGS else Searxng(settings.web_search)
    return Web(engine, open_fetcher(settings), store, embedder)


def open_fetcher(settings: Settings, limits: Limits | None = None) -> Fetcher:
    """What fetches pages; whether it may is the caller's to ask."""
    from agent.web.fetch import Fetcher

    return Fetcher(contact=settings.web_contact, limits=limits)


def chat_file(wanted: str) -> tuple[Path, str]:
    """The GGUF file that ``wanted`` names, by catalogue or by path, and how a person calls it.

    Raises:
        ModelMissing: there is no such model or file; `NoModelYet` if it could be fetched.
        ChecksumMismatch: what lies there under the catalogue's name is another file.
    """
    if _is_path(wanted):
        path = expanded_path(wanted)
        if not path.is_file():
            raise ModelMissing(f"There is no model file {path}.", _CHOICE)
        return path.absolute(), path.stem
    known = _of_role(wanted, "chat")
    place = checked(known)
    if place is None:
        raise NoModelYet(f"{known.name} ({size(known.size)}) is not on this machine.", _CHOICE)
    return place, known.name


def located(wanted: str, role: CatalogueRole) -> Path:
    """The folder of an embedder or reranker, by catalogue name or path.

    Raises:
        ModelMissing: there is no such model or folder.
        ChecksumMismatch: what lies there under the catalogue's name is another model.
    """
    if _is_path(wanted):
        folder = expanded_path(wanted)
        if not folder.is_dir():
            raise ModelMissing(
                f"There is no folder {folder} with a model in it.",
                f"Correct the path, or `deepthink config unset {role}`.",
            )
        return folder.absolute()
    known = _of_role(wanted, role)
    place = checked(known)
    if place is None:
        raise ModelMissing(
            f"The {role} {known.name} ({size(known.size)}) is not on this machine.",
            f"Fetch it: `deepthink models pull {known.name}`.",
        )
    return place


def default_entries(settings: Settings) -> list[ModelEntry]:
    """The catalogue models that the settings name: language model, embedder, reranker, planner's base."""
    names = [settings.model, settings.embedder, settings.reranker]
    if settings.planner == "taught":
        names.append(QWEN_CODER_0_5B.name)
    return [known for known in CATALOGUE if known.name in {name.lower() for name in names}]


def _of_role(name: str, role: CatalogueRole) -> ModelEntry:
    known = entry(name, role)
    if known.role != role:
        fitting = ", ".join(e.name for e in CATALOGUE if e.role == role) or "a folder on disk"
        raise ModelMissing(f"{known.name} is {_ROLE[known.role]}, not {_ROLE[role]}.", f"Choose {fitting}.")
    return known


def _is_path(wanted: str) -> bool:
    return "/" in wanted or "\\" in wanted or wanted.startswith("~") or wanted.lower().endswith(".gguf")


_ROLE = {"chat": "a language model", "embedder": "an embedder", "reranker": "a reranker"}
_CHOICE = """\
Choose one:
  deepthink models pull                      what answers (1.1 GB), plans (0.5 GB), searches (70 MB)
  deepthink models pull qwen2.5-coder-0.5b   smaller, faster, weaker (0.5 GB);
  deepthink models use qwen2.5-coder-0.5b    then this makes it answer
  deepthink models use ollama:NAME           a model of your own Ollama server
  deepthink models use openai:NAME           one of any server with the OpenAI API (set openai_url)
  deepthink models use PATH.gguf             any GGUF file on this machine"""
