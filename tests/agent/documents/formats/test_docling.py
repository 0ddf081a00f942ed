"""The Docling reader, with a stand-in for Docling: neither it nor its models are here."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from agent.documents.formats import docling_reader
from agent.documents.reading import read
from tests.agent.documents.formats.parsed import parse, shape, tables
from tests.agent.documents.formats.samples import pdf_file, scanned_pdf


class ConversionError(Exception):
    """What Docling raises."""


def square(text: str, column: int, *, header: bool = False) -> SimpleNamespace:
    return SimpleNamespace(
        text=text, start_col_offset_idx=column, end_col_offset_idx=column + 1, column_header=header
    )


def item(label: str, text: str = "", **others: Any) -> tuple[SimpleNamespace, int]:
    return SimpleNamespace(label=label, text=text, prov=[SimpleNamespace(page_no=1)], **others), 0


ITEMS = [
    item("page_header", "Furniture"),
    item("title", "The Title"),
    item("section_header", "A Section", level=1),
    item("text", "Some words."),
    item("list_item", "a point"),
    item(
        "table",
        data=SimpleNamespace(
            grid=[
                [square("", 0, header=True), square("2023", 1, header=True)],
                [square("Sales", 0), square("12", 1)],
            ]
        ),
    ),
]


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A package called docling whose converter returns what the test puts into ``result``."""
    result = SimpleNamespace(items=ITEMS, fails=False, options=[])

    def convert(_: object, stream: SimpleNamespace) -> SimpleNamespace:
        assert stream.stream.read(5) == b"%PDF-"
        if result.fails:
            raise ConversionError
        return SimpleNamespace(document=SimpleNamespace(iterate_items=lambda: iter(result.items)))

    def options(**given: object) -> SimpleNamespace:
        result.options.append(given)
        return SimpleNamespace(**given)

    modules: dict[str, dict[str, object]] = {
        "docling": {},
        "docling.datamodel": {},
        "docling.datamodel.base_models": {
            "DocumentStream": SimpleNamespace,
            "InputFormat": SimpleNamespace(PDF="pdf"),
        },
        "docling.datamodel.pipeline_options": {"PdfPipelineOptions": options},
        "docling.document_converter": {
            "DocumentConverter": type(
                "DocumentConverter", (), {"__init__": lambda _, format_options: None, "convert": convert}
            ),
            "PdfFormatOption": SimpleNamespace,
        },
        "docling.exceptions": {"ConversionError": ConversionError},
    }
    for name, content in modules.items():
        module = ModuleType(name)
        module.__spec__ = importlib.machinery.ModuleSpec(name, None)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)
    models = tmp_path / "models"
    models.mkdir()
    (models / "layout").touch()
    monkeypatch.setenv("DOCLING_ARTIFACTS_PATH", str(models))
    result.models = models
    return result


def test_docling_is_used_where_it_and_its_models_are(tmp_path: Path, stand_in: SimpleNamespace) -> None:
    document = parse(tmp_path, "a.pdf", pdf_file("Other words."))
    assert document.notices == ("Read with Docling.",)
    assert document.title == "The Title"
    assert document.pages == 1
    assert "Other words." in document.visible_text
    assert shape(document) == [
        ("heading", 1, "The Title"),
        ("heading", 2, "A Section"),
        ("text", 0, "Some words."),
        ("text", 0, "• a point"),
        ("table", 0, ""),
    ]
    (table,) = tables(document)
    assert (table.header, table.rows) == ((("", "2023"),), (("Sales", "12"),))
    assert stand_in.options == [{"artifacts_path": stand_in.models}]


def test_a_scan_that_docling_reads(tmp_path: Path, stand_in: SimpleNamespace) -> None:
    document = parse(tmp_path, "a.pdf", scanned_pdf())
    assert "Some words." in document.visible_text
    assert "Sales 12" in document.visible_text


@pytest.mark.parametrize("change", ["no models", "fails", "nothing found"])
def test_otherwise_pdfium_reads(tmp_path: Path, stand_in: SimpleNamespace, change: str) -> None:
    if change == "no models":
        (stand_in.models / "layout").unlink()
    elif change == "fails":
        stand_in.fails = True
    else:
        stand_in.items = []
    document = parse(tmp_path, "a.pdf", pdf_file("Other words."))
    assert shape(document) == [("text", 0, "Other words.")]


def test_without_docling_nothing_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "layout").touch()
    monkeypatch.setenv("DOCLING_ARTIFACTS_PATH", str(tmp_path / "models"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    path = tmp_path / "a.pdf"
    path.write_bytes(pdf_file("Other words."))
    assert docling_reader.read_with_docling(path, path.read_bytes(), lambda _name, _data: []) is None
    assert read(path).media_type == "application/pdf"
    assert "docling" not in sys.modules
