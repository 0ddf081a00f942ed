"""``deepthink graph``."""

from __future__ import annotations

from typing import Annotated, Literal

import typer


def graph(
    form: Annotated[
        Literal["text", "mermaid"], typer.Option("--format", "-f", help="Lines to read, or Mermaid source.")
    ] = "text",
) -> None:
    """Print the graph of a run; needs no model.

    Its nodes, from the question's route to the checked answer, and what leads from one to the next.
    """
    from agent.graph import diagram

    typer.echo(diagram(form).rstrip())
