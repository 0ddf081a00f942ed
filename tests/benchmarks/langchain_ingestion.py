"""The named alternative of `tests.benchmarks.ingestion`: LangChain's loaders, its splitter, Chroma.

Run by its path, with a Python that has these packages; it knows nothing of deepthink. One file after the
other, as LangChain's tutorials have it. Arguments: folder of the embedding model, an empty folder for
Chroma, a file for the chunks' texts (JSON lines), and the files. The last line of its output is JSON.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

CHUNK, OVERLAP = 1000, 200  # characters, as in LangChain's own tutorial


def main(model: str, persistent: str, texts: str, *files: str) -> None:
    """Read, split, embed, store; then say how long each took."""
    warnings.simplefilter("ignore")  # deprecations, which langchain-community is full of
    began = time.perf_counter()
    from langchain_chroma import Chroma
    from langchain_community.document_loaders import BSHTMLLoader, PyPDFLoader
    from langchain_community.embeddings import HuggingFaceEmbeddings
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    embeddings = HuggingFaceEmbeddings(
        model_name=model,
        model_kwargs={"device": "cpu", "local_files_only": True},
        encode_kwargs={"normalize_embeddings": True},
    )
    opened = time.perf_counter()
    documents: list[Any] = []
    for file in files:
        loader: Any = (
            PyPDFLoader(file) if file.endswith(".pdf") else BSHTMLLoader(file, open_encoding="utf-8")
        )
        documents += loader.load()
    chunks = RecursiveCharacterTextSplitter(chunk_size=CHUNK, chunk_overlap=OVERLAP).split_documents(
        documents
    )
    read = time.perf_counter()
    Chroma.from_documents(chunks, embeddings, persist_directory=persistent)
    stored = time.perf_counter()
    with Path(texts).open("w", encoding="utf-8") as out:
        for chunk in chunks:
            out.write(json.dumps([chunk.metadata["source"], chunk.page_content]) + "\n")
    told = {
        "chunks": len(chunks),
        "opening": opened - began,
        "reading": read - opened,
        "storing": stored - read,
    }
    sys.stdout.write(f"\n{json.dumps(told)}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
