"""The protocol by one command.

``python -m policy.evaluation judge --test STORE --model NAME --questions N --judgements FILE``
``python -m policy.evaluation table --train STORE --test STORE --policy NAME --work DIR --out FILE.md``
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from models.catalogue import entry
from models.fetch import installed
from models.offline import forbid_hubs
from models.protocols import Chat, ModelMissing
from policy.evaluation.bootstrap import RESAMPLES
from policy.evaluation.command import Wanted, judge, table
from policy.evaluation.judges import Judgement
from policy.evaluation.protocol import Settings
from policy.returns import COST
from traces.errors import DeepthinkError

_CONTEXT = 2_048  # a state, the instruction and a letter


def main(arguments: Sequence[str]) -> int:
    """Do as asked; the exit code."""
    given = _parser().parse_args(arguments)
    forbid_hubs()
    try:
        if given.what == "judge":
            _judge(given)
        else:
            command = " ".join(["python -m policy.evaluation", *(Path(a).name for a in arguments)])
            table(_wanted(given), command, _say)
            _say(f"Written to {given.out}")
    except DeepthinkError as error:
        _say(f"{error.title}: {error.message} {error.way_out}")
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m policy.evaluation")
    parts = parser.add_subparsers(dest="what", required=True)
    judging = parts.add_parser("judge", help="have a language model judge states of test questions")
    judging.add_argument("--test", type=Path, nargs="+", required=True, help="collected stores")
    judging.add_argument("--model", required=True, help="name in the catalogue")
    judging.add_argument("--questions", type=int, default=50, help="of each data set")
    judging.add_argument("--judgements", type=Path, required=True, help="appended to, a line a state")
    tabling = parts.add_parser("table", help="run the protocol and write its tables")
    tabling.add_argument("--train", type=Path, nargs="+", required=True, help="collected stores")
    tabling.add_argument("--test", type=Path, nargs="+", required=True, help="collected stores")
    tabling.add_argument("--policy", nargs="+", required=True, help="names or folders of trained policies")
    tabling.add_argument("--judgements", type=Path, help="what language models said of the test questions")
    tabling.add_argument(
        "--few",
        nargs="+",
        default=[],
        metavar="POLICY=N",
        help="slow policies, and how many questions of each data set they are evaluated on",
    )
    tabling.add_argument(
        "--without",
        nargs="+",
        default=[],
        metavar="SET=POLICY",
        help="policies that were trained without a data set",
    )
    tabling.add_argument("--cost", type=float, default=COST, help="of a research step, in quality")
    tabling.add_argument("--resamples", type=int, default=RESAMPLES, help="of the bootstrap")
    tabling.add_argument("--work", type=Path, required=True, help="what a killed run goes on from")
    tabling.add_argument("--out", type=Path, required=True, help="Markdown file; JSON goes beside it")
    return parser


def _wanted(given: argparse.Namespace) -> Wanted:
    without: dict[str, list[str]] = {}
    for pair in given.without:
        dataset, _, policy = pair.partition("=")
        without.setdefault(dataset, []).append(policy)
    return Wanted(
        given.train,
        given.test,
        given.policy,
        given.judgements,
        given.work,
        given.out,
        {policy: int(number) for policy, _, number in (pair.rpartition("=") for pair in given.few)},
        without,
        Settings(given.cost, given.resamples),
    )


def _judge(given: argparse.Namespace) -> None:
    chat = _chat(given.model)
    told = 0

    def tell(judged: Judgement) -> None:
        nonlocal told
        told += 1
        if told % 10 == 1:
            _say(f"{told} judged; {judged.question} {judged.path or 'start'}: {judged.milliseconds:.0f} ms")

    try:
        _say(f"{judge(given.test, chat, given.questions, given.judgements, tell)} states judged")
    finally:
        chat.close()


def _chat(name: str) -> Chat:
    from models.llama_cpp_chat import LlamaCppChat

    known = entry(name)
    place = installed(known)
    if place is None:
        raise ModelMissing(
            f"{known.name} is not on this machine.", f"Fetch it: `deepthink models pull {known.name}`."
        )
    return LlamaCppChat(place, name=f"llama.cpp:{known.name}", context_tokens=_CONTEXT)


def _say(message: str) -> None:
    sys.stdout.write(f"{message}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
