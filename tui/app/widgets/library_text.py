"""A document's passages as one long text, of which only what is near to the reader is laid out."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.visual import Visual

from traces.records import Passage
from tui.app.widgets.library_quote import bare, find_quote, find_words
from tui.app.widgets.library_table import aligned
from tui.terminal import clean, one_line

_NEAR = 20  # passages laid out before and after the wanted one, and again whenever an end comes near
_MARGIN = 2
_ABOVE = 3  # lines left above a passage that is gone to


class DocumentText(ScrollView, can_focus=True):
    """Passages in reading order; one of them is the current one, one may be the one that is cited.

    Attributes:
        current: Index of the current passage, which has a bar in the margin.
    """

    HELP = """\
### The document

The passages of the document in their order. **N** and **P** go from passage to passage, the arrows and
the page keys scroll, **/** finds words, **C** copies the passage with the bar in the margin. The supporting
sentence stands between “ and ”.
"""
    DEFAULT_CSS = """
    DocumentText {
        background: $background; padding: 0 2 0 1; height: 1fr;
        overflow-x: hidden; scrollbar-gutter: stable;
    }
    """
    current: reactive[int] = reactive(0)

    class Moved(Message):
        """Another passage is the current one."""

    def __init__(self, label: str = "", quote: str = "") -> None:
        super().__init__()
        self._label = label
        self._quote = quote
        self._wanted = -1
        self._words = ""
        self._passages: Sequence[Passage] = ()
        self._first = self._last = 0  # what is laid out, the last one not included
        self._lines: list[Strip] = []
        self._starts: list[int] = []  # the line where each passage that is laid out begins
        self._bare: list[str] = []  # the texts as they are looked through, once somebody does
        # What was laid out: by passage, whether it is the current one, and the words found in it.
        self._made: dict[tuple[int, bool, str], list[Strip]] = {}
        self._made_for: tuple[object, ...] = ()

    def open(self, passages: Sequence[Passage], wanted: int) -> None:
        """Show ``passages``, scrolled to the one with this index."""
        self._passages = passages
        self._wanted = wanted
        self._made, self._bare = {}, []
        self.go_to(wanted)

    def go_to(self, index: int) -> None:
        """Make a passage the current one, and bring it into view with its quotation or the words found."""
        if not self._passages:
            return
        index = min(max(index, 0), len(self._passages) - 1)
        self.set_reactive(DocumentText.current, index)
        if not self._first <= index < self._last:
            self._first, self._last = self._around(index)
        self._lay_out()
        top = self._starts[index - self._first]
        self.scroll_to(y=max(top - _ABOVE, 0), animate=False, force=True)
        self.post_message(self.Moved())

    def find(self, words: str, by: int) -> int:
        """Go to the next passage that holds ``words``, going on at the other end; how many hold them.

        Args:
            words: Marked wherever they stand; nothing is if they are empty.
            by: 1 forwards, -1 backwards, 0 from the current passage on, itself included.
        """
        self._words = words
        holding = [i for i in range(len(self._passages)) if self._holds(i)]
        if holding:
            ahead = [i for i in holding if (i >= self.current if by == 0 else i > self.current)]
            behind = [i for i in holding if i < self.current]
            self.go_to((behind or holding)[-1] if by < 0 else (ahead or holding)[0])
        else:
            self._lay_out()
        return len(holding)

    def _holds(self, index: int) -> bool:
        """Whether the words that are looked for are in this passage."""
        wanted = bare(self._words)
        if wanted and not self._bare:
            self._bare = [bare(passage.text) for passage in self._passages]
        return bool(wanted) and wanted in self._bare[index]

    @property
    def passage(self) -> Passage | None:
        """The current one."""
        return self._passages[self.current] if self._passages else None

    @property
    def laid_out(self) -> int:
        """How many passages are laid out."""
        return self._last - self._first

    def _around(self, index: int) -> tuple[int, int]:
        return max(index - _NEAR, 0), min(index + _NEAR + 1, len(self._passages))

    def _lay_out(self) -> None:
        width = self.scrollable_content_region.width - _MARGIN
        if width <= 0:  # not on the screen yet; `on_resize` will be
            self._lines, self._starts = [], [0] * (self._last - self._first)
            return
        made_for = (width, self.visual_style, self.app.theme, self._wanted)
        if made_for != self._made_for:
            self._made, self._made_for = {}, made_for
        self._lines, self._starts = [], []
        for index in range(self._first, self._last):
            self._starts.append(len(self._lines))
            words = self._words if self._holds(index) else ""
            key = (index, index == self.current, words)
            if key not in self._made:
                self._made[key] = self._strips(index, width)
            self._lines.extend(self._made[key])
        self.virtual_size = Size(width + _MARGIN, len(self._lines))
        self.refresh()

    def _strips(self, index: int, width: int) -> list[Strip]:
        passage, before = self._passages[index], self._passages[index - 1] if index else None
        bar = "[b $primary]▌[/] " if index == self.current else "  "
        pieces: list[tuple[str, Content]] = []
        if passage.section and (before is None or before.section != passage.section):
            pieces.append(("  ", Content(one_line(passage.section)).stylize("bold $primary")))
        if passage.page and (before is None or before.page != passage.page):
            pieces.append(("  ", Content(f"p. {passage.page}").stylize("$foreground 55%")))
        if index == self._wanted and self._label:
            pieces.append((bar, Content(f"▸ {self._label}").stylize("bold $accent")))
        pieces.append((bar, self._marked(index, width)))
        strips: list[Strip] = []
        for margin, content in pieces:
            edge = Visual.to_strips(
                self, Content.from_markup(margin), _MARGIN, 1, self.visual_style, apply_selection=False
            )
            lines = Visual.to_strips(
                self, content, width, None, self.visual_style, apply_selection=False, pad=True
            )
            strips.extend(Strip.join([edge[0], line]) for line in lines)
        return [*strips, Strip.blank(width + _MARGIN, self.rich_style)]

    def _marked(self, index: int, width: int) -> Content:
        """The text of a passage with what is quoted from it and what was found in it marked."""
        passage = self._passages[index]
        text = aligned(clean(passage.text), width - 2) if passage.kind == "table" else clean(passage.text)
        content = Content(text)
        for start, end in find_words(text, self._words):
            content = content.stylize("reverse", start, end)
        quoted = find_quote(text, self._quote) if index == self._wanted and self._quote else []
        for start, end in reversed(quoted):
            inside = content[start:end].stylize("bold underline $accent")
            sign = Content("“").stylize("bold $accent")
            close = Content("”").stylize("bold $accent")
            content = Content("").join([content[:start], sign, inside, close, content[end:]])
        return content

    def render_line(self, y: int) -> Strip:
        """A line of what is in view."""
        at = self.scroll_offset.y + y
        width = self.scrollable_content_region.width
        if at >= len(self._lines):
            return Strip.blank(width, self.rich_style)
        return self._lines[at].crop_extend(0, width, self.rich_style)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Lay out more where an end of what is laid out comes near."""
        super().watch_scroll_y(old_value, new_value)
        if any(self._ends_near()):
            self.call_later(self._extend)

    def _ends_near(self) -> tuple[bool, bool]:
        """Whether the first and the last passage that are laid out are near, and not the document's."""
        page = self.size.height
        before = self._first > 0 and self.scroll_y < page
        after = self._last < len(self._passages) and self.scroll_y + 2 * page >= len(self._lines)
        return before, after

    async def _extend(self) -> None:
        # What is scrolled to is a line of the old text: the way there is not gone on with.
        await self.stop_animation("scroll_y")
        before, after = self._ends_near()
        more = min(_NEAR, self._first) if before else 0
        self._first -= more
        self._last = min(self._last + (_NEAR if after else 0), len(self._passages))
        if before or after:
            at = self.scroll_y
            self._lay_out()
            self.scroll_to(y=at + self._starts[more], animate=False, force=True)

    def on_resize(self, _event: events.Resize) -> None:
        """Lines break elsewhere; the current passage stays in view."""
        if self._passages:
            self.go_to(self.current)

    def notify_style_update(self) -> None:
        """Another theme has other colours."""
        super().notify_style_update()
        if self._passages:
            self._lay_out()

    def action_scroll_home(self) -> None:
        """To the first passage of the document."""
        self.go_to(0)

    def action_scroll_end(self) -> None:
        """To the last passage of the document."""
        self.go_to(len(self._passages) - 1)
