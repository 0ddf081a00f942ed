"""Has the base model put the short answers of real questions into sentences, which then are what is taught.

A sentence is taken only if it holds the answer word for word, and no number, name or unit from elsewhere.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from agent.text.language import readable
from models.protocols import Chat, ChatOptions, Message
from tests.benchmarks.answerer.data import Record, key
from tests.benchmarks.reader.data import records

_SYSTEM: Final = (
    "You put the answer to a question into one short, complete sentence that says what was asked. You copy "
    "the answer word for word and add nothing."
)
_EXAMPLES: Final = 8
_TOKENS: Final = 90
_NUMBER: Final = re.compile(r"\d(?:[\d.,]*\d)?")
_NAMES: Final = re.compile(r"\b[A-Z]\w*|[^\w\s.,;:()'’\"-]")


def with_sentences(
    found: Sequence[Record], examples: Sequence[Record], chat: Chat, file: Path
) -> list[Record]:
    """The records with the sentences of their answers; questions without a usable one are left out.

    ``file`` keeps what was written, so that a killed run continues; the examples are of written records.
    """
    shown = _shown(examples)
    kept = {line["key"]: line["sentence"] for line in records(file)} if file.is_file() else {}
    with file.open("a", encoding="utf-8") as stream:
        for record in found:
            for asked in record["qas"]:
                name = key(record, asked)
                if asked["answers"] and name not in kept:
                    kept[name] = _sentence(chat, shown, asked)
                    stream.write(
                        json.dumps({"key": name, "sentence": kept[name]}, ensure_ascii=False) + "\n"
                    )
                    stream.flush()
    complete = []
    for record in found:
        qas = [{**one, "sentence": kept.get(key(record, one), "")} for one in record["qas"]]
        qas = [one for one in qas if not one["answers"] or usable(record, one)]
        if any(one["answers"] for one in qas):
            complete.append({**record, "qas": qas})
    return complete


def _shown(examples: Sequence[Record]) -> str:
    asked = [
        one
        for record in examples
        for one in record["qas"]
        if one["answers"] and readable(one["question"]) and usable(record, one)
    ]
    drawn = random.Random(0).sample(asked, min(_EXAMPLES, len(asked)))
    return "\n\n".join(f"{_prompt(one)} {one['sentence']}" for one in drawn)


def _prompt(asked: Record) -> str:
    scale = f" ({asked['scale']})" if asked.get("scale") else ""
    answers = asked["answers"] if asked["kind"] == "list" else asked["answers"][:1]
    return f"QUESTION: {asked['question']}\nANSWER: {'; '.join(answers)}{scale}\nSENTENCE:"


def _sentence(chat: Chat, shown: str, asked: Record) -> str:
    messages = [Message("system", _SYSTEM), Message("user", f"{shown}\n\n{_prompt(asked)}")]
    text = chat.generate(messages, ChatOptions(max_tokens=_TOKENS)).text.strip().partition("\n")[0]
    return text.removeprefix("SENTENCE:").strip()


def usable(record: Record, asked: Record) -> bool:
    """Whether an answer's sentence holds the answer, all of a list, and says more than it.

    Its numbers must be in the question or the answer, its capitalised words and signs in the text too.
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
    )
