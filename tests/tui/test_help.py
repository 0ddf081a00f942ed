"""Help is quick, because it imports next to nothing, and it fits eighty columns."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tui.conftest import Run
from tui import cli, failures
from tui.app.main import run

README = Path(__file__).parents[2] / "README.md"
HEAVY = (
    "torch transformers sentence_transformers langgraph langchain_core duckdb llama_cpp textual numpy rich "
    "pyarrow httpx lxml mcp"
).split()
COMMANDS = [
    (name, *subcommand)
    for name in cli._PLACES
    for subcommand in [(), *zip(getattr(cli.load_command(name), "commands", {}), strict=True)]
]


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom tui import cli\n"
        "for of in [], ['ask'], ['mcp']:\n    cli.run([*of, '--help'])\n"
        f"print('loaded:', *(m for m in {HEAVY!r} if m in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "loaded:"
    assert done.stdout.count("Usage: deepthink") == 3


def test_without_arguments_it_says_what_there_is(deepthink: Run) -> None:
    ran = deepthink()
    assert ran.code == 0
    groups = ran.out.partition("Ask and read:")[2].partition("Exit codes:")[0]
    assert re.findall(r"^  (\S+)  ", groups, re.MULTILINE) == list(cli._PLACES)
    assert "9 answered with doubts" in ran.out
    assert "..." not in groups, "a short help is cut off"
    assert "--install-completion" in ran.out
    assert deepthink("forget").out.startswith("Usage: deepthink forget")


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_each_command_explains_itself_in_eighty_columns(arguments: tuple[str, ...], deepthink: Run) -> None:
    ran = deepthink(*arguments, "--help")
    assert ran.code == 0
    assert ran.out.startswith(f"Usage: deepthink {' '.join(arguments)}")
    assert max(map(len, ran.out.splitlines())) <= 80
    assert "..." not in ran.out.partition("Commands:")[2], "a short help is cut off"
    assert not re.search(r"<[a-z]|RANGE|INTEGER| range", ran.out), "a type is told as Python calls it"


def test_the_short_helps_are_those_of_the_commands() -> None:
    for commands in cli._COMMANDS.values():
        for name, (_, told) in commands.items():
            assert cli.load_command(name).get_short_help_str(100) == told


def test_the_help_and_the_readme_have_every_exit_code(deepthink: Run) -> None:
    ends = {name: code for name, code in vars(failures).items() if name.isupper() and isinstance(code, int)}
    codes = {*ends.values(), *failures.EXIT_CODES.values()}
    listed = deepthink("--help").out.partition("Exit codes:")[2]
    told = README.read_text(encoding="utf-8").partition("The exit code is")[2].partition("\n\n")[0]
    assert {int(number) for number in re.findall(r"\b\d+\b", listed)} == codes
    assert {int(number) for number in re.findall(r"\b\d+\b", told)} == codes


def test_what_is_no_command_gets_a_suggestion(deepthink: Run) -> None:
    ran = deepthink("Who supplies the bearings?")
    assert ran.code == 2
    assert "deepthink ask 'Who supplies the bearings?'" in ran.err
    assert "Did you mean 'runs'?" in deepthink("run").err
    assert deepthink("--version").out.startswith("deepthink ")


def test_no_command_ignores_what_is_meant_for_the_list(deepthink: Run) -> None:
    for group in ("config", "library", "models", "policy", "runs", "sessions", "traces"):
        (command, *_) = cli.load_command(group).commands
        assert f"deepthink {group} {command} --json" in deepthink(group, "--json", command).refused()


def test_the_app_has_the_version_and_the_options_of_the_command_line(
    deepthink: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    told = deepthink("--version").out
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == told
    assert run(["--serve", "--port", "-1"]) == 2
    told = capsys.readouterr().err
    assert "There is no port -1." in told
    assert deepthink("tui", "--serve", "--port", "-1").err == told


@pytest.mark.parametrize("command", ["config", "runs list"])
def test_piped_output_is_not_padded_to_the_width_of_a_terminal(deepthink: Run, command: str) -> None:
    out = deepthink(*command.split()).out
    assert not [line for line in out.splitlines() if len(line) - len(line.rstrip()) > 500]
