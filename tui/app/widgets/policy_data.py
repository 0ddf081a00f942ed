"""What the screen of the policy reads and changes, in workers: what was gathered, and who decides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.dom import DOMNode
from textual.message import Message

from tui.app.work import in_background

if TYPE_CHECKING:
    from policy.gathered import Gathered
    from tui.app.engine import Engine
    from tui.settings import Entry

RULES, LLM, NOBODY = "rules", "llm", ""


@dataclass(frozen=True, slots=True)
class Deciding:
    """Who takes the decisions of runs to come.

    Attributes:
        decider: ``rules`` or ``llm``.
        profile: The profile that says so; "" where the setting ``decider`` does.
        shadow: Whose second opinion is recorded; "" for nobody's.
        fixed: Settings that the environment has, which the settings file cannot change, with the
            variable of each.
    """

    decider: str
    profile: str
    shadow: str
    fixed: dict[str, str]


class PolicyRead(Message):
    """What was gathered, and who decides."""

    def __init__(self, gathered: Gathered, deciding: Deciding) -> None:
        super().__init__()
        self.gathered = gathered
        self.deciding = deciding


class DecidingChanged(Message):
    """The settings say something else now."""

    def __init__(self, deciding: Deciding) -> None:
        super().__init__()
        self.deciding = deciding


def read_policy(node: DOMNode, engine: Engine) -> None:
    """Count what was gathered in a worker; `PolicyRead` or `Failed` is posted to ``node``."""

    def work() -> Message:
        from policy.gathered import gathered

        found = gathered(engine.store)
        if found.agreement:
            import textual_plotext  # noqa: F401 - here, where nobody waits for it
        return PolicyRead(found, _deciding())

    in_background(node, work, group="policy", exclusive=True)


def change_setting(node: DOMNode, engine: Engine, key: str, value: str) -> None:
    """Write ``decider`` or ``shadow`` in a worker; `DecidingChanged` or `Failed` is posted to ``node``."""

    def work() -> Message:
        from tui import settings_file

        settings_file.put(key, value)
        engine.reload()
        return DecidingChanged(_deciding())

    in_background(node, work, group="setting")


def _deciding() -> Deciding:
    from agent.profiles import DECIDES
    from tui.settings import entries

    found: dict[str, Entry] = {e.key: e for e in entries() if e.key in {"decider", "shadow", "profile"}}
    decider, profile = str(found["decider"].value), str(found["profile"].value)
    fixed = {key: e.origin for key, e in found.items() if e.layer == "environment"}
    return Deciding(
        decider or DECIDES[profile], "" if decider else profile, str(found["shadow"].value), fixed
    )
