"""Bytes to text: UTF-16 and UTF-32 by their mark or zeros, else UTF-8, else as declared or likeliest."""

from __future__ import annotations

import codecs
import re

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_DECLARATION = re.compile(rb"(?:charset\s*=\s*[\"']?|encoding\s*=\s*[\"'])([\w.:-]+)", re.IGNORECASE)
_SAMPLE = 1 << 20
# Browsers read these names as the larger character sets that pages really use (WHATWG Encoding Standard).
_BROWSER_CODECS = {
    "iso8859-1": "cp1252",
    "ascii": "cp1252",
    "iso8859-9": "cp1254",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
}
_VALID_PER_BROKEN = 5  # valid characters per broken one; text in another encoding has fewer


def decode(data: bytes, declared: str = "") -> str:
    """``data`` as text, with ``\\n`` at line ends. Bytes that are invalid in the encoding become U+FFFD.

    ``declared`` is the encoding that a server names. Text with a byte order mark or in UTF-8 is read as
    that all the same: servers often declare one encoding for all pages.
    """
    return _decode_raw(data, declared).replace("\r\n", "\n").replace("\r", "\n")


def marked_codec(data: bytes) -> str:
    """The codec that a byte order mark shows, or the zeros of Latin letters in UTF-16; else ""."""
    for mark, name in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return name
    even, odd = data[:_SAMPLE:2], data[1:_SAMPLE:2]
    for name, letters, zeros in (("utf-16-le", even, odd), ("utf-16-be", odd, even)):
        if 2 * zeros.count(0) > len(zeros) and 0 not in letters:
            return name
    return ""


def _decode_raw(data: bytes, declared: str) -> str:
    if marked := marked_codec(data):
        return data.decode(marked, "replace")
    if (text := _as_utf8(data)) is not None:
        return text
    head = data[:4096]
    in_head = _DECLARATION.search(head) if b"<" in head else None
    for name in (declared.strip().strip("\"'"), in_head[1].decode("ascii") if in_head else ""):
        try:
            codec_name = codecs.lookup(name).name
            return data.decode(_BROWSER_CODECS.get(codec_name, codec_name), "replace")
        except (LookupError, UnicodeError):
            continue  # an unknown name
    return data.decode(_likeliest(data), "replace")


def _as_utf8(data: bytes) -> str | None:
    """``data`` as UTF-8, if it is UTF-8 except for a few broken characters, which become U+FFFD."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
    broken = text.count("\ufffd") - data.count("\ufffd".encode())
    sound = len(text) - len(text.encode("ascii", "ignore")) - broken
    return text if sound >= _VALID_PER_BROKEN * broken else None


def _likeliest(data: bytes) -> str:
    from charset_normalizer import from_bytes

    sample = data[:_SAMPLE]
    if len(data) > _SAMPLE:  # half a character at the end would rule out the right encoding
        sample = sample.rpartition(b"\n")[0] or sample
    matches = from_bytes(sample)
    best = matches.best()
    if best is None:
        return "cp1252"
    likely = [match for match in matches if match.chaos <= best.chaos]
    likely_names = {name for match in likely for name in (match.encoding, *match.could_be_from_charset)}
    return "cp1252" if likely_names & {"cp1252", "latin_1", "ascii", "utf_8"} else best.encoding
