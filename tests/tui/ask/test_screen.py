"""Asking in the app: the conversation, the citations, the prompt; where the keys go; narrow terminals."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime
from itertools import product
from pathlib import Path
from urllib.parse import unquote

import pytest
from textual.content import Content
from textual.events import Key
from textual.pilot import Pilot
from textual.widgets import DataTable, Input, OptionList, Static
from textual.widgets._footer import FooterKey

from agent import events as ev
from agent.documents.document import UnreadableDocument
from agent.documents.sample_library import COLLECTIONS, documents
from tests.scripted import WordReader
from tests.tui.conftest import QUESTION, Answering, Gate, MakeApp
from tests.tui.library.shelf import put
from tests.tui.seen import shown_keys, text_of, toasts
from tests.tui.waiting import PATIENCE, comes, opens, until
from traces.library import Library
from traces.paths import config_file
from traces.records import Collection
from traces.runs import Ratings, Runs
from traces.store import StoreBusy
from tui.app.app import DeepthinkApp
from tui.app.find import FindBar
from tui.ask.conversation import Conversation, load_beginning
from tui.ask.prompt import Prompt, Typed, begin
from tui.ask.screen import AskScreen, _examples
from tui.ask.welcome import WelcomeScreen
from tui.decisions.strip import DecisionStrip
from tui.library.passage import PassageScreen
from tui.library.screen import LibraryScreen
from tui.run.exchange import Answer, AskedBox, Exchange, Sources, WaysOn
from tui.run.live import LiveRun, Meters, RunBar
from tui.run.panel import EvidenceList, PlanTree
from tui.run.words import Transcript, facts
from tui.runs.windows import ExportScreen

UNSUPPORTED = "Orlavane buys its ceramic bearings from Mars Mining, which employs 4,711 people."


def ask_screen(app: DeepthinkApp) -> AskScreen:
    """The Ask screen, which is beneath whatever lies over it."""
    screen = app.screen_stack[0]
    assert isinstance(screen, AskScreen)
    return screen


async def ready(pilot: Pilot[int]) -> AskScreen:
    """The Ask screen once it has read what is stored."""
    app = pilot.app
    assert isinstance(app, DeepthinkApp)
    await until(pilot, lambda: app.screen_stack and ask_screen(app).query_one(Meters).model)
    return ask_screen(app)


async def begun(pilot: Pilot[int], question: str = QUESTION) -> AskScreen:
    screen = await ready(pilot)
    screen.query_one(Prompt).put(question)
    await pilot.press("enter")
    return screen


async def over(pilot: Pilot[int], screen: AskScreen) -> None:
    await until(pilot, lambda: screen.live is None)


async def accept(pilot: Pilot[int], screen: AskScreen) -> None:
    """Accept the answer as it is, if that is asked."""
    await until(pilot, lambda: screen.live is None or asking(screen, "approve")())
    if screen.live is not None:
        choices = screen.query_one(AskedBox).query_one(OptionList)
        await until(pilot, lambda: choices.has_focus)
        await pilot.press("down", "enter")


def asking(screen: AskScreen, about: str) -> Callable[[], bool]:
    """Whether the run asks about that."""
    return lambda: any(box.event.about == about and box.children for box in screen.query(AskedBox))


async def asked(pilot: Pilot[int], question: str = QUESTION) -> AskScreen:
    """Ask, accept the answer if that is asked, and wait for the end of the run."""
    screen = await begun(pilot, question)
    await accept(pilot, screen)
    await over(pilot, screen)
    return screen


async def not_found(pilot: Pilot[int]) -> tuple[AskScreen, WaysOn, list[str]]:
    """Ask what nothing is found for, and wait for the ways on; also the collections it searched."""
    screen = await asked(pilot)
    ways = screen.query_one(WaysOn)
    await until(pilot, lambda: ways.option_count > 2)
    assert screen.fold is not None
    assert screen.fold.started is not None
    return screen, ways, screen.fold.started.collections


def answer_of(exchange: Exchange) -> str:
    """The answer's text as it is drawn."""
    return "\n".join(str(block.render()) for block in exchange.query_one(Answer).query(Static))


async def test_a_first_look_stands_there_until_the_answer_does(
    app: DeepthinkApp, chat: Answering, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = WordReader({QUESTION: ("buys all", 0.6)})
    monkeypatch.setattr("tui.assemble.open_reader", lambda _settings: reader)
    gate = chat.during = Gate(3)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await begun(pilot)
        look = screen.query_one(".look", Static)
        await until(pilot, gate.reached.is_set)
        await until(pilot, lambda: look.display)
        assert str(look.content).startswith("first look, likely: buys all – Orlavane buys all")
        assert answer_of(screen.query_one(Exchange)) == ""
        gate.open()
        await until(pilot, lambda: screen.live is None or (screen.fold and screen.fold.unanswered))
        assert not look.display


async def test_an_app_begun_with_a_question_has_it_in_the_prompt_and_leaves_the_sending_to_the_user(
    make_app: MakeApp, home: Path
) -> None:
    async with make_app(begin_with=["Who supplies", "the bearings?"]).run_test(size=(80, 24)) as pilot:
        screen = await ready(pilot)
        await until(pilot, lambda: screen.query_one(Prompt).text == "Who supplies the bearings?")
        assert screen.live is None
        assert screen.is_current, "the first steps wait for it"


@pytest.fixture
def originals(app: DeepthinkApp, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses of the files that the app opens, on a machine that has a screen."""
    opened: list[str] = []
    monkeypatch.setattr(app, "open_url", opened.append)
    monkeypatch.setenv("DISPLAY", ":0")
    return opened


async def test_a_question_is_answered_and_each_citation_opens_its_passage(
    app: DeepthinkApp, library: Path, originals: list[str]
) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await asked(pilot)
        exchange, prompt = screen.query_one(Exchange), screen.query_one(Prompt)
        answer = exchange.query_one(Answer)
        await until(pilot, lambda: answer.citations)
        assert "Tolvang Ceramics" in answer_of(exchange)
        assert "sentences are supported" in text_of(exchange, ".state")
        await pilot.press("ctrl+y")
        assert answer.has_focus
        await opens(pilot, PassageScreen, "right", "left", "enter")
        await pilot.press("escape")
        block = next(block for block in answer.query(Static) if "[1]" in str(block.render()))
        row, column = divmod(str(block.render()).index("[1]") + 1, block.size.width)
        await pilot.click(block, offset=(column, row))
        await comes(pilot, PassageScreen)
        await pilot.press("escape", "o", "tab")
        await until(pilot, lambda: originals)
        assert isinstance(app.focused, Sources), "which has the keys of the answer"
        await until(pilot, lambda: {"Open", "Good", "Wrong", "Copy", "Export"} <= shown_keys(app))
        await opens(pilot, PassageScreen, "enter")
        await pilot.press("escape", "c", "o")
        assert "\n[1] " in app.clipboard
        await until(pilot, lambda: len(originals) == 2)
        folders = {Path(unquote(address.removeprefix("file://"))).parent for address in originals}
        assert folders == {library.resolve()}
        await pilot.press("g")
        await until(pilot, lambda: "· rated good" in text_of(exchange, ".state"))
        await opens(pilot, ExportScreen, "down", "x")
        assert prompt.text == ""


async def test_what_is_shown_beside_an_answer_and_what_is_done_with_it(app: DeepthinkApp) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await asked(pilot)
        exchange, prompt, fold = screen.query_one(Exchange), screen.query_one(Prompt), screen.fold
        assert fold is not None
        plan = screen.query_one(PlanTree)
        assert any("✓" in str(option.prompt) for option in plan.options)
        plan.focus()
        plan.highlighted = 1
        before = str(plan.get_option_at_index(1).prompt)
        await pilot.press("enter")
        assert len(str(plan.get_option_at_index(1).prompt)) > len(before)
        assert any("[1]" in str(option.prompt) for option in screen.query_one(EvidenceList).options)
        meters = screen.query_one(Meters)
        assert str(meters.render()).startswith("scripted  ·  all your collections  ·  web off  ·  ")
        assert not screen.query_one("#thinking").display, "the answer has the screen"
        await pilot.press("ctrl+l")
        assert screen.query_one("#thinking").display
        prompt.focus()
        for message in ("The web is away.", "The web is away.", "Searched\x1b[2J for already."):
            exchange.show(fold, frozenset(fold.take(ev.Warned(message))))
        assert text_of(exchange, ".warned") == "! The web is away.\n! Searched[2J for already."
        await pilot.press("ctrl+s")
        assert app.clipboard == exchange.answer
        await pilot.press("ctrl+y", "c")
        assert app.clipboard.startswith(f"{exchange.answer}\n\n")
        await pilot.press("ctrl+e")
        assert (prompt.text, prompt.has_focus) == (QUESTION, True)
        await pilot.press("ctrl+k")
        await until(pilot, lambda: not screen.query(Exchange))


async def test_what_is_not_found_shows_what_came_nearest_with_the_keys_of_an_answer(
    app: DeepthinkApp, chat: Answering, originals: list[str]
) -> None:
    chat.finds = False
    async with app.run_test(size=(120, 40)) as pilot:
        screen, ways, searched_in = await not_found(pilot)
        prompt = screen.query_one(Prompt)
        assert text_of(screen, ".state").startswith(f"– searched {searched_in[0]} · ")
        rows = [str(option.prompt) for option in ways.options]
        assert "Tolvang Ceramics" in " ".join(rows[:2])
        assert [row.strip("→ ") for row in rows[2:]] == [
            "Rephrase the question",
            "Search the library with this question",
        ]
        await pilot.press("ctrl+y")
        await until(pilot, lambda: ways.has_focus)
        await until(pilot, lambda: {"Good", "Copy", "Export"} <= shown_keys(app))
        assert "Next" not in shown_keys(app)
        await opens(pilot, PassageScreen, "enter")
        await pilot.press("escape", "w")
        await until(pilot, lambda: "· rated wrong" in text_of(screen, ".state"))
        await pilot.press("home", "c")
        assert app.clipboard == screen.query_one(Exchange).answer
        await pilot.press("o")
        await until(pilot, lambda: originals)
        await pilot.press("up", "o")
        assert toasts(app)[-1] == "There is no passage under the cursor."
        await opens(pilot, ExportScreen, "x")
        await pilot.press("escape", "h")
        await until(pilot, lambda: prompt.text == "h")
        await pilot.press("ctrl+y", "enter")
        await searched(pilot)


async def test_what_all_collections_would_search_again_is_not_offered(
    app: DeepthinkApp, chat: Answering
) -> None:
    chat.finds = False
    library = Library(app.engine.store)
    for name, description in COLLECTIONS.items():
        library.describe_collection(name, description)
        for path in documents(name):
            put(library, name, path.name, [("", "Orlavane makes heat pumps.")])
    async with app.run_test(size=(120, 40)) as pilot:
        screen, ways, searched_in = await not_found(pilot)
        meters = screen.query_one(Meters)
        assert searched_in == ["facts"], "samples are searched where they are named"
        assert "Search all your collections" not in " ".join(str(option.prompt) for option in ways.options)
        assert "all your collections" in str(meters.render())


async def test_a_letter_rates_unless_a_question_begins_with_it(app: DeepthinkApp) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await asked(pilot)
        exchange, prompt, fold = screen.query_one(Exchange), screen.query_one(Prompt), screen.fold
        assert fold is not None
        await pilot.press("ctrl+y")
        first, later, again, twice = (Key(key, key) for key in "wcgg")
        later.time += 2
        again.time = twice.time = first.time + 4
        for key in (first, later, again):
            app.post_message(key)
        await until(pilot, lambda: "· rated good" in text_of(exchange, ".state"))
        assert app.clipboard
        app.post_message(twice)
        await until(pilot, lambda: "· rated" not in text_of(exchange, ".state"))
        assert prompt.text == ""
        await pilot.press("g")
        # o, l and p are keys of the answer too; all are pressed at once, or one is handled after the other
        for typed, in_one_burst in product(("who is", "work", "past"), (True, False)):
            await pilot.press("escape", "ctrl+y")
            assert isinstance(app.focused, Answer)
            for key in [Key("space" if key == " " else key, key) for key in typed]:
                app.post_message(key)
                if not in_one_burst:
                    await pilot.pause()
            await until(pilot, lambda: prompt.text == typed)  # noqa: B023 - awaited at once
            await until(pilot, lambda: "· rated good" in text_of(exchange, ".state"))
            rated = Ratings(app.engine.store).of(fold.run_id)
            assert rated is not None
            assert rated.rating == "good"


async def test_a_rating_that_could_not_be_stored_is_not_shown(
    app: DeepthinkApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = threading.Event()

    def fail(*_: object) -> None:
        tried.set()
        raise StoreBusy("Somebody else writes.")

    async with app.run_test(size=(120, 40)) as pilot:
        screen = await asked(pilot)
        fold = screen.fold
        assert fold is not None
        await pilot.press("ctrl+y", "g")
        await until(pilot, lambda: "· rated good" in text_of(screen, ".state"))
        monkeypatch.setattr("tui.runs.actions.rate", fail)
        await pilot.press("w")
        await until(pilot, lambda: tried.is_set() and fold.rating == "good")


async def test_a_key_is_about_the_answer_it_is_pressed_on_and_a_turn_without_one_has_none_to_copy(
    app: DeepthinkApp, chat: Answering
) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await asked(pilot)
        gate = chat.during = Gate()
        await begun(pilot, "Who owns the moon?")
        await until(pilot, gate.reached.is_set)
        await pilot.press("ctrl+s")
        assert toasts(app)[-1] == "There is no answer yet."
        await pilot.press("escape")
        await over(pilot, screen)
        await pilot.press("ctrl+s")
        assert toasts(app)[-1] == "This question has no answer."
        screen.query(Answer).last().focus()
        await pilot.press("c")
        assert toasts(app)[-1] == "This question has no answer."
        assert not app.clipboard
        app.clear_notifications()
        await pilot.press("g")
        assert toasts(app) == ["This question has no answer."]
        screen.query(Answer).first().focus()
        await pilot.press("right", "c")
        assert app.clipboard.startswith(screen.query(Exchange).first().answer)
        await pilot.press("g")
        ratings, runs = Ratings(app.engine.store), Runs(app.engine.store)
        await until(pilot, lambda: any(ratings.of(run.id) for run in runs.recent()))
        assert [run.question for run in runs.recent() if ratings.of(run.id)] == [QUESTION]


async def test_one_run_at_a_time_and_a_key_that_is_not_for_then_changes_no_text(
    app: DeepthinkApp, chat: Answering
) -> None:
    gate = chat.during = Gate()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await begun(pilot)
        await until(pilot, gate.reached.is_set)
        assert screen.query_one(RunBar).display
        prompt = screen.query_one(Prompt)
        await pilot.press(*"next", "enter", "home", "ctrl+k")
        assert toasts(app)[-1] == "A run is in progress; change the session when it has ended."
        await pilot.press("ctrl+e")
        assert toasts(app)[-1] == "A run is in progress; ask again when it has ended."
        assert (prompt.text, prompt.cursor_location) == ("next", (0, 0))
        assert len(screen.query(Exchange)) == 1
        gate.open()
        await accept(pilot, screen)
        await over(pilot, screen)
        assert not screen.query_one(RunBar).display


async def searched(pilot: Pilot[int]) -> str:
    """What is searched in the library, once that is shown."""
    library = await comes(pilot, LibraryScreen)
    await until(pilot, lambda: library.query_one(DataTable).row_count)
    return library.query_one("#query", Input).value


async def test_a_follow_up_belongs_to_the_session_and_words_are_found_in_it(app: DeepthinkApp) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await asked(pilot)
        session = screen.session
        await asked(pilot, "Who supplies the ceramic bearings of Orlavane?")
        assert (screen.session, len(screen.query(Exchange))) == (session, 2)
        await until(pilot, lambda: screen.query_one(Conversation).turns[-1].has_citations)
        await pilot.press("ctrl+f", *"TOLVANG")
        bar = screen.query_one(FindBar)
        await until(pilot, lambda: bar.border_subtitle == "3 of 3")

        def marked() -> list[list[str]]:
            return [
                [
                    content.plain[span.start : span.end]
                    for block in answer.query(Static)
                    if isinstance(content := block.content, Content)
                    for span in content.spans
                    if span.style == "reverse bold"
                ]
                for answer in screen.query(Answer)
            ]

        assert marked() == [[], ["Tolvang"]]
        await pilot.press("up", "up")  # by way of how the question was read
        await until(pilot, lambda: marked() == [["Tolvang"], []])
        await pilot.press(*" gone")
        await until(pilot, lambda: bar.border_subtitle == "not found")
        await pilot.press("escape")
        await until(pilot, lambda: screen.query_one(Prompt).has_focus)
        assert (marked(), bar.display) == ([[], []], False)


async def test_several_lines_earlier_questions_and_completion(
    app: DeepthinkApp, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(library)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await asked(pilot)
        prompt = screen.query_one(Prompt)
        await pilot.press("a", "ctrl+j", "b")
        assert prompt.text == "a\nb"
        await pilot.press("up")
        assert prompt.cursor_location[0] == 0
        await pilot.press("up")
        assert prompt.text == QUESTION
        await pilot.press("down")
        assert prompt.text == "a\nb"
        prompt.put("Tell me #fa")
        choices = screen.query_one("PromptBox OptionList", OptionList)
        await until(pilot, lambda: choices.display and choices.option_count == 1)
        await pilot.press("tab")
        assert prompt.text == "Tell me #facts "
        assert prompt.has_focus
        prompt.put("@")
        await until(pilot, lambda: choices.option_count == 2)
        await pilot.press("down", "tab")
        assert prompt.text == "@supplier.md "
        await until(pilot, lambda: not choices.display)
        prompt.put("")
        await pilot.press(*"@~nobody-here/a")
        assert prompt.text == "@~nobody-here/a"
        assert not choices.option_count, "nobody has that home: there is nothing to complete"


async def test_collections_and_files_are_named_in_the_question(app: DeepthinkApp, tmp_path: Path) -> None:
    (tmp_path / "rent.md").write_text("# Rent\n\nThe rent of the Brevnes plant is 400,000 crowns a year.\n")
    runs = Runs(app.engine.store)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await asked(pilot, f"#facts Who supplies the bearings? @{tmp_path / 'rent.md'}")
        assert runs.find("last").question == "Who supplies the bearings?"
        assert set(runs.find("last").collections) == {"facts", "documents"}
        for question in ("#facts What halted the plant?", "And who supplies the bearings?"):
            await asked(pilot, question)
            assert runs.find("last").collections == ("facts",), "the conversation stays there"
        assert "only facts" in str(screen.query_one(Meters).render())
        await asked(pilot, "#all And what is the rent?")
        assert set(runs.find("last").collections) == {"facts", "documents"}
        put(Library(app.engine.store), "letters", "a.md", [("", "A letter.")])
        await pilot.press("f3", "f2")
        await until(pilot, lambda: "letters" in screen.collection_names)
        assert "all your collections" in str(screen.query_one(Meters).render()), (
            "where the next question searches"
        )


def test_a_file_that_is_named_or_all_of_a_folder_has_to_be_read(make_app: MakeApp, tmp_path: Path) -> None:
    bad = tmp_path / "bad"
    bad.mkdir()
    for number in range(7):
        (bad / f"{number}.md").touch()
    told: list[str] = []
    warned: list[str] = []

    def prepare(*paths: Path) -> None:
        run = LiveRun(make_app().engine, lambda _run: pytest.fail("nothing is asked"))
        begin(run, Typed("Who?", paths=paths), "", warned.append)
        told.extend(event.message for event in run.drain() if isinstance(event, ev.NodeProgress))

    for wanted in (bad / "0.md", bad):
        with pytest.raises(UnreadableDocument, match=r"0\.md is empty"):
            prepare(wanted)
    assert not warned
    (bad / "good.md").write_text("Orlavane makes pumps.\n", encoding="utf-8")
    prepare(bad)
    assert warned == ["Asked without what could not be read: 0.md, 1.md, 2.md, 3.md, 4.md and 2 more."]
    assert "good.md: reading …" in told
    with pytest.raises(UnreadableDocument):
        prepare(bad / "good.md", bad / "1.md")


async def test_a_turn_that_does_not_fit_is_shown_from_its_question_and_left_where_one_scrolls_to(
    app: DeepthinkApp, chat: Answering
) -> None:
    chat.answer = "\n\n".join(f"Orlavane buys its bearings from Tolvang Ceramics, {n}." for n in range(60))
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await asked(pilot)
        conversation = screen.query_one(Conversation)
        await until(pilot, lambda: screen.query_one(Sources).option_count)
        await until(pilot, lambda: conversation.max_scroll_y > 20)
        question = screen.query_one(".question")
        await until(pilot, lambda: conversation.region.contains_region(question.region))
        await pilot.press("ctrl+end")
        await until(pilot, lambda: conversation.scroll_y == conversation.max_scroll_y)
        await pilot.press("pageup")
        await pilot.pause()
        at = conversation.scroll_y
        assert at < conversation.max_scroll_y
        await screen.query_one(Answer).append("\n\nmore\n\nand more\n\nand still more")
        await pilot.pause()
        assert conversation.scroll_y == at
        await pilot.press("ctrl+end")
        await until(pilot, lambda: conversation.scroll_y == conversation.max_scroll_y)


async def test_without_a_model_the_way_out_is_told(
    library: Path, no_models: None, make_app: MakeApp
) -> None:
    app = make_app()
    async with app.run_test(size=(60, 20)) as pilot:
        screen = await ready(pilot)
        assert "facts  2 documents" in text_of(screen, "#intro")
        await until(pilot, lambda: "For example:" in text_of(screen, "#intro"))
        assert "What is “Supply” about?" in text_of(screen, "#intro")
        app.engine_states = {"model": ("missing", "")}
        await until(pilot, lambda: "no language model yet. F7 Models" in text_of(screen, "#intro"))
        await asked(pilot)
        told = text_of(screen, ".failed")
        assert "Models" in told
        assert "deepthink models" not in told
        assert not screen.query_one("#thinking").display, "it would be empty"


async def test_text_in_one_burst_is_asked_whole_and_keys_and_letters_lead_back_to_the_prompt(
    app: DeepthinkApp,
) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await ready(pilot)
        for key in "Who supplies it?":
            app.post_message(Key("space" if key == " " else key, key))
        app.post_message(Key("enter", "\r"))
        await until(pilot, lambda: screen.query(Exchange))
        assert screen.query_one(Exchange).question == "Who supplies it?"
        await accept(pilot, screen)
        await over(pilot, screen)
        prompt = screen.query_one(Prompt)
        for back in ("escape", "f2"):
            await pilot.press("ctrl+y")
            assert isinstance(app.focused, Answer)
            await pilot.press(back)
            await until(pilot, lambda: prompt.has_focus)
        screen.query_one(Conversation).focus()
        await pilot.press("w", "h", "o")
        await until(pilot, lambda: prompt.text == "who")
        await pilot.press("escape")
        assert prompt.text == ""
        await pilot.press("up")
        await until(pilot, lambda: prompt.text == "who")
        screen.set_focus(None)
        await pilot.press("m")
        assert prompt.text == "whom"


async def test_a_question_of_the_run_takes_no_keys_from_typing(app: DeepthinkApp, chat: Answering) -> None:
    gate = chat.during = Gate(1)
    chat.answer = UNSUPPORTED
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await begun(pilot)
        prompt = screen.query_one(Prompt)
        await until(pilot, gate.reached.is_set)
        await pilot.press("h", "e")
        gate.open()
        await until(pilot, asking(screen, "approve"))
        await pilot.press("y")
        assert prompt.text == "hey"
        await pilot.press("ctrl+y")
        choices = screen.query_one(AskedBox).query_one(OptionList)
        assert choices.has_focus
        await pilot.press("enter")  # nothing is under the cursor: nothing is chosen
        assert screen.query(AskedBox)
        await pilot.press(*" 14 Lane")  # a question, not the first choice
        assert (prompt.text, prompt.has_focus) == ("hey 14 Lane", True)
        await pilot.press("ctrl+y", "1", "enter")
        await over(pilot, screen)
        assert Runs(app.engine.store).find("last").status == "answered"
        assert prompt.text == "hey 14 Lane"
        assert "· you accepted it as it is · " in text_of(screen, ".state")


async def test_a_question_asked_at_once_is_limited_to_the_collection_it_names(
    chat: Answering, library: Path, app: DeepthinkApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = threading.Event()
    monkeypatch.setattr(
        "tui.ask.screen.load_beginning", lambda *given: known.wait(PATIENCE) and load_beginning(*given)
    )
    chat.finds = False
    put(Library(app.engine.store), "other", "more.md", [("", "Mars Mining sells bearings.")])
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: isinstance(app.focused, Prompt))
        await pilot.press(*"#facts Who owns it?", "enter")
        known.set()
        screen = ask_screen(app)
        await until(pilot, lambda: screen.query(Exchange))
        await over(pilot, screen)
        assert screen.query_one(Exchange).question == "Who owns it?"
        assert Runs(app.engine.store).find("last").collections == ("facts",)
        ways = screen.query_one(WaysOn)
        await until(pilot, lambda: ways.option_count > 2)
        await pilot.press("ctrl+y", "up", "enter")  # the last one: search the library
        assert await searched(pilot) == "#facts Who owns it?"


async def test_what_is_mistyped_is_not_asked(app: DeepthinkApp) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        for typed, told in {
            "#nosuch where is it?": "There is no collection nosuch, only facts.",
            "@/nonexistent/file.md what is it?": "There is no file or folder /nonexistent/file.md.",
            "what says @~nobody-here about it?": "There is no file or folder ~nobody-here.",
            f"@/{'x' * 300} what is it?": f"There is no file or folder /{'x' * 300}.",
            "#facts": "Add a question to it.",
        }.items():
            app.clear_notifications()
            screen = await begun(pilot, typed)
            await until(pilot, lambda: toasts(app) == [told])  # noqa: B023 - awaited at once
            assert screen.live is None
            assert not screen.query(Exchange)
            assert screen.query_one(Prompt).text == typed


async def test_the_filters_of_a_question_are_shown_with_it(app: DeepthinkApp, chat: Answering) -> None:
    gate = chat.during = Gate()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await begun(pilot, f"after:2020-03 type:md {QUESTION}")
        await until(pilot, gate.reached.is_set)
        meters = screen.query_one(Meters)
        await until(pilot, lambda: "after:2020-03 type:md" in str(meters.render()))
        gate.open()
        await accept(pilot, screen)
        await over(pilot, screen)
        shown = text_of(screen.query_one(Exchange), ".question")
        assert shown.splitlines() == [QUESTION, "only after:2020-03 type:md"]
        await until(pilot, lambda: "after:" not in str(meters.render()))  # the next question has none
        assert screen.fold is not None
        assert screen.fold.to_json()["filters"] == ["after:2020-03", "type:md"]
        assert dict(facts(screen.fold, datetime(2025, 1, 1)))["only"] == "after:2020-03 type:md"
        (opening,) = Transcript(screen.fold).take(screen.fold.events[0])
        assert opening.items[0].endswith("only after:2020-03 type:md")


async def test_settings_that_cannot_be_used_are_told_where_the_answers_will_be(app: DeepthinkApp) -> None:
    config_file().parent.mkdir(parents=True, exist_ok=True)
    config_file().write_text("context_tokens = 3\n")
    async with app.run_test(size=(80, 24)) as pilot:
        screen = ask_screen(app)
        await until(pilot, lambda: "it has to be at least 1024" in text_of(screen, "#intro"))
        assert app.failures
        assert toasts(app) == []


@pytest.mark.parametrize("key", ["f2", "enter"])
async def test_mended_settings_are_taken_by_whatever_reads_them_next(
    key: str, app: DeepthinkApp, chat: Answering
) -> None:
    config_file().parent.mkdir(parents=True, exist_ok=True)
    config_file().write_text("[app\n")
    gate = chat.during = Gate(1)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = ask_screen(app)
        await until(pilot, lambda: "is not valid TOML" in text_of(screen, "#intro"))
        assert text_of(screen, "#engine") == "✗ settings"
        config_file().write_text("")
        screen.query_one(Prompt).put(QUESTION)
        await pilot.press(key)
        await until(pilot, lambda: text_of(screen, "#engine") == "✓")
        await until(pilot, lambda: "all your collections" in str(screen.query_one(Meters).render()))
        if key == "f2":
            assert "facts  2 documents" in text_of(screen, "#intro")
        gate.open()


def test_the_examples_are_about_documents_of_several_kinds() -> None:
    titles = "Minutes of May", "minutes of June", "Minutes of July", "Prices", "1 2", "Lease"
    examples = _examples([Collection("c", "", 0, 6, 6, titles)])
    assert examples == [f"What is “{title}” about?" for title in ("Minutes of May", "Prices", "Lease")]
    assert len(_examples([Collection("c", "", 0, 3, 3, titles[:3])])) == 3


async def test_a_library_of_empty_collections_is_empty(make_app: MakeApp) -> None:
    app = make_app()
    Library(app.engine.store).describe_collection("facts", "What is left of a reading that was killed.")
    async with app.run_test(size=(80, 24)) as pilot:
        screen = ask_screen(app)  # the welcome may already lie over it
        await until(pilot, lambda: "The library is empty." in text_of(screen, "#intro"))
        await until(pilot, lambda: isinstance(app.screen, WelcomeScreen))


async def test_in_a_narrow_window_no_key_is_cut_and_where_a_question_searches_is_told(
    app: DeepthinkApp,
) -> None:
    async with app.run_test(size=(60, 24)) as pilot:
        screen = await asked(pilot)
        await pilot.press("ctrl+y")
        await until(pilot, lambda: isinstance(app.focused, Answer))
        await until(pilot, lambda: "Export" in {key.description for key in screen.query(FooterKey)})
        for width in (60, 72, 80, 100, 119, 120):
            await pilot.resize_terminal(width, 24)
            await pilot.pause()
            shown = {key.description: key.region for key in screen.query(FooterKey) if key.region}
            assert {"Next", "Help", "Palette"} <= set(shown)
            assert max(region.right for region in shown.values()) <= width
            if width >= 80:
                assert {"Good", "Partly", "Wrong", "Plan", "Copy"} <= set(shown)
            if width == 80:
                assert str(screen.query_one(Prompt).placeholder).endswith("#collection looks only there")
        await pilot.resize_terminal(80, 24)
        meters, name = (
            screen.query_one(Meters),
            "quarterly-reports-of-the-association-of-lighthouse-keepers",
        )
        meters.collections, meters.searched = {"facts", name}, [name]
        assert "only quarterly-reports" in str(meters.render())
        assert "#all: all of yours" in str(meters.render())


async def test_the_thinking_stands_below_the_question_has_the_keys_and_few_columns_lose_nothing(
    app: DeepthinkApp,
) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await ready(pilot)
        conversation = screen.query_one(Conversation)
        for key, told in (
            ("ctrl+e", "There is no question yet."),
            ("ctrl+l", "There is nothing to show yet"),
        ):
            await pilot.press(key)
            assert [one.partition(":")[0] for one in toasts(app)] == [told], "alone"
        assert conversation.display
        await asked(pilot)
        await pilot.press("ctrl+l")
        await until(pilot, lambda: isinstance(app.focused, PlanTree))
        assert screen.exchange is not None
        question, answer = screen.exchange.query_one(".question"), screen.exchange.query_one(Answer)
        await until(pilot, lambda: conversation.region.contains_region(question.region))
        assert conversation.region.overlaps(answer.region)
        assert screen.query_one(PlanTree).region.height >= 6
        await pilot.press("ctrl+l")
        await until(pilot, lambda: isinstance(app.focused, Prompt))
        assert not screen.query_one("#thinking").display
        sources = screen.exchange.query_one(Sources)
        before = [str(option.prompt) for option in sources.options]
        assert before
        for _ in range(2):  # without the thinking, and with it
            for width in (9, 6, 5, 4, 1):
                await pilot.resize_terminal(width, 24)
                await pilot.pause()
            await pilot.press("ctrl+l")
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert [str(option.prompt) for option in sources.options] == before
        assert "Tolvang Ceramics" in answer_of(screen.exchange)
        await pilot.press("ctrl+l")
        for key, part in (("right", EvidenceList), ("left", PlanTree), ("left", DecisionStrip)):
            await pilot.press(key)
            await until(pilot, lambda: isinstance(app.focused, part))  # noqa: B023 - awaited at once
        for key in ("ctrl+l", "f", "c"):  # at once: they wait before the first has had its effect
            app.post_message(Key(key, key if len(key) == 1 else None))
        await until(pilot, lambda: screen.query_one(Prompt).text == "fc")
