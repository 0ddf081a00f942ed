"""Composition: opens the store and the models that the settings name. Nothing loads before its use.

A function that opens a model raises `ModelMissing` if it is not on this machine (`NoModelYet` if it is a
language model that could be fetched), and `ChecksumMismatch` if its file is not the published one.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from models.catalogue import CATALOGUE, QWEN_CODER_0_5B, CatalogueRole, ModelEntry, entry
from models.fetch.pull import checked
from models.library_loading import forbid_hubs
from models.protocols import (
    Chat,
    Completer,
    Embedder,
    Loadable,
    ModelError,
    ModelMissing,
    Reader,
    Reranker,
    TextRecogniser,
)
from models.servers.kinds import Server, is_this_machine, server_class, split
from traces.paths import expanded_path, store_file
from traces.store import Store
from tui import failures
from tui.settings.settings import DDGS, Settings
from tui.terminal import size

if TYPE_CHECKING:
    from agent.web.fetch import Fetcher, Limits
    from agent.web.gather import Web
    from models.servers.chat import Patience
    from policy.serving.learned import Served

NO_RERANKER = "none"


class NoModelYet(ModelMissing, title="No language model yet"):
    """Raised if the language model in the settings is not on this machine."""


class AddressNotConfirmed(ModelError, title="Your documents would leave this machine"):
    """Raised before documents are sent to another machine without the user's consent."""

    def __init__(self, kind: str, url: str) -> None:
        super().__init__(
            f"Questions and passages of your documents would be sent to {url}.",
            f"To allow it: `deepthink config set {kind}_confirmed {url}`.",
        )


def open_store() -> Store:
    """The store of library and runs; its file is opened by the first query."""
    return Store(store_file(), on_wait=failures.warn_once)


def open_chat(settings: Settings) -> Chat:
    """The language model in the settings, not yet loaded. Raises `AddressNotConfirmed`."""
    forbid_hubs()
    kind, name = split(settings.model)
    if kind:
        if unconfirmed := unconfirmed_address(settings, kind):
            raise AddressNotConfirmed(kind, unconfirmed)
        return open_server(settings, kind).open_chat(name, settings.context_tokens)
    from models.boxed_answerer import adapter_of
    from models.llama_cpp.chat import LlamaCppChat

    path, label = chat_file(name)
    return LlamaCppChat(
        path,
        name=f"llama.cpp:{label}",
        context_tokens=settings.context_tokens,
        threads=settings.threads or None,
        adapter=adapter_of(path),
    )


def open_server(settings: Settings, kind: str, patience: Patience | None = None) -> Server:
    """The server of a kind at the address in the settings. Raises as `Server` does."""
    return server_class(kind)(getattr(settings, f"{kind}_url"), patience)


def unconfirmed_address(settings: Settings, kind: str) -> str:
    """The address of a server if the user has to confirm it first, else "". Raises as `open_server`."""
    confirmed = getattr(settings, f"{kind}_confirmed", None)
    if confirmed is None:
        return ""
    url = open_server(settings, kind).url
    return "" if url == confirmed or is_this_machine(url) else url


def open_embedder(settings: Settings) -> Embedder:
    forbid_hubs()
    kind, name = split(settings.embedder)
    if kind:
        return open_server(settings, kind).open_embedder(name)
    from models import encoders

    return encoders.open_embedder(model_folder(name, "embedder"))


def open_reranker(settings: Settings) -> Reranker | None:
    """The reranker in the settings, not yet loaded; None if they name none."""
    forbid_hubs()
    if settings.reranker == NO_RERANKER:
        return None
    from models import encoders

    return encoders.open_reranker(model_folder(settings.reranker, "reranker"))


def open_recogniser(settings: Settings) -> TextRecogniser | None:
    """The OCR engine, not yet loaded; None if the settings turn OCR off."""
    if not settings.ocr:
        return None
    from models.ocr import RapidOcr

    return RapidOcr()


def open_reader(settings: Settings) -> Reader:
    """The boxed reader, not yet loaded; with a reranker in the settings, that orders the passages."""
    from models.boxed_reader.reader import BoxedReader, RankedReader

    reader, reranker = BoxedReader(), open_reranker(settings)
    return reader if reranker is None else RankedReader(reader, reranker)


def open_planner(settings: Settings) -> Completer | None:
    """The boxed planner, not yet loaded; None if the language model plans.

    It plans if the settings say so, or if the planner's base is not on this machine.
    """
    if settings.planner == "model":
        return None
    from models.boxed_planner.planner import installed_planner

    return installed_planner()


def open_learned() -> Served | None:
    """The active learned policy, loaded at its first decision; None if the rules decide."""
    forbid_hubs()
    from policy.serving.learned import active_policy

    return active_policy()


def open_parts(settings: Settings) -> dict[str, Any]:
    """The parts that every run needs besides the store, by parameter of `agent.run.run`; not yet loaded."""
    return {
        "chat": open_chat(settings),
        "embedder": open_embedder(settings),
        "reader": open_reader(settings),
        "planner": open_planner(settings),
    }


def run_parts(parts: dict[str, Any], store: Store, settings: Settings) -> dict[str, Any]:
    """The ``parts`` of a run with its store, the web and the learned policy."""
    web = open_web(settings, store, parts["embedder"])
    return {**parts, "store": store, "web": web, "learned": open_learned()}


def warm_up(*models: object) -> None:
    """Load those of the models that load at their first use."""
    for model in models:
        if isinstance(model, Loadable):
            model.warm_up()


def open_web(settings: Settings, store: Store, embedder: Embedder) -> Web | None:
    """The web, for one run; None if it is off."""
    if not settings.web:
        return None
    from agent.web.gather import Web
    from agent.web.search import Ddgs, SearchEngine, Searxng

    engine: SearchEngine = Ddgs() if settings.web_search == DDGS else Searxng(settings.web_search)
    return Web(engine, open_fetcher(settings), store, embedder)


def open_fetcher(settings: Settings, limits: Limits | None = None) -> Fetcher:
    """A fetcher of web pages; the caller checks whether the web is on."""
    from agent.web.fetch import Fetcher

    return Fetcher(contact=settings.web_contact, limits=limits)


def chat_file(name: str) -> tuple[Path, str]:
    """The GGUF file of a language model, by catalogue name or path, and its name for the user."""
    if is_path(name):
        path = expanded_path(name)
        if not path.is_file():
            raise ModelMissing(
                f"There is no model file {path}.", "Correct the path, or choose another model."
            )
        return path.absolute(), path.stem
    model = _catalogue_entry(name, "chat")
    file = checked(model)
    if file is None:
        raise NoModelYet(f"{model.name} ({size(model.size)}) is not on this machine.", _CHOICE)
    return file, model.name


def model_folder(name: str, role: CatalogueRole) -> Path:
    """The folder of an embedder or reranker, by catalogue name or path."""
    if is_path(name):
        folder = expanded_path(name)
        if not folder.is_dir():
            raise ModelMissing(
                f"There is no folder {folder} with a model in it.",
                f"Correct the path, or `deepthink config unset {role}`.",
            )
        return folder.absolute()
    model = _catalogue_entry(name, role)
    path = checked(model)
    if path is None:
        raise ModelMissing(
            f"The {role} {model.name} ({size(model.size)}) is not on this machine.",
            f"Fetch it: `deepthink models pull {model.name}`.",
        )
    return path


def default_entries(settings: Settings) -> list[ModelEntry]:
    """The catalogue models in the settings: language model, embedder, reranker, base of the planner."""
    names = [settings.model, settings.embedder, settings.reranker]
    if settings.planner == "taught":
        names.append(QWEN_CODER_0_5B.name)
    return [model for model in CATALOGUE if model.name in {name.lower() for name in names}]


def _catalogue_entry(name: str, role: CatalogueRole) -> ModelEntry:
    model = entry(name, role)
    if model.role != role:
        choices = ", ".join(other.name for other in CATALOGUE if other.role == role) or "a folder on disk"
        raise ModelMissing(f"{model.name} is {_ROLE[model.role]}, not {_ROLE[role]}.", f"Choose {choices}.")
    return model


def is_path(name: str) -> bool:
    return "/" in name or "\\" in name or name.startswith("~") or name.lower().endswith(".gguf")


_ROLE = {"chat": "a language model", "embedder": "an embedder", "reranker": "a reranker"}
_CHOICE = """\
Choose one:
  deepthink models pull                      what answers (1.1 GB), plans (0.5 GB), searches (70 MB)
  deepthink models pull qwen2.5-coder-0.5b   smaller, faster, weaker (0.5 GB);
  deepthink models use qwen2.5-coder-0.5b    then this makes it answer
  deepthink models use ollama:NAME           a model of your own Ollama server
  deepthink models use openai:NAME           one of any server with the OpenAI API (set openai_url)
  deepthink models use PATH.gguf             any GGUF file on this machine"""
