"""A folder with two files of every kind that is read, made by other programs than ours.

LibreOffice, Pillow and zip made them; the messages of Outlook are by the Node package @kenjiuno/msgreader.
"""

from __future__ import annotations

from pathlib import Path

FILES = Path(__file__).parent / "files"
ENDINGS = tuple(
    "html pdf docx md csv txt xlsx xls ods pptx odp odt rtf epub ipynb json jsonl yaml xml js eml mbox msg "
    "zip png jpg tiff webp scan.pdf".split()
)
SCANS = ("png", "jpg", "tiff", "webp", "scan.pdf")


def facts(ending: str) -> list[tuple[str, str, str]]:
    """What is planted in the two files with an ending: a lighthouse, its keeper, the code of its lamp."""
    number = 2 * ENDINGS.index(ending)
    return [_fact(number), _fact(number + 1)]


def _fact(number: int) -> tuple[str, str, str]:
    heads = "Arden Brack Corin Dunmer Eskal Fernow Glenta Hollin Inver Jarrow".split()
    tails = "hall mouth wick ness ford stead".split()
    keepers = "Ottilie Benedikt Marisol Sigrid Teodor Yusuf Ingrid".split()
    return (
        f"{heads[number % 10]}{tails[number // 10]}",
        f"{keepers[number % 7]} Vance",
        f"{7001 + 83 * number}",
    )
