"""Vectors from sentence-transformers folders: tiny ones made here, and the real MiniLM."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from models.catalogue import ALL_MINILM_L6_V2
from models.encoders import open_embedder
from models.encoders.sentence_transformers import LocalEmbedder
from models.fetch import installed
from models.protocols import Embedder, ModelError, ModelMissing, Vectors
from tests.models.encoders.tiny_bert import write_sentence_model


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "tiny"
    write_sentence_model(folder)
    return folder


@pytest.fixture(scope="module")
def minilm_folder() -> Path:
    place = installed(ALL_MINILM_L6_V2)
    if place is None:
        pytest.fail("all-minilm-l6-v2 is missing: run “deepthink models pull all-minilm-l6-v2”")
    return place


# --- any folder --------------------------------------------------------------------------------


def test_vectors_are_unit_length_whatever_the_model_does(tiny: Path) -> None:
    embedder: Embedder = LocalEmbedder(tiny, "tiny")
    vectors = embedder.embed_passages(["the river", "money and the bank", ""])
    assert vectors.shape == (3, 8)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)
    assert embedder.embed_query("the river").shape == (8,)


def test_vectors_come_in_the_order_of_the_texts(tiny: Path) -> None:
    embedder = LocalEmbedder(tiny, "tiny")
    words = ["river", "sea", "bank", "money", "water"]
    texts = [" ".join(words[: 1 + number % 5]) + f" {number}" for number in range(70)]
    texts[3] = "the city " * 10
    vectors = embedder.embed_passages(texts)
    for position in (0, 3, 31, 32, 69):
        alone = embedder.embed_query(texts[position])
        np.testing.assert_allclose(vectors[position], alone, atol=1e-5)


def test_texts_of_like_length_in_tokens_share_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    batches: list[list[str]] = []

    class Model:
        def encode_document(self, texts: list[str], **_: object) -> Vectors:
            batches.append(texts)
            return np.ones((len(texts), 2), dtype=np.float32)

    embedder = LocalEmbedder(Path("unused"), "fake")
    monkeypatch.setattr(embedder, "_model", Model())
    words, figures = (
        "notwithstanding the foregoing",
        "1,234 (5.6) 78.90 11,213",
    )  # fewer letters, more tokens
    embedder.embed_passages([words, figures] * 8)
    assert batches == [[words] * 8, [figures] * 8]


def test_nothing_is_loaded_before_it_is_needed(tiny: Path) -> None:
    embedder = LocalEmbedder(tiny, "tiny")
    assert embedder.dimensions == 8
    assert embedder.embed_passages([]).shape == (0, 8)
    assert not embedder.ready()
    embedder.warm_up()
    assert embedder.ready()


def test_joined_poolings_have_the_length_the_library_works_out(tmp_path: Path) -> None:
    write_sentence_model(tmp_path / "joined", modes=("cls", "mean"))
    embedder = LocalEmbedder(tmp_path / "joined", "joined")
    assert embedder.dimensions == 16
    assert embedder.embed_query("the river").shape == (16,)


def test_prompts_of_the_model_are_used(tmp_path: Path) -> None:
    prompts = {"query": "what is ", "document": ""}
    write_sentence_model(tmp_path / "prompted", prompts=prompts)
    embedder = LocalEmbedder(tmp_path / "prompted", "prompted")
    query = embedder.embed_query("the river")
    as_passage, spelled_out = embedder.embed_passages(["the river", "what is the river"])
    np.testing.assert_allclose(query, spelled_out, atol=1e-5)
    assert not np.allclose(query, as_passage, atol=1e-3)


def test_threads_share_one_model(tiny: Path) -> None:
    embedder = LocalEmbedder(tiny, "tiny")
    texts = [f"the river {number}" for number in range(64)]
    with ThreadPoolExecutor(4) as threads:
        results = list(threads.map(embedder.embed_passages, [texts] * 4))
    for result in results:
        np.testing.assert_array_equal(result, results[0])


def test_a_query_gets_its_turn_between_the_batches_of_a_long_list(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    served: list[str] = []
    busy = threading.Event()

    class Model:
        def encode_document(self, texts: list[str], **_: object) -> Vectors:
            served.append("passages")
            busy.set()
            time.sleep(0.005)
            return np.ones((len(texts), 2), dtype=np.float32)

        def encode_query(self, texts: list[str], **_: object) -> Vectors:
            served.append("query")
            return np.ones((1, 2), dtype=np.float32)

    embedder = LocalEmbedder(Path("unused"), "fake")
    monkeypatch.setattr(embedder, "_model", Model())
    batches = 200
    ingest = threading.Thread(target=embedder.embed_passages, args=(["text"] * 8 * batches,))
    ingest.start()
    busy.wait()
    embedder.embed_query("question")
    ingest.join()
    assert served.count("passages") == batches
    assert served.index("query") < batches // 2


def test_the_libraries_verbosity_is_as_it_was_after_loading(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from transformers.utils import logging

    # The library reads its variable once, when it is imported; another test may have been first.
    bar_module = import_module("huggingface_hub.utils.tqdm")  # the name also means a class in it
    monkeypatch.setattr(bar_module, "HF_HUB_DISABLE_PROGRESS_BARS", None)
    before = logging.get_verbosity()
    bars = logging.is_progress_bar_enabled()
    try:
        logging.set_verbosity_info()
        logging.enable_progress_bar()
        LocalEmbedder(tiny, "tiny").warm_up()
        assert logging.get_verbosity() == logging.INFO
        assert logging.is_progress_bar_enabled()
    finally:
        logging.set_verbosity(before)
        if not bars:
            logging.disable_progress_bar()


def test_other_weights_under_the_same_folder_name_have_another_name(tmp_path: Path) -> None:
    for place in ("here", "there", "everywhere"):
        (tmp_path / place / "mine").mkdir(parents=True)
    here, there, everywhere = (tmp_path / place / "mine" for place in ("here", "there", "everywhere"))
    (here / "model.safetensors").write_bytes(b"a" * 100_000)
    (there / "model.safetensors").write_bytes(b"a" * 100_000)
    (everywhere / "model.safetensors").write_bytes(b"a" * 50_000 + b"b" * 50_000)
    assert open_embedder(here).name == open_embedder(there).name
    assert open_embedder(here).name != open_embedder(everywhere).name
    assert open_embedder(here).name.startswith("mine@")


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    embedder = open_embedder(tmp_path / "nowhere")
    with pytest.raises(ModelMissing, match=r"no embedding model in .*nowhere"):
        embedder.embed_query("the river")
    with pytest.raises(ModelMissing):
        _ = embedder.dimensions


def test_a_broken_folder_is_explained_in_the_librarys_words(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "bert", "hidden_size": 8')
    with pytest.raises(ModelError, match="could not be loaded: ") as caught:
        LocalEmbedder(tmp_path, "broken").embed_query("the river")
    assert caught.value.__cause__ is not None
    assert not isinstance(caught.value, ModelMissing)


# --- a fresh process ---------------------------------------------------------------------------

_SILENT_AND_OFFLINE = """
import os, socket, sys, warnings
from pathlib import Path

def blocked(*arguments, **options):
    raise AssertionError("the network was used")

socket.socket.connect = socket.create_connection = socket.getaddrinfo = blocked
warnings.simplefilter("error")

from models.encoders import open_embedder
import models.encoders.sentence_transformers
assert not {"torch", "transformers", "sentence_transformers"} & set(sys.modules)

embedder = open_embedder(Path(sys.argv[1]))
dimensions = embedder.dimensions
assert "torch" not in sys.modules
assert embedder.embed_query("where does the river flow").shape == (dimensions,)
assert "OMP_WAIT_POLICY" not in os.environ, "llama.cpp would see it"
"""


def run_fresh(folder: Path) -> str:
    """What a new process says that embeds with ``folder`` and has no network."""
    ran = subprocess.run(
        [sys.executable, "-c", _SILENT_AND_OFFLINE, str(folder)],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout + ran.stderr


# --- the real MiniLM ---------------------------------------------------------------------------


@pytest.mark.model
def test_a_first_load_is_lazy_silent_and_without_network(minilm_folder: Path) -> None:
    assert run_fresh(minilm_folder) == ""
