"""What a person does with an answer: copy, rate, export it, ask again, look elsewhere."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tui.app.watching import Watches
from tui.app.widgets.conversation import Conversation
from tui.app.widgets.prompt import Prompt
from tui.app.work import in_background

if TYPE_CHECKING:
    from traces.ratings import Rating
    from tui.app.widgets.run_list_work import Rated
    from tui.app.widgets.ways_on import WaysOn


class Answers(Watches):
    """A screen with actions on its last answer."""

    _rated: tuple[str, str] = ("", "")  # the run that was rated last, and how

    def put_question(self, text: str) -> None:
        """Put a question into the prompt, to be changed or asked."""
        self.query_one(Prompt).put(text)
        self.to_prompt()

    def action_copy(self, sources: bool = False) -> None:
        """Put the last answer on the clipboard, with its sources if wanted."""
        turns = [turn for turn in reversed(self.query_one(Conversation).turns) if turn.answer]
        if not turns:
            self.notify("There is no answer yet.")
            return
        self.app.copy_to_clipboard(turns[0].with_sources if sources else turns[0].answer)
        self.notify("Copied with its sources." if sources else "Answer copied.")

    def action_retry(self) -> None:
        """Put the last question back into the prompt, to be edited and asked again."""
        exchange = self.query_one(Conversation).latest
        if exchange is not None and self.live is None:
            self.put_question(self._typed or exchange.question)

    def action_rate(self, rating: Rating) -> None:
        """Rate the last answer, or take that rating back."""
        from tui.app.widgets.run_list_work import rate

        if self.fold is not None and self.fold.over and self.fold.run_id:
            wanted = (self.fold.run_id, rating)
            self._rated = ("", "") if self._rated == wanted else wanted
            kept = rating if self._rated == wanted else None
            work = partial(rate, self.deepthink.engine.store, self.fold.run_id, kept)
            in_background(self, work, group="rate")

    def on_rated(self, message: Rated) -> None:
        """Say so."""
        self.notify(f"Rated as {message.rating}." if message.rating else "Rating removed.")

    def action_export(self) -> None:
        """Write the last run to a file."""
        if self.fold is not None and self.fold.over and self.fold.run_id:
            from tui.app.screens.export import ExportScreen

            self.app.push_screen(ExportScreen(self.fold.run_id, self.fold.outcome.question))

    def on_ways_on_taken(self, event: WaysOn.Taken) -> None:
        """Ask in other words or everywhere, or search the library by hand."""
        if event.way == "search":
            self.app.call_later(self._search_library, event.question)
        elif event.way == "everywhere" and self.live is None:
            self.ask(event.question)
        else:
            self.put_question(event.question)

    def _search_library(self, question: str) -> None:
        from tui.app.screens.library import LibraryScreen
        from tui.app.widgets.search_panel import SearchPanel

        self.deepthink.action_mode("library")
        screen = self.app.screen
        if isinstance(screen, LibraryScreen):

            def search() -> None:
                screen.action_search()
                screen.query_one(SearchPanel).search_for(question)

            screen.call_after_refresh(search)  # it may be the first time that it is shown
