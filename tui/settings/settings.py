"""Settings: a flag wins over the environment, the environment over the file, the file over the default.

Every setting is described where it is defined; `deepthink config` shows that text, the value in force and
where it comes from. The file is TOML at `traces.paths.config_file`, the environment's names begin with
``DEEPTHINK_``. `put` and `drop` write the file: one key at a time, comments kept, all or nothing.
"""

from __future__ import annotations

import os
import re
import tempfile
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, Literal, get_args, get_origin

from pydantic import AnyHttpUrl, BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic.fields import FieldInfo

from agent.budget import Budget
from models.catalogue import BGE_SMALL_EN, MS_MARCO_MINILM_L12, QWEN_CODER_1_5B
from traces.errors import DeepthinkError, did_you_mean
from traces.paths import config_file
from tui import failures

DESCRIBED = ConfigDict(extra="ignore", use_attribute_docstrings=True)
"""For models whose fields are described by docstrings; titles are their names in the app."""


class AppSettings(BaseModel):
    """How the full-screen app looks, and its keys."""

    model_config = DESCRIBED

    theme: Literal["dark", "light", "contrast", "ansi"] = Field(default="dark", title="Colours")
    """The app's colours: dark, light, contrast (high), or ansi (the terminal's own)."""

    reduced_motion: bool = Field(default=False, title="Reduce motion")
    """No animation, no smooth scrolling, no blinking cursor."""

    keys: str = Field(default="", title="Keys of your own")
    """Remapped keys of the app, like "run.pause=f11, app.runs=alt+r"; the app's help names the actions."""

    @field_validator("keys")
    @classmethod
    def _known_actions(cls, value: str) -> str:
        if value:
            from tui.app.keys import keymap

            keymap(value)
        return value


Layer = Literal["environment", "file", "default"]

DDGS = "ddgs"
OF_MODELS: Final = set(
    "model embedder reranker planner ollama_url openai_url openai_confirmed context_tokens threads".split()
)
"""Settings that the opened models depend on."""

_PREFIX = "DEEPTHINK_"
_OTHER_VARIABLES: Final = ("DEEPTHINK_HOME", "DEEPTHINK_MODELS", "DEEPTHINK_DEBUG")
_APP = "app."
_EMAIL = re.compile(r"[!-?A-~]+@[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)+")


class BadSetting(DeepthinkError, title="Settings", kind="usage"):
    """Raised if a setting is unknown, its value cannot be used, or the file cannot be read."""


class Settings(BaseModel):
    model_config = DESCRIBED

    model: str = Field(default=QWEN_CODER_1_5B.name, min_length=1, title="Language model")
    """The language model: a catalogue name, the path of a .gguf file, ollama:NAME, or openai:NAME."""

    embedder: str = Field(default=BGE_SMALL_EN.name, min_length=1)
    """What turns text into vectors: a catalogue name, a folder of a model, or ollama:NAME."""

    reranker: str = Field(default=MS_MARCO_MINILM_L12.name, min_length=1)
    """What orders the passages with the reader: a catalogue name, a folder of a cross-encoder, or none."""

    planner: Literal["taught", "model"] = "taught"
    """What plans the searches: taught, the small planner that is included, or model, the language model."""

    ollama_url: str = Field(default="", title="Address of Ollama")
    """Where Ollama listens; empty: where OLLAMA_HOST says, else port 11434 of this machine."""

    openai_url: str = Field(default="", title="Address of a server")
    """Where a server that speaks the OpenAI API listens (llama-server, LM Studio, vLLM); empty: nowhere."""

    openai_confirmed: str = Field(default="", title="Confirmed address")
    """That address once more if it is another machine's: you agree that documents are sent there."""

    context_tokens: int = Field(default=8192, ge=1024, title="Context in tokens")
    """Tokens of prompt and answer together; more takes more memory, less forgets sooner."""

    threads: int = Field(default=0, ge=0, le=1024)
    """Number of threads of llama.cpp; 0: chosen for this machine."""

    warm_minutes: float = Field(default=10, ge=0, allow_inf_nan=False, title="Minutes kept warm")
    """Minutes for which a server keeps the models warm after an ask on a terminal; 0: none is started."""

    profile: Literal["lean", "seed"] = "lean"
    """How the loop works: lean asks the model little, seed asks it at every turn."""

    decider: Literal["", "rules", "llm", "learned"] = Field(default="", title="Who decides")
    """Who decides to go on, revise or finish: rules, llm, learned; empty: as set by the profile."""

    collection: str = ""
    """Where ingest puts documents and ask searches if none is named; empty: documents, and all."""

    length: Literal["brief", "normal", "report"] = Field(default="normal", title="Length of answers")
    """How long answers are: brief, normal, or report (with sections)."""

    approve: Literal["", "ask", "always", "never"] = Field(default="", title="Unsupported answers")
    """Show an answer that its sources do not support: ask, always, never; empty: ask on a terminal."""

    shadow: Literal["", "rules", "llm", "learned"] = Field(default="", title="Second opinion")
    """Whose second opinion on each decision is recorded, unused: rules, llm, learned; empty: off."""

    ocr: bool = Field(default=True, title="Recognise scans")
    """Recognise the text on scanned pages and in pictures when documents are read."""

    web: bool = Field(default=False, title="Search the web")
    """Search the web when the documents do not answer, and read addresses; off by default."""

    web_search: str = Field(default="ddgs", title="Search engine")
    """What searches the web: ddgs, or the address of a SearXNG server."""

    web_contact: str = Field(default="", title="E-mail for EDGAR")
    """An e-mail address, sent only to the SEC's EDGAR, which rejects programs that give none."""

    budget: Budget = Field(default_factory=Budget)
    """What one run may spend."""

    app: AppSettings = Field(default_factory=AppSettings)
    """How the full-screen app looks, and its keys."""

    @field_validator("ollama_url")
    @classmethod
    def _usable_address(cls, value: str) -> str:
        from models.servers.ollama import base_url

        try:
            base_url(value or "localhost")
        except ValueError as error:
            raise ValueError("it has to be an address like http://127.0.0.1:11434") from error
        return value

    @field_validator("openai_url", "openai_confirmed")
    @classmethod
    def _usable_server(cls, value: str) -> str:
        from models.servers.openai import base_url

        try:
            return base_url(value) if value else value
        except ValueError as error:
            raise ValueError("it has to be an address like http://127.0.0.1:8080/v1") from error

    @field_validator("web_search")
    @classmethod
    def _known_search(cls, value: str) -> str:
        if value != DDGS:
            try:
                AnyHttpUrl(value)
            except ValueError as error:
                raise ValueError("it has to be ddgs or an address like http://127.0.0.1:8888") from error
        return value

    @field_validator("web_contact")
    @classmethod
    def _one_address(cls, value: str) -> str:
        if value and not _EMAIL.fullmatch(value):
            raise ValueError("it has to be an e-mail address")
        return value


@dataclass(frozen=True, slots=True)
class Entry:
    """One setting in force."""

    key: str  # dotted
    label: str  # its name in the app
    value: object  # as it is used
    layer: Layer  # where the value comes from
    origin: str  # the environment variable or the file; "" for a default
    description: str  # a sentence
    choices: Sequence[str] = ()  # all possible values as text, if they are few
    problem: str = ""  # why the value there cannot be used, so that `value` is the default

    @property
    def text(self) -> str:
        return as_text(self.value)


def load(
    flags: Mapping[str, object] | None = None, warn: Callable[[str], object] = failures.warn_once
) -> Settings:
    """The settings in force.

    Args:
        flags: Values from the command line by dotted key; None for a flag that was not given.
        warn: Called with a sentence for each setting that is ignored: one that does not exist, or an
            unusable value of the app's own settings.

    Raises:
        BadSetting: a value cannot be used, or the file cannot be read.
    """
    flag_values = {key: value for key, value in (flags or {}).items() if value is not None}
    values = {**_flatten(read_file()), **_environment(), **flag_values}
    settings, _, error = _checked(values, warn, flag_values)
    if error is not None:
        raise error
    return settings


def _checked(
    values: Mapping[str, object], warn: Callable[[str], object], flags: Collection[str] = ()
) -> tuple[Settings, dict[str, str], BadSetting | None]:
    """The settings, by key what is wrong with a value, in whose place the default is, and its error."""
    for key in values:
        if key not in fields() and not any(name.startswith(f"{key}.") for name in fields()):
            warn(f"{_place(key)}: there is no such setting; it is ignored. {_similar(key)}")
    known = (*map(variable, fields()), *_OTHER_VARIABLES)
    for name in os.environ:  # told only if it is similar: other programs have names of their own
        if (
            name.startswith(_PREFIX)
            and name not in known
            and (hint := did_you_mean(name, known, "", _PREFIX))
        ):
            warn(f"{name} in the environment: there is no such variable; it is ignored. {hint}")
    problems: dict[str, str] = {}
    try:
        settings = Settings.model_validate(_nest(values))
    except ValidationError as invalid:
        problems = {".".join(map(str, problem["loc"])): _reason(problem) for problem in invalid.errors()}
        usable = {key: value for key, value in values.items() if key not in problems}
        settings = Settings.model_validate(_nest(usable))
    error: BadSetting | None = None
    for key, reason in problems.items():
        if key.startswith(_APP):
            warn(f"{_place(key)}: {reason}; the default is used.")
        elif error is None:
            error = _setting_error(key, reason, flags)
    return settings, problems, error


def warn_if_unusable() -> None:
    """Warn of settings that cannot be used, in a command that needs none."""
    try:
        load()
    except BadSetting as error:
        failures.warn(f"{error.message} {error.way_out}")


def entries(warn: Callable[[str], object] = failures.warn_once) -> tuple[list[Entry], BadSetting | None]:
    """All settings with their origins, and the error if `load` raises one; ``warn`` is as there.

    Raises `BadSetting` if the file cannot be read.
    """
    environment, file = _environment(), _flatten(read_file())
    settings, problems, error = _checked({**file, **environment}, warn)
    rows: list[Entry] = []
    for key, field in fields().items():
        layer: Layer = "environment" if key in environment else "file" if key in file else "default"
        origin = {"environment": variable(key), "file": str(config_file())}.get(layer, "")
        choices: Sequence[str] = ()
        if field.annotation is bool:
            choices = ("true", "false")
        elif get_origin(field.annotation) is Literal:
            choices = get_args(field.annotation)
        label = field.title or key.rpartition(".")[2].capitalize()
        value, description = attrgetter(key)(settings), field.description or ""
        problem = problems.get(key, "")
        rows.append(Entry(key, label, value, layer, origin, description, choices, problem))
    return rows, error


@cache
def fields() -> dict[str, FieldInfo]:
    """Every setting by its dotted key, in the order of definition."""
    return dict(_fields(Settings.model_fields, ""))


def as_text(value: object) -> str:
    """A value as on the command line."""
    if isinstance(value, float):
        return str(value).removesuffix(".0")
    return str(value).lower() if isinstance(value, bool) else str(value)


def parse_value(key: str, text: str) -> object:
    """Convert ``text`` to the type of ``key``. Raises `BadSetting` if there is none, or not this value."""
    require_key(key)
    try:
        settings = Settings.model_validate(_nest({key: text}))
    except ValidationError as error:
        reason = _reason(error.errors()[0])
        raise BadSetting(f"{key}: {reason}.", f"{key}: {fields()[key].description}") from error
    value: object = attrgetter(key)(settings)
    return value


def require_key(key: str) -> None:
    if key not in fields():
        raise BadSetting(f"There is no setting “{key}”.", _similar(key))


def variable(key: str) -> str:
    return _PREFIX + key.replace(".", "_").upper()


def read_file(parse: Callable[[str], dict[str, Any]] = tomllib.loads) -> dict[str, Any]:
    """The contents of the settings file; empty if there is none. Raises `BadSetting` if it is not TOML."""
    path = config_file()
    try:
        return parse(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return parse("")
    except NotADirectoryError as error:
        raise BadSetting(
            f"There can be no settings file {path}: a part of that path is a file, not a folder.",
            "Set DEEPTHINK_HOME to a folder, or unset it.",
        ) from error
    except OSError as error:
        raise BadSetting(
            f"The settings file {path} cannot be read: {error.strerror}.",
            "Make it readable, or delete it to go back to the defaults.",
        ) from error
    except ValueError as error:  # the errors of both parsers and UnicodeDecodeError are subclasses
        raise BadSetting(
            f"The settings file {path} is not valid TOML: {error}.",
            "Correct that line, or delete the file to go back to the defaults.",
        ) from error


def put(key: str, text: str) -> object:
    """Set ``key`` in the file; returns the value as it is stored. Raises `BadSetting`."""
    value = parse_value(key, text)
    import tomlkit

    document = _document()
    table = document
    *groups, name = key.split(".")
    for group in groups:
        if not isinstance(table.get(group), dict):
            table[group] = tomlkit.table()
        table = table[group]
    table[name] = value
    _write(document)
    return value


def drop(key: str) -> bool:
    """Remove ``key`` from the file, even if this version does not know it; False if it was not there.

    Raises `BadSetting` if it is neither a setting nor in the file, or the file cannot be read or written.
    """
    document = _document()
    table = document
    *groups, name = key.split(".")
    for group in groups:
        inner = table.get(group)
        table = inner if isinstance(inner, dict) else {}
    if name not in table:
        require_key(key)
        return False
    del table[name]
    _write(document)
    return True


def _document() -> dict[str, Any]:
    import tomlkit

    read_file()  # says what is wrong more clearly than tomlkit
    return read_file(tomlkit.parse)


def _write(document: dict[str, Any]) -> None:
    """Write a temporary file and move it into place, so that a full disk leaves the old one intact."""
    import tomlkit

    path = config_file().resolve()  # a link into a dotfiles folder stays a link
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        temporary = Path(name)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write(tomlkit.dumps(document).rstrip("\n") + "\n")
                stream.flush()
                os.fsync(stream.fileno())
            temporary.chmod(path.stat().st_mode & 0o777 if path.exists() else 0o600)
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise BadSetting(
            f"The settings file {path} cannot be written: {error.strerror}.",
            "Make the folder writable, or set DEEPTHINK_HOME to another one.",
        ) from error


def _fields(shape: Mapping[str, FieldInfo], prefix: str) -> Iterator[tuple[str, FieldInfo]]:
    for name, field in shape.items():
        if inner := getattr(field.annotation, "__pydantic_fields__", None):
            yield from _fields(inner, f"{prefix}{name}.")
        else:
            yield prefix + name, field


def _environment() -> dict[str, str]:
    return {key: value for key in fields() if (value := os.environ.get(variable(key)))}


def _setting_error(key: str, reason: str, flags: Collection[str]) -> BadSetting:
    """The error for an unusable value, with the place where it can be changed."""
    field = fields().get(key)
    way_out = f"{key}: {field.description}" if field else "Set each setting of the group on its own."
    if key in flags:
        return BadSetting(f"--{key.rsplit('.', maxsplit=1)[-1].replace('_', '-')}: {reason}.", way_out)
    if variable(key) not in os.environ:
        way_out = f"{way_out} Correct it there, or `deepthink config unset {key}`."
    return BadSetting(f"{_place(key)}: {reason}.", way_out)


def _place(key: str) -> str:
    """A setting with the place its value comes from."""
    name = variable(key)
    return f"{name} in the environment" if name in os.environ else f"{key} in {config_file()}"


def _reason(problem: Mapping[str, Any]) -> str:
    """What is wrong with a value, by the type of the error or its beginning; else in pydantic's words."""
    limits = problem.get("ctx", {})
    given = problem["input"]
    given_value = f", not “{given}”" if isinstance(given, str | int | float) and given != "" else ""
    choices = str(limits.get("expected", "")).replace("'", "").lstrip(", ")  # pydantic's list, without ""
    words = {
        "int": "it has to be a whole number",
        "float": "it has to be a number",
        "bool": "it has to be true or false",
        "finite_number": "it has to be a finite number",
        "string_type": "it has to be text",
        "string_too_short": "it must not be empty",
        "greater_than_equal": f"it has to be at least {limits.get('ge')}",
        "greater_than": f"it has to be more than {limits.get('gt', 0):g}",
        "less_than_equal": f"it has to be at most {limits.get('le')}",
        "model": "it is a group of settings",
        "dataclass": "it is a group of settings",
        "literal_error": f"it has to be {choices}",
        "value_error": str(limits.get("error", "")),
    }
    kind = str(problem["type"])
    text = words.get(kind) or words.get(kind.partition("_")[0]) or str(problem["msg"])
    is_complete = kind == "value_error" and not text.startswith("it has to")
    return text if is_complete else text + given_value


def _similar(key: str) -> str:
    return did_you_mean(key, fields(), "`deepthink config` lists the settings.")


def _nest(values: Mapping[str, object]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for key, value in values.items():
        *groups, name = key.split(".")
        table = nested
        for group in groups:
            inner = table.get(group)
            table[group] = inner if isinstance(inner, dict) else {}
            table = table[group]
        table[name] = value
    return nested


def _flatten(nested: Mapping[str, Any], prefix: str = "") -> dict[str, object]:
    values: dict[str, object] = {}
    for name, value in nested.items():
        if isinstance(value, Mapping):
            values.update(_flatten(value, f"{prefix}{name}."))
        else:
            values[prefix + name] = value
    return values
