"""Open questions are answered by what the passages say."""

from __future__ import annotations

import pytest

from agent.cognition.reflecting import NOTHING, Finding
from agent.cognition.reporting import ReportingReflector
from agent.session import Session
from tests.agent.nodes.conftest import evidence

LAUNCH = evidence(
    1,
    "AMD launched the MI300X accelerator in December. Date: May. It carries 192 GB of fast memory.",
    score=0.9,
)
RISKS = evidence(2, "Competition could cause us to lose market share.", score=0.95)
CLOUD = evidence(3, "Microsoft offers the MI300X on Azure.", score=0.5)


class _Closed:
    """Reads what asks for one thing."""

    def reflect(self, *_: object) -> Finding:
        """Nothing."""
        return NOTHING


def _reflect(session: Session, question: str) -> Finding:
    return ReportingReflector(_Closed()).reflect(session, [], question, question, [RISKS, LAUNCH, CLOUD])


@pytest.mark.parametrize(
    "question", ["What is said about the MI300X?", "What does news on the MI300X say?"]
)
def test_the_best_passages_that_mention_it_are_the_finding(idle_session: Session, question: str) -> None:
    finding = _reflect(idle_session, question)
    assert finding.found
    assert finding.sentence == (
        "AMD launched the MI300X accelerator in December. It carries 192 GB of fast memory. "
        "Microsoft offers the MI300X on Azure."
    )
    assert finding.answer == "AMD launched the MI300X accelerator in December."
    assert (finding.cites, finding.origin) == ([1, 3], "rule")


@pytest.mark.parametrize("question", ["Who makes the MI300X?", "What is said about Zanzibar?"])
def test_what_is_not_open_or_not_mentioned_is_read_by_the_other(
    idle_session: Session, question: str
) -> None:
    assert _reflect(idle_session, question) == NOTHING
