"""``deepthink resume``."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from tui.commands.options import Json, Plain, Quiet, form_of


def resume(
    run: Annotated[
        str, typer.Argument(metavar="[RUN]", help="The beginning of its id; the newest if none is named.")
    ] = "",
    approve: Annotated[
        Literal["ask", "always", "never"] | None,
        typer.Option(
            "--approve",
            help="What becomes of an answer that its sources do not support; as it was asked if not given.",
        ),
    ] = None,
    web: Annotated[
        bool | None,
        typer.Option(
            "--web/--no-web",
            help="Search the web where the documents fall short; as it was asked if not given.",
        ),
    ] = None,
    as_json: Json = False,
    plain: Plain = False,
    quiet: Quiet = False,
) -> int:
    """Go on with a run that was cut off, or that waits for you.

    It goes on from its last finished node, with the model it began with; no answered model call is made
    again. `deepthink runs --unfinished` lists what can be resumed. Exits as `ask` does, and with 0 if
    there is nothing to resume (--json then gives null).
    """
    from tui.asking import resume as resume_and_show
    from tui.resuming import choose, model_of, web_of
    from tui.settings import load

    chosen = choose(run)
    if isinstance(chosen, str):
        typer.echo("null" if as_json else chosen)
        return 0
    form = form_of(as_json=as_json, plain=plain, quiet=quiet)
    # Neither may a setting of today take a run to the web that was asked without it.
    allowed = web_of(chosen) if web is None else web
    settings = load({"model": model_of(chosen), "web": allowed})
    return resume_and_show(chosen.id, settings, form, approve=approve)
