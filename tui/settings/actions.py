"""The settings as rows to show and to change, and the work on them; for threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, get_args, get_origin

from textual.message import Message

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from tui.app.engine import Engine
    from tui.settings.settings import Layer

Kind = Literal["switch", "choice", "text"]

GROUPS: Final = ("model", "answer", "web", "budget", "app")
_OF_MODEL: Final = frozenset(
    "model embedder reranker ollama_url openai_url openai_confirmed context_tokens threads".split()
)
LOADED: Final = _OF_MODEL - {"reranker"}
"""Settings that mean another model in memory."""
_MEANS: Final[Mapping[tuple[str, str], str]] = {
    ("ollama_url", ""): "from OLLAMA_HOST",
    ("openai_url", ""): "no such server",
    ("openai_confirmed", ""): "no other machine",
    ("threads", "0"): "chosen from the machine",
    ("decider", ""): "from the profile",
    ("collection", ""): "documents; all searched",
    ("approve", ""): "ask on a terminal",
    ("shadow", ""): "off",
    ("web_contact", ""): "none",
    ("app.keys", ""): "none remapped",
}
"""What values mean that do not say it themselves."""


@dataclass(frozen=True, slots=True)
class Row:
    """One setting.

    Attributes:
        value: As it would be written on the command line; "" if it is empty.
        layer: Where the value comes from.
        origin: The variable or the file, "" for a default.
        choices: All values it can have, where those are few.
    """

    key: str
    group: str
    value: str
    layer: Layer
    origin: str
    description: str
    kind: Kind
    choices: Sequence[str] = ()


def meaning(key: str, value: str) -> str:
    """What ``value`` means where it does not say so itself; "" where it does."""
    return _MEANS.get((key, value), "" if value else "empty")


@dataclass
class SettingsRead(Message):
    """Every setting as it is in force; ``changed`` is the one that was just written, "" if none was."""

    rows: Sequence[Row]
    changed: str = ""


@dataclass
class SettingChecked(Message):
    """Whether a text can be the value of a setting; ``wrong`` says why not, "" if it can."""

    key: str
    text: str
    wrong: str


def read(engine: Engine | None = None) -> SettingsRead:
    """Read them all, the ``engine`` too if one is given. Raises `BadSetting`."""
    if engine is not None:
        engine.reload()
    return SettingsRead(_rows())


def check(key: str, text: str) -> SettingChecked:
    """See whether ``text`` can be the value of ``key``; nothing is written."""
    from tui.settings.settings import BadSetting, checked

    try:
        checked(key, text)
    except BadSetting as bad:
        return SettingChecked(key, text, bad.message)
    return SettingChecked(key, text, "")


def change(engine: Engine, key: str, text: str | None) -> Message:
    """Write a setting, or take it out of the file if ``text`` is None; the engine reads it again.

    Raises:
        BadSetting: the file cannot be read or written.
    """
    from tui.settings.file import drop, put

    if text is None:
        drop(key)
    else:
        told = check(key, text)
        if told.wrong:
            return told
        put(key, text)
    engine.reload()
    return SettingsRead(_rows(), key)


def _rows() -> list[Row]:
    from tui.settings.settings import entries

    rows = []
    for entry in entries():
        kind, choices = _kind(entry.key)
        value = str(entry.value).lower() if isinstance(entry.value, bool) else str(entry.value)
        rows.append(
            Row(
                entry.key,
                _group(entry.key),
                value,
                entry.layer,
                entry.origin,
                entry.description,
                kind,
                choices,
            )
        )
    return sorted(rows, key=lambda row: GROUPS.index(row.group))


def _group(key: str) -> str:
    first, dot, _ = key.partition(".")
    if dot:
        return first
    return "model" if key in _OF_MODEL else "web" if key.startswith("web") else "answer"


def _kind(key: str) -> tuple[Kind, Sequence[str]]:
    from agent.profiles import PROFILES, SOURCES

    annotation = _field(key).annotation
    if annotation is bool:
        return "switch", ("true", "false")
    if get_origin(annotation) is Literal:
        return "choice", get_args(annotation)
    named: dict[str, Sequence[str]] = {
        "profile": tuple(PROFILES),
        "decider": ("", *SOURCES),
        "shadow": ("", *SOURCES),
    }
    return ("choice", named[key]) if key in named else ("text", ())


def _field(key: str) -> FieldInfo:
    from tui.settings.settings import Settings

    shape = Settings
    *groups, name = key.split(".")
    for group in groups:
        shape = shape.model_fields[group].annotation  # type: ignore[assignment]
    return shape.model_fields[name]
