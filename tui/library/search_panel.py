"""Searching by hand: a query, and the rank and score of every retrieval stage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import DataTable, Input, Static

from tui.app.failure import way_out
from tui.app.keys import bindings
from tui.app.lists import Notice
from tui.app.reach import deepthink
from tui.app.work import Failed, in_background
from tui.terminal import clean, counted, one_line

if TYPE_CHECKING:
    from agent.retrieval.recall import Recall
    from agent.steps.inspection import Staged
    from models.protocols import Embedder

_STAGES = {"rerank": "reader", "fused": "fused", "vector": "vector", "mmr": "MMR", "keyword": "keyword"}
_DIGITS = {"keyword": 2, "fused": 4}
_NUMBER, _STAGE, _GRADE = 4, 10, 16  # columns
_NAME_WIDTHS = (16, 60)  # columns: minimum and maximum


class SearchPanel(Vertical):
    BINDINGS = bindings("search")
    HELP = """\
### Searching by hand

The passages that a step of a run would get for this query, without a language model. `#name` looks only in
that collection, `from:petra`, `after:2024-03` and the like as in a question. Each column shows the
rank that a stage gave a passage, and its score. **reader** is the probability that the passage answers: it
orders the rows, and the **grade** says it in words. **fused** joins the ranks of **vector** (cosine),
**MMR** (the same, more varied) and **keyword** (BM25). **Enter** searches, and opens the passage under the
cursor.
"""
    DEFAULT_CSS = """
    SearchPanel { padding: 1 1 0 1; }
    SearchPanel #query { height: 1; border: none; padding: 0 1; }
    SearchPanel #state { height: auto; max-height: 3; margin: 1 0; color: $foreground 75%; }
    SearchPanel DataTable { height: auto; max-height: 48%; background: transparent; }
    SearchPanel #preview { height: 1fr; min-height: 4; border-top: solid $panel; }
    """

    def __init__(self) -> None:
        super().__init__(id="search")
        self._staged: Sequence[Staged] = ()
        self._recall: tuple[Embedder, Recall] | None = None  # keeps its keyword index between searches

    def compose(self) -> ComposeResult:
        yield Input(id="query", placeholder="A question or a few words; #collection looks only there")
        yield Notice("state")
        yield DataTable(cursor_type="row", cell_padding=0)
        with VerticalScroll(id="preview"):
            yield Static(markup=False)

    def on_mount(self) -> None:
        self._tell("Enter searches. No language model is used.")

    def search_for(self, words: str) -> None:
        self.query_one("#query", Input).value = words
        self._search()

    def on_resize(self) -> None:
        if self._staged:
            self._fill()

    @on(Input.Submitted)
    def _search(self) -> None:
        query = one_line(self.query_one("#query", Input).value)
        if not any(letter.isalnum() for letter in query):
            return
        is_loading = deepthink(self).engine_states.get("embedder", ("cold", ""))[0] == "loading"
        self._tell("The embedder is being loaded: some seconds, once …" if is_loading else "Searching …")
        work = partial(self._inspect, query)
        in_background(self, work, partial(self._show, query), group="search", exclusive=True)

    def _inspect(self, query: str) -> Sequence[Staged]:
        from agent.retrieval.filters import filters_of
        from agent.retrieval.recall import Recall
        from agent.steps.inspection import inspect
        from traces.library import Library
        from tui.ask.prompt import read
        from tui.library.actions import scope_of

        engine = deepthink(self).engine
        library = Library(engine.store)
        typed = read(query, frozenset(collection.name for collection in library.collections()))
        if not typed.question:  # there are only names of collections, or filters
            return ()
        names = (*typed.collections, *(word[1:] for word in typed.unknown if word.startswith("#")))
        scope = replace(scope_of(library, names), filters=filters_of(typed.filters))
        embedder = engine.embedder()
        if self._recall is None or self._recall[0] is not embedder:
            self._recall = (embedder, Recall(library, embedder))
        return inspect(typed.question, scope, self._recall[1], engine.reader())

    @on(Failed)
    def _tell_failure(self, message: Failed) -> None:
        self._tell(f"✗ {one_line(message.error.message)} {one_line(way_out(self, message.error))}")

    def _show(self, query: str, staged: Sequence[Staged]) -> None:
        self._staged = staged
        found = f"{counted(len(staged), 'passage')}, in the reader's order"
        self._tell(found if staged else "Nothing found.")
        self._fill()
        line = self.query_one("#query", Input)
        if staged and line.has_focus and one_line(line.value) == query:
            self.screen.set_focus(self.query_one(DataTable))

    def _fill(self) -> None:
        from tui.run.words import GRADES

        table = self.query_one(DataTable)
        row = table.cursor_row
        table.clear(columns=True)
        stages = [
            (name, label) for name, label in _STAGES.items() if any(name in s.ranks for s in self._staged)
        ]
        rest = _NUMBER + _STAGE * len(stages) + _GRADE + 1  # and the scrollbar
        name_width = min(max(table.container_size.width - rest, _NAME_WIDTHS[0]), _NAME_WIDTHS[1])
        table.add_column(Text("#".rjust(_NUMBER - 2)), width=_NUMBER)
        table.add_column("passage", width=name_width)
        table.add_column(" grade", width=_GRADE)
        for _, label in stages:
            table.add_column(Text(label.rjust(_STAGE)), width=_STAGE)
        for number, result in enumerate(self._staged, start=1):
            cells = [Text(_stage_cell(result, name).rjust(_STAGE)) for name, _ in stages]
            name = Text(_name(result, name_width), no_wrap=True)
            table.add_row(
                Text(str(number).rjust(_NUMBER - 2)),
                name,
                Text(f" {GRADES[result.grade]}"),
                *cells,
                key=str(result.passage.id),
            )
        if 0 <= row < len(self._staged):
            table.move_cursor(row=row)
        self._preview(0 if row >= len(self._staged) else row)

    @on(DataTable.RowHighlighted)
    def _preview_highlighted(self, event: DataTable.RowHighlighted) -> None:
        self._preview(event.cursor_row)

    def _preview(self, row: int) -> None:
        from tui.run.words import located

        if not 0 <= row < len(self._staged):
            self.query_one("#preview Static", Static).update("")
            return
        result = self._staged[row]
        passage = result.passage
        place = Content(located(passage.title or passage.document, passage.section, passage.page))
        facts = [passage.collection, clean(passage.document), passage.date]
        details = Content(" · ".join(one_line(fact) for fact in facts if fact)).stylize("$foreground 65%")
        text = Content(clean(passage.text))
        self.query_one("#preview Static", Static).update(
            Content("\n").join([place.stylize("bold"), details, text])
        )
        self.query_one("#preview", VerticalScroll).scroll_home(animate=False)

    @on(DataTable.RowSelected)
    def _open(self, event: DataTable.RowSelected) -> None:
        if event.row_key.value:
            from tui.library.passage import PassageScreen

            self.app.push_screen(PassageScreen(int(event.row_key.value)))

    def action_results(self) -> None:
        if self._staged:
            self.screen.set_focus(self.query_one(DataTable))

    def _tell(self, text: str) -> None:
        self.query_one(Notice).tell(text)


def _stage_cell(result: Staged, stage: str) -> str:
    if stage not in result.ranks:
        return "–"
    return f"{result.ranks[stage]} {result.scores[stage]:>6.{_DIGITS.get(stage, 3)}f}"


def _name(result: Staged, width: int) -> str:
    """The innermost heading, which distinguishes the passages of a document, and the title."""
    from traces.records import SECTION_SEPARATOR

    passage = result.passage
    title = one_line(passage.title or passage.document)
    heading = one_line(passage.section.split(SECTION_SEPARATOR)[-1])
    return one_line(f"{heading} · {title}" if heading and heading != title else title, width)
