"""The settings in the app: each kind of editor, every key, what takes effect at once."""

from __future__ import annotations

from typing import Any

import pytest
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Input, OptionList
from textual.widgets._footer import FooterKey

from tests.tui.conftest import MakeApp, Picture
from tests.tui.seen import text_of, toasts
from tests.tui.waiting import until
from traces.paths import config_file
from tui.app.app import DeepthinkApp
from tui.settings.settings import fields, load, put

pytestmark = pytest.mark.usefixtures("bare")


@pytest.fixture(autouse=True)
def prepared(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The models that were loaded anew; nothing is."""
    names: list[str] = []
    monkeypatch.setattr(
        "tui.app.engine.Engine.prepare", lambda engine: names.append(engine.settings().model)
    )
    return names


def _rows(app: App[Any]) -> OptionList:
    return app.screen.query_one("#rows", OptionList)


def _ids(app: App[Any]) -> list[str]:
    return [str(option.id) for option in _rows(app).options if option.id]


def _choices(app: App[Any]) -> list[str]:
    return [str(option.prompt) for option in app.screen.query_one("#choice", OptionList).options]


async def _at(app: App[Any], pilot: Pilot[Any], key: str) -> None:
    """Open the settings, and go to one of them."""
    await pilot.press("f8")
    await until(pilot, lambda: key in _ids(app))
    _rows(app).highlighted = _rows(app).get_option_index(key)
    await until(pilot, lambda: f" {key}, " in text_of(app.screen, "#name"))


async def _set_text(app: App[Any], pilot: Pilot[Any], text: str) -> None:
    """Replace the value of the setting under the cursor."""
    await pilot.press("enter")
    app.screen.query_one("#text", Input).value = text
    await pilot.press("enter")


async def test_every_setting_is_there_with_its_description_and_origin(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    put("budget.steps", "9")
    monkeypatch.setenv("DEEPTHINK_THREADS", "3")
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await _at(app, pilot, "budget.steps")
        assert sorted(_ids(app)) == sorted(fields())
        lines = "\n".join(str(option.prompt) for option in _rows(app).options)
        assert [key for key in fields() if {"_", "."} & set(key) and key in lines] == []
        assert text_of(app.screen, "#name") == "Steps  budget.steps, from the settings file"
        assert text_of(app.screen, "#description") == fields()["budget.steps"].description
        await _at(app, pilot, "threads")
        assert "DEEPTHINK_THREADS in the environment wins" in text_of(app.screen, "#message")
        await pilot.press("enter", "u")  # neither is possible
        await pilot.pause()
        assert _rows(app).has_focus
        assert "threads" not in config_file().read_text()
        await _at(app, pilot, "model")
        await pilot.press("end")
        await until(pilot, lambda: " shadow, " in text_of(app.screen, "#name"))

        def last_line() -> str:
            rows = _rows(app)
            return rows.render_line(rows.size.height - 1).text

        await until(pilot, lambda: "▸" in last_line())
        assert "Second opinion" in last_line(), "it stays in view though its editor takes room"
        ids = [str(option.id or option.prompt).strip() for option in _rows(app).options]
        advanced = next(place for place, text in enumerate(ids) if text.startswith("Advanced"))
        assert ids[advanced + 1 :] == ["planner", "profile", "decider", "shadow"], "not set every day"


async def test_a_line_is_checked_and_written_and_a_switch_goes_back_to_the_default(
    prepared: list[str], app: DeepthinkApp
) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await _at(app, pilot, "budget.steps")
        await pilot.press("enter", "enter")
        await until(pilot, lambda: _rows(app).has_focus)
        assert not config_file().exists(), "what is not changed is not written"
        await pilot.press("enter", "end", "x", "enter")
        await until(pilot, lambda: "it has to be a whole number" in text_of(app.screen, "#message"))
        assert app.screen.query_one("#text", Input).has_focus
        assert not config_file().exists()
        await pilot.press("home", "shift+end", "4", "2")
        await until(pilot, lambda: not text_of(app.screen, "#message"))
        await pilot.press("enter")
        await until(pilot, lambda: _rows(app).has_focus)
        assert load().budget.steps == 42
        assert app.engine.settings().budget.steps == 42
        assert prepared == []
        await pilot.press("enter", "7", "escape")
        await until(pilot, lambda: _rows(app).has_focus)
        assert load().budget.steps == 42
        assert app.screen.query_one("#text", Input).value == "42"
        await _at(app, pilot, "web")
        await pilot.press("enter")
        await until(pilot, lambda: load().web)
        await until(pilot, lambda: "file" in str(_rows(app).get_option("web").prompt))
        assert _choices(app) == ["▸ ● true", "  ○ false"]
        await pilot.press("u")
        await until(pilot, lambda: not load().web)
        await until(pilot, lambda: text_of(app.screen, "#name") == "Search the web  web, the default")
        assert _choices(app) == ["  ○ true", "▸ ● false"]
        assert "web" not in config_file().read_text()


async def test_look_keys_and_model_change_at_once(prepared: list[str], app: DeepthinkApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await _at(app, pilot, "app.theme")
        await pilot.press("enter")
        await until(pilot, lambda: app.screen.query_one("#choice").has_focus)
        await until(
            pilot, lambda: {"Choose", "Leave"} <= {key.description for key in app.screen.query(FooterKey)}
        )
        await pilot.press("down")
        await until(pilot, lambda: [row[:4] for row in _choices(app)][:2] == ["  ● ", "▸ ○ "])
        await pilot.press("enter")
        await until(pilot, lambda: app.theme == "light")
        await _at(app, pilot, "model")
        await _set_text(app, pilot, "ollama:llama3")
        await until(pilot, lambda: prepared == ["ollama:llama3"])
        await _at(app, pilot, "app.reduced_motion")
        await pilot.press("enter")
        await until(pilot, lambda: load().app.reduced_motion)
        await until(pilot, lambda: app.animation_level == "none")
        await _at(app, pilot, "app.keys")
        await _set_text(app, pilot, "nope=f12")
        refused = "app.keys: there is no action “nope”; the help (F1) lists them."
        await until(pilot, lambda: text_of(app.screen, "#message") == f"✗ {refused}")
        app.screen.query_one("#text", Input).value = "settings.search=f11"
        await pilot.press("enter")
        await until(pilot, lambda: load().app.keys == "settings.search=f11")
        await until(pilot, lambda: _rows(app).has_focus)
        await pilot.press("slash")
        assert _rows(app).has_focus
        await pilot.press("f11")
        assert app.screen.query_one("#search", Input).has_focus


async def test_search_finds_and_escape_shows_all_again(app: DeepthinkApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await _at(app, pilot, "model")
        await pilot.press("slash", *"searxng")
        await until(pilot, lambda: _ids(app) == ["web_search"])
        assert text_of(app.screen, "#name").startswith("Search engine")
        await pilot.press("enter")
        assert _rows(app).has_focus
        for words in ("app.theme", "colours"):
            app.screen.query_one("#search", Input).value = words
            await until(pilot, lambda: _ids(app) == ["app.theme"])
        await pilot.press("slash", *"zzz")
        await until(pilot, lambda: _ids(app) == [])
        assert not app.screen.query_one("#editor").display
        await pilot.press("enter", "escape")  # the list has the keys, and shows all again as it says
        await until(pilot, lambda: len(_ids(app)) == len(fields()))


async def test_an_unusable_file_is_told_until_it_is_usable(make_app: MakeApp, prepared: list[str]) -> None:
    config_file().parent.mkdir(parents=True)
    config_file().write_text("context_tokens = 3\n")
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("f8")
        await until(pilot, lambda: "context_tokens" in text_of(app.screen, "#trouble"))
        trouble = text_of(app.screen, "#trouble")
        assert "it has to be at least 1024" in trouble
        assert "Correct it there.\n  r reads the file again." in trouble
        assert "deepthink config" not in trouble
        assert _rows(app).option_count == 0
        assert app.failures
        assert toasts(app) == [], "it would cover the same words"
        config_file().write_text('model = "ollama:x"\napp.theme = "light"\n')
        await pilot.press("f8")
        await until(pilot, lambda: len(_ids(app)) == len(fields()))
        assert not app.screen.query_one("#trouble").display
        await until(pilot, lambda: prepared == ["ollama:x"])
        assert app.theme == "light"
        config_file().write_text('app.theme = "pink"\n')
        await pilot.press("r")
        await _at(app, pilot, "app.theme")
        assert text_of(app.screen, "#name") == (
            "Colours  app.theme, the default, since the value from the settings file is not valid"
        )
        assert text_of(app.screen, "#message").endswith("dark, light, contrast or ansi, not “pink”")
        assert "not valid" in str(_rows(app).get_option("app.theme").prompt)
        await pilot.press("u")
        await until(pilot, lambda: text_of(app.screen, "#name") == "Colours  app.theme, the default")
        assert not text_of(app.screen, "#message")
        config_file().write_text("not toml")
        await pilot.press("f9", "f8")
        await until(pilot, lambda: "is not valid TOML" in text_of(app.screen, "#trouble"))
        assert text_of(app.screen, "#engine") == "✗ settings"
        assert len(_ids(app)) == len(fields())
        config_file().unlink()
        await pilot.press("f9", "f8")
        await until(pilot, lambda: not app.screen.query_one("#trouble").display)
        await until(pilot, lambda: app.theme == "dark")
        assert text_of(app.screen, "#engine") != "✗ settings"


@pytest.mark.parametrize(
    ("look", "state"), [("80x24-dark", "list"), ("120x40-light", "wrong")], indirect=["look"]
)
def test_settings_in_pictures(state: str, picture: Picture, monkeypatch: pytest.MonkeyPatch) -> None:
    async def show(pilot: Pilot[Any]) -> None:
        app = pilot.app
        await _at(app, pilot, "budget.steps" if state == "wrong" else "web")
        if state == "wrong":
            await pilot.press("enter", "x", "enter")
            await until(pilot, lambda: text_of(app.screen, "#message"))
            app.screen.query_one("#text", Input).cursor_blink = False

    put("budget.steps", "12")
    put("web", "true")
    monkeypatch.setenv("DEEPTHINK_THREADS", "4")
    picture(show)


async def test_what_is_typed_stays_under_a_window_and_is_dropped_when_one_goes_elsewhere(
    app: DeepthinkApp,
) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await _at(app, pilot, "budget.steps")
        await pilot.press("enter", "home", "1", "f1")
        await until(pilot, lambda: app.screen.is_modal)
        await pilot.press("escape", "enter")
        await until(pilot, lambda: load().budget.steps == 16 and _rows(app).has_focus)
        for elsewhere in ("f4", "escape", "tab"):  # which goes to the search
            assert not toasts(app)
            await _at(app, pilot, "budget.steps")
            await pilot.press("enter", "9", elsewhere)
            await until(pilot, lambda: any("Steps: not changed" in toast for toast in toasts(app)))
            app.clear_notifications()
            await pilot.press("f8")
            await until(pilot, lambda: app.screen.query("#text"))
            line = app.screen.query_one("#text", Input)
            assert not line.has_focus
            assert line.value == "16"
        await pilot.press("7", "enter")
        assert load().budget.steps == 16
