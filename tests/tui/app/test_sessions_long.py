"""A long session: its latest turns at once, those before when they are wanted."""

from __future__ import annotations

from pathlib import Path

from tests.tui import parts
from tests.tui.app.conftest import MakeApp
from tests.tui.app.test_ask import ready
from tests.tui.app.waiting import until
from tests.tui.conftest import Answering
from tests.tui.stored import store_run
from traces.paths import store_file
from traces.sessions import Sessions
from traces.store import Store
from tui.app.widgets.conversation import AT_ONCE, Conversation
from tui.app.widgets.exchange import Exchange

TURNS = 20


def stored() -> str:
    """A session of many answered questions; its id."""
    session = Sessions(Store(store_file())).begin("long")
    events = [(float(at), event) for at, event in enumerate(parts.whole_run()[1:-1]) if event.stored]
    for turn in range(TURNS):
        store_run(events, question=f"Question {turn}?", session=session)
    return session


async def test_earlier_turns_come_at_the_top_and_what_is_read_stays_where_it_is(
    make_app: MakeApp, filled: Path
) -> None:
    session = stored()
    app = make_app(Answering())
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await ready(pilot)
        screen._session_chosen(session)
        await until(pilot, lambda: len(screen.query(Exchange)) == AT_ONCE)
        conversation = screen.query_one(Conversation)
        await until(pilot, lambda: conversation.max_scroll_y > 0)
        assert screen.session == session
        last = screen.query(Exchange).last()
        assert last.question == f"Question {TURNS - 1}?"
        await until(pilot, lambda: conversation.scroll_y == conversation.max_scroll_y)
        conversation.scroll_home(animate=False)
        await until(pilot, lambda: len(screen.query(Exchange)) == 2 * AT_ONCE)
        await until(pilot, lambda: conversation.scroll_y > 0)
        await screen.run_action("older")
        await until(pilot, lambda: len(screen.query(Exchange)) == TURNS)
        assert not conversation.has_earlier
        questions = [exchange.question for exchange in screen.query(Exchange)]
        assert questions == [f"Question {turn}?" for turn in range(TURNS)]
