"""Reading a fetched page: the main text of an article, or a whole document.

Trafilatura removes navigation, adverts and footers and keeps headings, lists and tables; our HTML reader
then makes blocks of the rest. Other formats, filings (whose tables matter) and very long pages are kept
whole.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from agent.documents.document import NoText, ParsedDocument
from agent.documents.encoding import decode
from agent.documents.media_types import HTML
from agent.documents.reading import read_bytes
from agent.documents.wanted import Fetched

_FILING: Final = re.compile(rb"xbrl\.org/\d{4}/inlineXBRL|<(?:SEC-)?DOCUMENT>\s*<TYPE>", re.IGNORECASE)
_HEAD: Final = 1 << 16  # bytes in which a filing identifies itself
_LONGEST_ARTICLE: Final = 2 * 1024 * 1024  # bytes of HTML


@dataclass(frozen=True, slots=True)
class Reading:
    """A page as read, and the content that identifies its version.

    For an article, that content is the main text, because the rest of a page changes with every visit.
    """

    parsed: ParsedDocument
    content: bytes


def read_page(page: Fetched) -> Reading:
    """Read a page found by a search.

    Raises:
        UnreadableDocument: It is damaged, or its type is not supported.
        NoText: It has no text.
    """
    full_document = page.parsed()
    is_article = (
        full_document.media_type == HTML
        and len(page.data) <= _LONGEST_ARTICLE
        and not _FILING.search(page.data, 0, _HEAD)
    )
    return (_main_text(page, full_document) if is_article else None) or Reading(full_document, page.data)


def _main_text(page: Fetched, full_document: ParsedDocument) -> Reading | None:
    """The main text of a web page; None if Trafilatura finds none."""
    from trafilatura import extract_with_metadata

    text = decode(page.data, page.charset)
    try:
        article = extract_with_metadata(
            text,
            url=page.url,
            output_format="html",
            include_comments=False,
            # Otherwise it takes any date as the page's own, such as that of a copyright notice.
            date_extraction_params={
                "extensive_search": False,
                "original_date": True,
                "max_date": datetime.now(UTC).date().isoformat(),
            },
        )
    except Exception:  # noqa: BLE001 - it raises all kinds of errors on odd pages, which are then read whole
        return None
    if article is None or not (article.text or "").strip():
        return None
    content = str(article.text).encode()
    try:
        main = read_bytes("page.html", content, served_as=HTML)
    except NoText:
        return None
    document = replace(
        main,
        title=article.title or full_document.title,
        date=article.date or main.date or full_document.date,
        notices=()
        if _words(main) == _words(full_document)
        else ("Only the main text of the page is kept.",),
    )
    return Reading(document, content)


def _words(document: ParsedDocument) -> list[str]:
    return document.visible_text.split()
