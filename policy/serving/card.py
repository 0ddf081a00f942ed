"""The model card of a policy, and its facts and figures in words, which the terminal shows too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from policy.serving.folder import Manifest

Facts: TypeAlias = tuple[tuple[str, str], ...]
"""Names with their values."""

_METHODS = {
    "forest": "a random forest on the numeric features",
    "reward": "an encoder that scores state and action, trained on preferences (LoRA adapter and head)",
}
UTILITY: Final = "quality less the cost of the steps (utility)"
"""What the measure is called where it is shown."""
_IN_WORDS = {
    "utility": UTILITY,
    "sufficiency: calibration error (ECE)": "error of its probabilities (ECE)",
    "calibration error": "error of its probabilities (ECE)",
}
"""What measures are called where they are shown; the manifest keeps the names that it was sealed with."""


def card(manifest: Manifest) -> str:
    """README.md in Markdown."""
    return "\n".join(_card_lines(manifest)).rstrip() + "\n"


def _card_lines(manifest: Manifest) -> Iterator[str]:
    yield f"# {manifest.name}\n"
    yield (
        "A policy for deepthink's research loop: after each research step it says CONTINUE (take the "
        "plan's next step), REVISE (change what is left of it) or FINISH (answer); after a step that found "
        "nothing also MORE (read more passages), WORDS (search in other words) or ASK (ask the model), if "
        "it has learned what they are worth. It is "
        f"{_METHODS[manifest.method]}. It leaves the default schedule, which follows the plan to "
        f"its end and then finishes, only where the advantage it expects is above {manifest.rule.margin:g}."
    )
    for title, facts in sections(manifest, manifest.created):
        yield from _table(title, facts)
    yield "\n## Gate\n"
    gate = manifest.gate
    yield f"{'Passed' if gate.passed else 'Not passed'}: {gate.reason}" if gate else "It was not asked."
    yield "\n## Limits\n"
    yield (
        "It was trained on the questions named above and knows nothing of others; how it carries over to "
        "your own is for your own traces to say. It reads the state of a run only, never a document as a "
        "whole, and decides when to stop, not what is true."
    )
    yield from _table("Files (sha256)", tuple((path, f"`{sha}`") for path, sha in manifest.files.items()))


def sections(manifest: Manifest, made: str) -> tuple[tuple[str, Facts], ...]:
    """How a policy was made, measured and configured, as titled tables; ``made``: when, in words."""
    data, base, gate = manifest.data, manifest.base, manifest.gate
    origin = (
        ("policy", manifest.name),
        ("method", _METHODS[manifest.method]),
        ("made", made),
        ("by", manifest.command or "a command that was not recorded"),
        ("base model", f"{base.name}, sha256 {base.sha256}" if base else "none"),
        ("questions", f"{data.questions:,}{_count_list(data.datasets)}"),
        ("decisions", f"{data.decisions:,}{_count_list(data.sources)}"),
        ("data", f"sha256 {data.sha256}"),
        ("margin", f"{manifest.rule.margin:g}, temperature {manifest.rule.temperature:g}"),
        (
            "reads",
            f"{len(manifest.features)} numbers of a run’s state (state version {manifest.state_version})",
        ),
    )
    titled: list[tuple[str, Facts]] = [
        ("Made from", origin),
        ("Measured on held-out questions", _facts(manifest.metrics)),
    ]
    if gate is not None:
        titled.append(("What the gate measured", (*_facts(gate.measures), ("the rule", gate.rule))))
    titled += [("Settings", _facts(manifest.settings)), ("Trained with", _facts(manifest.versions))]
    return tuple((title, facts) for title, facts in titled if facts)


def figure(value: Any) -> str:
    """A setting or a measure as text; three numbers as estimate [low, high]."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list | tuple) and len(value) == 3 and all(isinstance(n, float) for n in value):
        return difference(tuple(value))
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(figure, value))}]"
    return str(value)


def difference(interval: tuple[float, ...]) -> str:
    """Estimate, low and high end with their signs."""
    estimate, low, high = (f"{value:+.3f}" for value in interval)
    return f"{estimate} [{low}, {high}]"


def _facts(values: Mapping[str, Any], prefix: str = "") -> Facts:
    facts: list[tuple[str, str]] = []
    for name, value in values.items():
        if isinstance(value, Mapping):
            facts += _facts(value, f"{prefix}{name}, ")
        else:
            facts.append((_IN_WORDS.get(name, f"{prefix}{name}"), figure(value)))
    return tuple(facts)


def _count_list(counts: Mapping[str, int]) -> str:
    items = ", ".join(f"{name} {count:,}" for name, count in counts.items())
    return f" ({items})" if items else ""


def _table(title: str, facts: Facts) -> Iterator[str]:
    yield f"\n## {title}\n"
    yield "| | |"
    yield "| --- | --- |"
    for name, value in facts:
        yield table_row((name, value))


def table_row(cells: Iterable[str]) -> str:
    """A row of a table in Markdown."""
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
