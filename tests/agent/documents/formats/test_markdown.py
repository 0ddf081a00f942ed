"""Markdown: headings, lists, tables, code, HTML inside, front matter."""

from __future__ import annotations

import pytest

from agent.documents.chunking import chunk, coverage
from tests.agent.documents.formats.parsed import doubled_sentences, parse, shape, tables

PAGE = """---
title: "Field Notes"
date: 2024-03-02
tags: [a, b]
---
# First

Some *text* with `code`, a [link](http://example.org) and an ![image of a dog](dog.png).
A line that goes on.

- one
- **two**
  - nested
1. first

   its second paragraph
2. second

Setext heading
--------------

| Name | Amount |
|------|-------:|
| a    | 1,000  |
| b    | ~~2~~ 3 |

```python
def f():
    return 1
```

<table><tr><th>k</th><th>v</th></tr><tr><td>x</td><td>5</td></tr></table>

> 引用的中文
> 句子。
"""


def test_blocks() -> None:
    document = parse("a.md", PAGE)
    assert document.title == "Field Notes"
    assert document.date == "2024-03-02"
    assert shape(document) == [
        ("heading", 1, "First"),
        ("text", 0, "Some text with code, a link and an image of a dog. A line that goes on."),
        ("text", 0, "• one"),
        ("text", 0, "• two"),
        ("text", 0, "• nested"),
        ("text", 0, "1. first"),
        ("text", 0, "its second paragraph"),
        ("text", 0, "2. second"),
        ("heading", 2, "Setext heading"),
        ("table", 0, ""),
        ("text", 0, "def f():\n    return 1"),
        ("table", 0, ""),
        ("text", 0, "引用的中文句子。"),
    ]
    first, second = tables(document)
    assert first.header == (("Name", "Amount"),)
    assert first.rows == (("a", "1,000"), ("b", "2 3"))
    assert second.rows == (("x", "5"),)
    chunks = chunk(document)
    assert (coverage(document, chunks), doubled_sentences(document, chunks)) == (1.0, [])
    assert "tags" not in document.visible_text


@pytest.mark.parametrize(
    "part", ["<!DOCTYPE html>", "<html>", "<html><head><title>T</title></head>", "</div>", "<!-- c -->"]
)
def test_a_part_of_a_page_that_shows_nothing_is_nothing(part: str) -> None:
    document = parse("a.md", f"{part}\n\nOnly this is visible.\n")
    assert shape(document) == [("text", 0, "Only this is visible.")]
    assert document.visible_text == "Only this is visible."


@pytest.mark.parametrize(
    "matter",
    [
        "title: T\ntags:\n- a\n-\n\n# why\n  - b",
        "# first\n'title': 'T'\nlist: [\n  a\n]",
        "title:   T  \nDate created: 2024-03-02\nog:type: article\nabstract: |\n  Some words.\n\n  More.",
    ],
)
@pytest.mark.parametrize("end", ["---", "...", "---  "])
def test_front_matter_is_no_text(matter: str, end: str) -> None:
    document = parse("a.md", f"---\n{matter}\n{end}\nOnly this is visible.\n")
    assert document.visible_text == "Only this is visible."
    assert shape(document) == [("text", 0, "Only this is visible.")]


@pytest.mark.parametrize(
    ("written", "title"),
    [
        ('"The \\"new\\" rules \\u2013 draft"', 'The "new" rules – draft'),
        ("'The landlord''s rules'", "The landlord's rules"),
        ("Rules: the new ones", "Rules: the new ones"),
        ('"Rules" of the house', '"Rules" of the house'),
    ],
)
def test_a_quoted_title_is_read_without_its_quotes_and_escapes(written: str, title: str) -> None:
    assert parse("a.md", f"---\ntitle: {written}\n---\nText.\n").title == title


@pytest.mark.parametrize(
    "opening",
    [
        "\nFirst part.\n\n",
        "First part.\n",
        "First: a part,\nand more words\n",
        "- First part.\n",
        "So he said the following thing: First part.\n",
        "# First part.\n\n",
    ],
)
def test_what_stands_between_two_rules_is_text(opening: str) -> None:
    document = parse("a.md", f"---\n{opening}---\n\nSecond part.\n")
    whole = " ".join(block.text for block in document.blocks)
    for text in (whole, document.visible_text):
        assert "First" in text
        assert "Second part." in text


def test_a_very_long_title_ends_after_a_word() -> None:
    heading = "Minutes of the association of lighthouse keepers " * 5
    title = parse("minutes.md", f"# {heading}\n\nThe chair is Ilse Brandt.\n").title
    assert len(title) <= 160
    assert title.endswith(" …")
    assert heading.startswith(title.removesuffix("…"))
