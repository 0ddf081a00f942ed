"""Has the base model write what the sets lack: the sentences of short answers, and questions on cells.

A sentence is taken only if it holds the answer word for word, and no number, name or unit from elsewhere.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from agent.text.language import readable
from policy.training.adapters import Base, load_tokenizer, load_weights
from tests.benchmarks.answerer.data import Record, joined
from tests.benchmarks.reader.data import SentenceOf, records

_SYSTEM: Final = (
    "You put the answer to a question into one short, complete sentence that says what was asked. You copy "
    "the answer word for word and add nothing."
)
_ASKING: Final = (
    "You write a question about the VALUE as a person would type it, then => and its answer in one short "
    "sentence. The sentence holds the VALUE word for word; the question does not."
)
_ASKED: Final = (
    (
        ("vfl season 1972", "home team = collingwood", "venue", "victoria park"),
        "Where did Collingwood play at home in the 1972 season? => Collingwood played at victoria park.",
    ),
    (
        ("Interstellar", "", "Music by", "Hans Zimmer"),
        "Who wrote the music for Interstellar? => The music for Interstellar is by Hans Zimmer.",
    ),
    (
        ("river ferries", "ship = blue marlin", "capacity", "240"),
        "How many passengers does the blue marlin take? => The blue marlin has a capacity of 240.",
    ),
)
_EXAMPLES: Final = 4
_TOKENS: Final = 56
_BATCH: Final = 768
_NUMBER: Final = re.compile(r"\d(?:[\d.,]*\d)?")
_NAMES: Final = re.compile(r"\b[A-Z]\w*|[^\w\s.,;:()'’\"-]")

Writer = Callable[[Sequence[str]], Sequence[str]]
"""Completes prompts."""


def completed(
    found: Sequence[Record], examples: Sequence[Record], write: Writer, file: Path
) -> list[Record]:
    """The records with the sentences of their answers; questions without a usable one are left out.

    ``file`` keeps what was written, so that a killed run continues; the examples are of written records.
    """
    shown = _shown(examples)
    kept = _kept(file) if file.is_file() else {}
    missing = {
        _name(record, asked): _prompt(shown, asked)
        for record in found
        for asked in record["qas"]
        if asked["answers"] and not asked["sentence"] and _name(record, asked) not in kept
    }
    with file.open("a", encoding="utf-8") as stream:
        for batch in _batches(sorted(missing, key=lambda name: len(missing[name]))):
            for name, text in zip(batch, write([missing[name] for name in batch]), strict=True):
                kept[name] = text
                stream.write(json.dumps({"key": name, "text": text}, ensure_ascii=False) + "\n")
            stream.flush()
    complete = []
    for record in found:
        qas = [one for asked in record["qas"] if (one := _completed(record, asked, kept))]
        if any(one["answers"] for one in qas):
            complete.append({**record, "qas": qas})
    return complete


def _completed(record: Record, asked: Record, kept: Mapping[str, str]) -> Record | None:
    """A question with what was written for it, if anything had to be; None if that is not usable."""
    if asked["sentence"] or not asked["answers"]:
        return asked
    written = _with_text(asked, kept[_name(record, asked)])
    return written if usable(record, written) else None


def kept_sentences(file: Path) -> SentenceOf:
    """The usable sentences of a ``file`` that `completed` wrote, of a question on a record, or nothing."""
    kept = _kept(file)

    def sentence_of(record: Record, asked: Record) -> str:
        text = kept.get(_name(record, asked))
        one = _with_text({"kind": "text", **asked}, text or "")
        return one["sentence"] if text and usable(record, one) else ""

    return sentence_of


def _kept(file: Path) -> dict[str, str]:
    return {line["key"]: line["text"] for line in records(file)}


def writer(base: Base) -> Writer:
    """The base model, in batches; loaded at the first, which a run that continues may not need."""

    @cache
    def loaded() -> tuple[Any, Any]:
        import torch

        device = "cuda" if torch.cuda.is_available() else "cpu"
        return load_tokenizer(base.folder), load_weights(base.folder).to(device).eval()

    def write(prompts: Sequence[str]) -> Sequence[str]:
        import torch

        tokenizer, model = loaded()
        read = tokenizer(list(prompts), return_tensors="pt", padding=True, add_special_tokens=False)
        with torch.inference_mode():
            out = model.generate(**read.to(model.device), max_new_tokens=_TOKENS, do_sample=False)
        texts: list[str] = tokenizer.batch_decode(
            out[:, read["input_ids"].shape[1] :], skip_special_tokens=True
        )
        return texts

    return write


def _batches(names: Sequence[str]) -> Iterator[Sequence[str]]:
    return (names[at : at + _BATCH] for at in range(0, len(names), _BATCH))


def _name(record: Record, asked: Record) -> str:
    """Names a question on a record."""
    name = f"{record['title']} {asked['question']} {'; '.join(asked['answers'])}"
    cell = asked.get("cell")
    return f"{name} {cell['row']} {cell['column']}" if cell else name


def _shown(examples: Sequence[Record]) -> str:
    asked = [
        one
        for record in examples
        for one in record["qas"]
        if one["answers"] and readable(one["question"]) and usable(record, one)
    ]
    drawn = random.Random(3).sample(asked, min(_EXAMPLES, len(asked)))
    return "\n\n".join(f"{_answered(one)}\nSENTENCE: {one['sentence']}" for one in drawn)


def _answered(asked: Record) -> str:
    scale = f" ({asked['scale']})" if asked.get("scale") else ""
    answers = asked["answers"] if asked["kind"] == "list" else asked["answers"][:1]
    return f"QUESTION: {asked['question']}\nANSWER: {'; '.join(answers)}{scale}"


def _prompt(shown: str, asked: Record) -> str:
    """The beginning of the reply stands there already: a small model then keeps to the form."""
    if cell := asked.get("cell"):
        described = [f"{_cell(*one)}\nOUT: {text}" for one, text in _ASKED]
        described.append(_cell(cell["table"], cell["row"], cell["column"], joined(asked["answers"])))
        return _turns(_ASKING, "\n\n".join(described), "OUT:")
    return _turns(_SYSTEM, f"{shown}\n\n{_answered(asked)}", "SENTENCE:")


def _cell(table: str, row: str, column: str, value: str) -> str:
    return f"TABLE: {table}\nROW: {row}\nCOLUMN: {column}\nVALUE: {value}"


def _turns(system: str, user: str, beginning: str) -> str:
    return (
        f"<|im_start|>system\n{system}<|im_end|>\n<|im_start|>user\n{user}<|im_end|>\n"
        f"<|im_start|>assistant\n{beginning}"
    )


def _with_text(asked: Record, text: str) -> Record:
    """A question with what was written for it."""
    line = text.strip().partition("\n")[0]
    if "cell" not in asked:
        return {**asked, "sentence": line}
    question, _, sentence = (part.strip() for part in line.partition("=>"))
    if sentence and not sentence.endswith("."):
        sentence += "."
    return {**asked, "question": question, "sentence": sentence}


def usable(record: Record, asked: Record) -> bool:
    """Whether an answer's sentence holds the answer, all of a list, and says more than it.

    Its numbers must be in the question or the answer, its capitalised words and signs in the text too. A
    question that was written for a cell names the row and not the cell.
    """
    sentence = asked["sentence"]
    answers: list[str] = asked["answers"] if asked["kind"] == "list" else asked["answers"][:1]
    said = " ".join([asked["question"], *answers])
    known = f"{record['title']} {record['context']} {said}".casefold()
    return (
        all(answer.rstrip(". ").casefold() in sentence.casefold() for answer in answers)
        and sentence.endswith((".", "!", "。"))
        and set(_NUMBER.findall(sentence)) <= set(_NUMBER.findall(said))
        and all(name.casefold() in known for name in _NAMES.findall(sentence)[1:])
        and len(sentence) > len(" ".join(answers)) + 8
        and ("cell" not in asked or _asks(asked["question"], asked["cell"], answers))
    )


def _asks(question: str, cell: dict[str, Any], values: Sequence[str]) -> bool:
    folded = question.casefold()
    return (
        question.endswith("?")
        and cell["named"].casefold() in folded
        and not any(value.casefold() in folded for value in values)
    )
