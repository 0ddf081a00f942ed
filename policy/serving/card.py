"""The model card of a policy, generated from its manifest: nothing in it is written by hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from policy.serving.manifest import Manifest

_METHODS = {
    "forest": "a random forest on the numeric features",
    "reward": "an encoder that scores state and action, trained on preferences (LoRA adapter and head)",
}


def card(manifest: Manifest) -> str:
    """README.md in Markdown, with the front matter that model hubs read."""
    return "\n".join([*_front_matter(manifest), *_body(manifest)]).rstrip() + "\n"


def method_in_words(method: str) -> str:
    """What a policy of that method is."""
    return _METHODS.get(method, method)


def _front_matter(manifest: Manifest) -> Iterator[str]:
    yield "---"
    yield "license: apache-2.0"
    yield "library_name: deepthink"
    if manifest.base:
        yield f"base_model: {manifest.base.name}"
    yield f"tags: [retrieval, markov-decision-process, {manifest.method}]"
    yield "---"


def _body(manifest: Manifest) -> Iterator[str]:
    yield f"\n# {manifest.name}\n"
    yield (
        "A policy for deepthink's research loop: after each research step it says CONTINUE (take the "
        "plan's next step), REVISE (plan anew what is left) or FINISH (answer). It is "
        f"{method_in_words(manifest.method)}. It leaves the default schedule, which works the plan off and "
        f"then finishes, only where the advantage it expects is above {manifest.rule.margin:g}."
    )
    yield "\n## Made from\n"
    yield from _rows(
        {
            "created": manifest.created,
            "command": f"`{manifest.command}`" if manifest.command else "not recorded",
            "base": f"{manifest.base.name}, sha256 `{manifest.base.sha256}`" if manifest.base else "none",
            "policy state": f"version {manifest.state_version}, {len(manifest.features)} numeric features",
            "questions": f"{manifest.data.questions:,}{_counted(manifest.data.datasets)}",
            "decisions": f"{manifest.data.decisions:,}{_counted(manifest.data.sources)}",
            "data": f"sha256 `{manifest.data.sha256}`",
            "rule": f"margin {manifest.rule.margin:g}, temperature {manifest.rule.temperature:g}",
        }
    )
    yield from _table("Settings", manifest.settings)
    yield from _table("Measured on held-out questions", manifest.metrics)
    yield "\n## Gate\n"
    if manifest.gate is None:
        yield "It was not asked."
    else:
        yield f"{'Passed' if manifest.gate.passed else 'Not passed'}: {manifest.gate.reason}\n"
        yield f"The rule, stated before: {manifest.gate.rule}"
        yield from _table("What it was applied to", manifest.gate.measures)
    yield "\n## Limits\n"
    yield (
        "It was trained on the questions named above and knows nothing of others; how it carries over to "
        "your own is for `deepthink policy compare` and your own traces to say. It reads the state of a "
        "run only, never a document as a whole, and decides when to stop, not what is true."
    )
    yield from _table("Versions", manifest.versions)
    weights = {path: f"`{digest}`" for path, digest in manifest.files.items()}
    yield from _table("Files (sha256)", weights)


def _counted(counts: Mapping[str, int]) -> str:
    told = ", ".join(f"{name} {count:,}" for name, count in counts.items())
    return f" ({told})" if told else ""


def _table(title: str, values: Mapping[str, Any]) -> Iterator[str]:
    if values:
        yield f"\n## {title}\n"
        yield from _rows(dict(_flat(values)))


def _rows(values: Mapping[str, str]) -> Iterator[str]:
    yield "| | |"
    yield "| --- | --- |"
    for name, value in values.items():
        yield f"| {_cell(name)} | {_cell(value)} |"


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}, ")
        else:
            yield f"{prefix}{name}", in_words(value)


def in_words(value: Any) -> str:
    """A setting or a measure as it is printed: numbers short, three of them as estimate [low, high]."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list | tuple) and len(value) == 3 and all(isinstance(one, float) for one in value):
        estimate, low, high = value
        return f"{estimate:+.4g} [{low:+.4g}, {high:+.4g}]"
    if isinstance(value, list | tuple):
        return f"[{', '.join(in_words(inner) for inner in value)}]"
    return str(value)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
