"""``deepthink evaluate``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer.core import TyperGroup

from tui.commands.options import AsJson


class _Asking(TyperGroup):
    """What is not the name of a command is a set of questions, and asked."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Put the command's name before a set's."""
        if args and args[0] not in {*self.commands, "-h", "--help"}:
            args = ["run", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    help="Compare systems on questions with known answers.",
    cls=_Asking,
    invoke_without_command=True,
    rich_markup_mode=None,
)
_Work = Annotated[
    Path | None,
    typer.Option(
        "--work", metavar="DIR", help="Keeps rows, answers and libraries; the same one goes on with them."
    ),
]
_Systems = Annotated[
    str,
    typer.Option(
        "--systems", metavar="A,B", help="closed-book, shallow, search-and-answer, …; all if left out."
    ),
]


def _named(systems: str) -> tuple[str, ...]:
    return tuple(" ".join(name.split()) for name in systems.split(",") if name.strip())


@app.callback()
def evaluate(context: typer.Context) -> None:
    """Hold whole systems against each other on questions whose answers are known.

    Begin with `deepthink evaluate sample`. A finished question is kept: the same command goes on.
    """
    if not context.invoked_subcommand:
        typer.echo(context.get_help())


@app.command("run")
def run(
    sets: Annotated[
        list[str],
        typer.Argument(
            metavar="SET",
            help="Files of HotpotQA, 2WikiMultihopQA, MuSiQue or FinanceBench; JSON lines of question, "
            "answer and evidence about your own library; a folder with documents in docs and "
            "questions.jsonl, or of such folders; or sample, the sample library's questions.",
        ),
    ],
    systems: _Systems = "",
    models: Annotated[
        list[str] | None,
        typer.Option(
            "--model", "-m", metavar="NAME", help="As in ask; the settings' if left out; may be repeated."
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option("--limit", min=1, metavar="N", help="The first N of each set by a fixed shuffle."),
    ] = None,
    few: Annotated[
        list[str] | None,
        typer.Option("--few", metavar="SYSTEM=N", help="A slow system, asked N questions of each set."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of the order of the questions.")] = 0,
    work: _Work = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE.md", help="The tables; JSON goes beside them."),
    ] = None,
) -> int:
    """Ask every system every question, and print the tables.

    A finished question is a row on disk: stopped or killed, the same command goes on.
    """
    from tui.evaluating import Wanted, run_evaluation

    fewer: dict[str, int] = {}
    for pair in few or []:
        system, _, number = pair.rpartition("=")
        if not system or not number.isdecimal() or int(number) < 1:
            raise typer.BadParameter(f"--few {pair}: name a system and a number, as in seed=20.")
        fewer[system] = int(number)
    named = _named(systems)
    return run_evaluation(Wanted(tuple(sets), named, tuple(models or ()), limit, fewer, seed, work, out))


@app.command("report")
def report(
    work: _Work = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE.md", help="The tables; JSON goes beside them."),
    ] = None,
) -> int:
    """Print the tables again, without asking anything."""
    from tui.evaluating import show_report

    return show_report(work, out)


@app.command("show")
def show(
    question: Annotated[str, typer.Argument(metavar="ID", help="Of the question, or how it begins.")],
    work: _Work = None,
    as_json: AsJson = False,
) -> int:
    """Show one question: every answer, and what it took."""
    from tui.evaluation_view import show_question

    return show_question(question, work, as_json=as_json)
