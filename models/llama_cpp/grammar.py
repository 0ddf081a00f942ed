"""JSON schemas as GBNF grammars, and the choice of the next token under one.

llama-cpp-python's converter is used, with two of its rules replaced. Its strings admit raw line
breaks, which are not JSON, and unlimited white space, in which small models get lost. The replacements
allow one blank at a time, inside strings and between them.
"""

from __future__ import annotations

import json
import logging
from typing import Any

import numpy as np
import numpy.typing as npt

from models.llama_cpp.engine import Engine, Logits
from models.protocols import JsonSchema

_log = logging.getLogger("deepthink.llama_cpp")

_STRICTER_RULES = {
    "char": r'[^"\\ \x00-\x1F\x7F] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4})',
    "string": r'"\"" (" "? char)* " "? "\"" space',
}
_SHORTLIST_SIZE = 256


def gbnf(schema: JsonSchema) -> str | None:
    """The grammar of a JSON schema; None, with a logged warning, if the converter does not support it."""
    from llama_cpp.llama_grammar import json_schema_to_gbnf

    try:
        text: str = json_schema_to_gbnf(json.dumps(schema))
    except (AssertionError, KeyError, ValueError, TypeError, AttributeError) as error:
        _log.warning("no grammar for the schema %s: %s", schema.get("title", ""), error)
        return None
    rules = dict(line.split(" ::= ", 1) for line in text.splitlines())
    rules.update({name: rule for name, rule in _STRICTER_RULES.items() if name in rules})
    return "\n".join(f"{name} ::= {rule}" for name, rule in rules.items())


class Picker:
    """Picks the likeliest next token, constrained by a schema or not.

    The grammar checks the best token first, then a shortlist, and only then the whole vocabulary, which
    would take longer than computing the token. If a schema has no grammar, the answer is unconstrained;
    the caller has to validate it anyway.
    """

    def __init__(self, engine: Engine, schema: JsonSchema | None) -> None:
        self._engine = engine
        self._grammar: Any = None
        text = gbnf(schema) if schema is not None else None
        if text is not None:
            self._grammar = engine.grammar(text)
            if not self._grammar:
                _log.warning("llama.cpp could not compile this grammar:\n%s", text)

    def next(self) -> int | None:
        """The next token after those in the engine; None at the end of the answer."""
        logits = self._engine.logits()
        token: int | None = int(np.argmax(logits))
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
        size = min(_SHORTLIST_SIZE, len(logits))
        shortlist = np.argpartition(logits, -size)[-size:].astype(np.int32)
        admitted = shortlist[self._admits(shortlist)]
        if not len(admitted):
            vocabulary = np.arange(len(logits), dtype=np.int32)
            admitted = vocabulary[self._admits(vocabulary)]
        if not len(admitted):
            return None  # no token fits: the answer ends here, and fails validation
        admitted.sort()  # of equals the first one is chosen, as without a grammar
        return int(admitted[np.argmax(logits[admitted])])
