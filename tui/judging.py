"""Judging finished answers by RAGAS's metrics, with something to look at; the judge's tables at the end."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from policy.systems import answers, ragas_scores
from policy.systems.cache import CachedChat
from policy.systems.evaluating import checked
from policy.systems.ragas_judge import ragas_metrics, ragas_version, require_ragas
from policy.systems.ragas_scores import Scores, chosen, judge
from policy.systems.ragas_summary import summarise_judged
from tui import failures
from tui.assemble import open_chat, open_embedder
from tui.bars import watched
from tui.evaluation_view import NothingEvaluated, show_judged, work_folder
from tui.interrupts import ctrl_c
from tui.settings import load
from tui.terminal import clean


def run_judging(work: Path | None, model: str | None, systems: Sequence[str], limit: int | None) -> int:
    """Have the answers of a work folder judged and print what came of it; the exit code.

    Args:
        work: The folder; None for the usual place.
        model: The language model that judges; None for the settings'.
        systems: Whose answers; all if empty.
        limit: Questions of each set; None for all.

    Raises:
        RagasMissing: the optional package is not installed.
        UnknownSystem, ModelMissing: nothing was begun.
        NothingEvaluated: there is no such answer.
        BadAnswers, BadScores, BadCache: a file of the work folder is damaged.
    """
    named = checked(systems) if systems else ()
    place = work_folder(work)
    wanted = chosen(answers.kept(place / answers.FILE), named, limit)
    if not wanted:
        raise NothingEvaluated(
            "There is no finished answer to be judged.",
            "Begin: deepthink evaluate sample. Of an evaluation from before answers were kept, take away "
            "rows.jsonl and trajectories.jsonl: the same command then answers from its cache.",
        )
    require_ragas()
    settings = load({"model": model})
    scores = Scores(place / ragas_scores.FILE)
    replies = place / "ragas_replies.jsonl"  # its own: an evaluation may be writing the other
    with ctrl_c() as cancel, closing(CachedChat(open_chat(settings), replies)) as chat:
        metrics = ragas_metrics(chat, open_embedder(settings), cancel)
        watched(
            judge(wanted, metrics, chat.name, ragas_version(), scores, cancel),
            lambda one: clean(f"{chat.name} judges {one.doing}").rstrip(),
        )
        if cancel.is_set():
            failures.warn("Stopped; scores are kept, and the same command goes on.")
            return failures.EXIT_CODES["cancelled"]
    show_judged(summarise_judged(scores.all()))
    return failures.DONE
