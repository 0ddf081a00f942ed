"""JSON schemas as GBNF grammars, and the choice of the next token under one.

llama-cpp-python's converter is used, with two of its rules replaced. Its strings admit raw line
breaks, which are not JSON, and endless white space, in which small models get lost; here white space
comes one blank at a time, inside strings and between them.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from models.llama_cpp.engine import Engine, Logits
from models.protocols import JsonSchema

_log = logging.getLogger("deepthink.llama_cpp")

_STRICTER = {
    "char": r'[^"\\ \x00-\x1F\x7F] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4})',
    "string": r'"\"" (" "? char)* " "? "\"" space',
}
_SHORTLIST = 256


def gbnf(schema: JsonSchema) -> str | None:
    """The grammar of a JSON schema; None, with a warning in the log, if it cannot be expressed."""
    from llama_cpp.llama_grammar import json_schema_to_gbnf

    try:
        text: str = json_schema_to_gbnf(json.dumps(schema))
    except (AssertionError, KeyError, ValueError, TypeError, AttributeError) as trouble:
        _log.warning("no grammar for the schema %s: %s", schema.get("title", ""), trouble)
        return None
    rules = dict(line.split(" ::= ", 1) for line in text.splitlines())
    rules.update({name: rule for name, rule in _STRICTER.items() if name in rules})
    return "\n".join(f"{name} ::= {rule}" for name, rule in rules.items())


class Picker:
    """Chooses each next token: greedy or sampled (``temperature`` > 0), under a schema's grammar or free.

    The grammar is asked about the best candidate first, then about a short list, and only then about
    the whole vocabulary, which would take longer than computing the token. A schema that no grammar
    expresses leaves the answer free; the caller has to validate it anyway.
    """

    def __init__(self, engine: Engine, temperature: float, schema: JsonSchema | None) -> None:
        self._engine = engine
        self._pick: Callable[[Logits], int] = _greedy if temperature <= 0 else _Sampled(temperature)
        self._grammar: Any = None
        text = gbnf(schema) if schema is not None else None
        if text is not None:
            self._grammar = engine.grammar(text)
            if not self._grammar:
                _log.warning("llama.cpp could not compile this grammar:\n%s", text)

    def next(self) -> int | None:
        """The next token after what the engine holds; None where the answer ends."""
        logits = self._engine.logits()
        token: int | None = self._pick(logits)
        if self._grammar and not self._admits(np.array([token], dtype=np.int32))[0]:
            token = self._pick_admitted(logits)
        if token is None or self._engine.ends(token):
            return None
        if self._grammar:
            self._engine.accept(self._grammar, token)
        return token

    def close(self) -> None:
        """Free the grammar."""
        if self._grammar:
            self._engine.free_sampler(self._grammar)
            self._grammar = None

    def _admits(self, tokens: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
        return self._engine.allowed(self._grammar, tokens)

    def _pick_admitted(self, logits: Logits) -> int | None:
        size = min(_SHORTLIST, len(logits))
        best = np.argpartition(logits, -size)[-size:].astype(np.int32)
        admitted = best[self._admits(best)]
        if not len(admitted):
            everything = np.arange(len(logits), dtype=np.int32)
            admitted = everything[self._admits(everything)]
        if not len(admitted):
            return None  # no token of this vocabulary fits: the answer ends, and is found wanting
        masked = np.full_like(logits, -np.inf)
        masked[admitted] = logits[admitted]
        return self._pick(masked)


def _greedy(logits: Logits) -> int:
    return int(np.argmax(logits))


class _Sampled:
    """Draws from the 40 most probable tokens that make up 95 % of the probability."""

    def __init__(self, temperature: float) -> None:
        self._temperature = temperature
        self._random = np.random.default_rng()

    def __call__(self, logits: Logits) -> int:
        order = np.argsort(logits)[::-1][:40]
        scaled = logits[order].astype(np.float64) / self._temperature
        weights = np.exp(scaled - scaled[0])
        weights /= weights.sum()
        kept = weights[: int(np.searchsorted(np.cumsum(weights), 0.95)) + 1]
        return int(self._random.choice(order[: len(kept)], p=kept / kept.sum()))
