"""Settings: who wins, what is refused and how that is said, and a file that stays the person's own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent.budget import Budget
from tests.tui.conftest import Run
from traces.paths import config_file, store_file
from tui.settings.settings import BadSetting, Settings, drop, load, put


def _write(text: str) -> Path:
    path = config_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_a_flag_wins_over_the_environment_the_file_and_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load().budget.steps == Budget().steps
    _write('profile = "seed"\n[budget]\nsteps = 3\nseconds = 60\n')
    assert (load().budget.steps, load().profile) == (3, "seed")
    monkeypatch.setenv("DEEPTHINK_BUDGET_STEPS", "4")
    monkeypatch.setenv("DEEPTHINK_CONTEXT_TOKENS", "4096")
    settings = load({"budget.steps": "5", "profile": None})
    assert (settings.budget.steps, settings.budget.seconds) == (5, 60.0)
    assert (settings.profile, settings.context_tokens) == ("seed", 4096)
    assert load().budget.steps == 4
    assert settings.budget == Budget(steps=5, seconds=60.0)


def test_files_of_the_current_folder_set_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that someone else made may hold any file; a model or a store in it is never used."""
    names = "config.toml deepthink.toml .deepthink.toml deepthink/config.toml pyproject.toml"
    for name in names.split():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text('model = "./evil.gguf"\nweb = true\n[tool.deepthink]\nweb = true\n')
    (tmp_path / ".env").write_text("DEEPTHINK_MODEL=./evil.gguf\nDEEPTHINK_HOME=.\n")
    before = load(), store_file()
    monkeypatch.chdir(tmp_path)
    assert (load(), store_file()) == before


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("model = ", "not valid TOML"),
        ("[budget]\nsteps = 0", "it has to be at least 1, not “0”"),
        ('[budget]\nsteps = "many"', "it has to be a whole number, not “many”"),
        ('profile = "wild"', "it has to be lean or seed, not “wild”"),
        ('ollama_url = "http://x:port"', "it has to be an address"),
        ('ollama_url = "/length"', "it has to be an address"),
        ('web_search = "google"', "ddgs or an address"),
        ('web_search = "http://127.0.0.1:x"', "ddgs or an address"),
        ('web = "maybe"', "it has to be true or false, not “maybe”"),
        ('web_contact = "nobody"', "it has to be an e-mail address"),
        ("budget = 3", "it is a group of settings, not “3”"),
    ],
)
def test_a_bad_file_is_named_with_its_key_and_a_way_out(text: str, words: str) -> None:
    path = _write(text)
    with pytest.raises(BadSetting) as caught:
        load()
    assert words in caught.value.message
    assert str(path) in caught.value.message
    assert caught.value.way_out


def test_what_is_unknown_or_only_looks_is_told_and_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    path = _write('stepz = 3\n[app]\ntheme = "solarized"\n[budget]\nsteps = 3\nstep = 4')
    monkeypatch.setenv("DEEPTHINK_APP_REDUCED_MOTION", "maybe")
    told: list[str] = []
    settings = load({"length": "brief"}, told.append)
    assert (settings.app.theme, settings.budget.steps, settings.length) == ("dark", 3, "brief")
    assert told == [
        f"stepz in {path}: there is no such setting; it is ignored. Did you mean “budget.steps”?",
        f"budget.step in {path}: there is no such setting; it is ignored. Did you mean “budget.steps”?",
        f"app.theme in {path}: it has to be dark, light, contrast or ansi, not “solarized”; the default is "
        "used.",
        "DEEPTHINK_APP_REDUCED_MOTION in the environment: it has to be true or false, not “maybe”; the "
        "default is used.",
    ]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("DEEPTHINK_MODLE", "DEEPTHINK_MODEL"),
        ("DEEPTHINK_BUDGET_STEP", "DEEPTHINK_BUDGET_STEPS"),
        ("DEEPTHINK_HOEM", "DEEPTHINK_HOME"),
    ],
)
def test_a_mistyped_variable_suggests_the_right_one(
    typed: str, meant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(typed, "x")
    monkeypatch.setenv("DEEPTHINK_DATA", "of another program")
    told: list[str] = []
    load(warn=told.append)
    assert told == [
        f"{typed} in the environment: there is no such variable; it is ignored. Did you mean “{meant}”?"
    ]


def test_a_bad_value_is_named_where_it_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadSetting, match=r"^--steps: it has to be at least 1"):
        load({"budget.steps": "0"})
    monkeypatch.setenv("DEEPTHINK_BUDGET_SECONDS", "soon")
    with pytest.raises(BadSetting, match=r"^DEEPTHINK_BUDGET_SECONDS in the environment: it has to be a n"):
        load()


def test_a_home_that_is_a_file_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("DEEPTHINK_HOME", str(tmp_path / "file"))
    with pytest.raises(BadSetting, match="not a folder") as caught:
        load()
    assert "DEEPTHINK_HOME" in caught.value.way_out


def test_a_setting_is_written_though_another_one_is_wrong(deepthink: Run) -> None:
    _write('profile = "none"\n')
    assert deepthink("config", "set", "length", "brief").out == "length = brief\n"


def test_setting_keeps_comments_and_everything_else() -> None:
    path = _write('# mine\nmodel = "qwen2.5-coder-1.5b" # the big one\n\n[budget]\n# few\nsteps = 3\n')
    put("model", "qwen2.5-coder-0.5b")
    put("budget.seconds", "90")
    assert path.read_text(encoding="utf-8") == (
        '# mine\nmodel = "qwen2.5-coder-0.5b" # the big one\n\n[budget]\n# few\nsteps = 3\nseconds = 90.0\n'
    )
    assert drop("model")
    assert not drop("threads")
    assert load().model == Settings().model
    assert load().budget.seconds == 90.0


def test_a_key_of_another_version_can_be_taken_out() -> None:
    _write("stepz = 3\nprofile = 'seed'\n")
    assert drop("stepz")
    assert load().profile == "seed"
    with pytest.raises(BadSetting):
        drop("stepz")


def test_a_write_that_fails_leaves_the_file_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    path = _write('profile = "seed"\n')

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(BadSetting, match="No space left"):
        put("budget.steps", "9")
    assert path.read_text(encoding="utf-8") == 'profile = "seed"\n'
    assert list(path.parent.iterdir()) == [path]


def test_a_linked_file_stays_a_link(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    real.write_text("", encoding="utf-8")
    config_file().parent.mkdir(parents=True)
    config_file().symlink_to(real)
    put("profile", "seed")
    assert config_file().is_symlink()
    assert real.read_text(encoding="utf-8") == 'profile = "seed"\n'


def test_the_command_shows_sets_and_unsets(deepthink: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert deepthink("config", "set", "budget.steps", "9").out == "budget.steps = 9\n"
    assert "budget.steps = 9  (file)" in deepthink("config").out
    monkeypatch.setenv("DEEPTHINK_BUDGET_STEPS", "2")
    assert "says 2 and wins over the file" in deepthink("config", "set", "budget.steps", "8").err
    deepthink("config", "set", "budget.tokens", "9000")
    shown = json.loads(deepthink("config", "--json").out)
    assert shown["budget.steps"] == {"value": 2, "layer": "environment", "origin": "DEEPTHINK_BUDGET_STEPS"}
    assert shown["budget.tokens"] == {"value": 9000, "layer": "file", "origin": str(config_file())}
    assert shown["profile"] == {"value": "lean", "layer": "default", "origin": ""}
    monkeypatch.delenv("DEEPTHINK_BUDGET_STEPS")
    assert deepthink("config", "unset", "budget.steps").out == "budget.steps is back to its default.\n"
    assert deepthink("config", "unset", "budget.steps").out == "budget.steps is not in the file.\n"
    assert deepthink("config", "get", "budget.tokens").out == "9000\n"
    assert json.loads(deepthink("config", "get", "budget.tokens", "--json").out) == shown["budget.tokens"]
    assert deepthink("config", "set", "budget.seconds", "5").out == "budget.seconds = 5\n"
    assert "budget.seconds = 5  (file)" in deepthink("config").out


def test_a_value_that_is_not_valid_is_listed_as_such(deepthink: Run) -> None:
    config_file().parent.mkdir(parents=True, exist_ok=True)
    config_file().write_text('app.theme = "pink"\n')
    line = next(line for line in deepthink("config").out.splitlines() if line.startswith("app.theme"))
    assert line.startswith("app.theme = dark  (file)  not valid, here the default: it has to be dark,")


def test_all_settings_are_listed_where_one_cannot_be_used(deepthink: Run) -> None:
    path = _write('length = "brief"\n[budget]\nsteps = 0\n')
    ran = deepthink("config")
    steps = f"budget.steps = {Budget().steps}  (file)  not valid, here the default: it has to be at least 1"
    assert steps in ran.out
    assert "length = brief  (file)" in ran.out
    assert (ran.code, f"budget.steps in {path}: it has to be at least 1" in ran.err) == (2, True)
    assert deepthink("config", "--json").code == 2


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("budget.steps", "x", "budget.steps: it has to be a whole number, not “x”."),
        ("budget.step", "1", "Did you mean “budget.steps”?"),
        ("bogus", "1", "There is no setting “bogus”."),
        ("max_steps", "-3", "There is no setting “max_steps”.\n  Did you mean “budget.steps”?"),
        ("budget.steps", "-3", "budget.steps: it has to be at least 1, not “-3”."),
        ("model", "", "model: it must not be empty."),
    ],
)
def test_the_command_refuses_what_cannot_be(key: str, value: str, words: str, deepthink: Run) -> None:
    ran = deepthink("config", "set", key, value)
    assert (ran.code, words in ran.err) == (2, True)
    assert not config_file().exists()


@pytest.mark.parametrize("command", [("sessions",), ("runs",), ("library", "list")], ids=" ".join)
def test_a_command_that_needs_no_settings_warns_of_bad_ones_and_goes_on(
    command: tuple[str, ...], deepthink: Run
) -> None:
    path = _write("model = ")
    done = deepthink(*command)
    assert done.code == 0
    said = " ".join(done.err.split())
    assert said.startswith(f"Note: The settings file {path} is not valid TOML")
    assert said.count("Note:") == 1
