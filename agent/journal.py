"""The journal of model calls: what a killed run had already been answered is not asked again.

A checkpoint is made after each node. The replies that came since are kept here, so that a node which
runs again after a kill gets them back in the same order, at no cost, and asks only what is left.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from models.protocols import Chat, ChatOptions, Choice, Message, Reply, Usage


class Journal:
    """Replies since the last checkpoint, each under the prompt it answers.

    Args:
        connection: To the run's checkpoint file; used under ``lock`` only.
        lock: Shared with whoever else uses the connection.
    """

    def __init__(self, connection: sqlite3.Connection, lock: threading.Lock) -> None:
        self._connection = connection
        self._lock = lock
        with self._lock, self._connection:
            self._connection.execute(
                "CREATE TABLE IF NOT EXISTS journal (seq INTEGER PRIMARY KEY, prompt TEXT, reply TEXT)"
            )
        rows = self._connection.execute("SELECT prompt, reply FROM journal ORDER BY seq").fetchall()
        self._replayed: list[tuple[str, str]] = list(rows)

    def replay(self, prompt: str) -> dict[str, Any] | None:
        """The reply that ``prompt`` got before the kill; given once, None if there is none."""
        for index, (known, reply) in enumerate(self._replayed):
            if known == prompt:
                del self._replayed[index]
                found: dict[str, Any] = json.loads(reply)
                return found
        return None

    def keep(self, prompt: str, reply: dict[str, Any]) -> None:
        """Store a reply before anything is done with it."""
        with self._lock, self._connection:
            self._connection.execute(
                "INSERT INTO journal (prompt, reply) VALUES (?, ?)", [prompt, json.dumps(reply)]
            )

    def clear(self) -> None:
        """Forget the replies: a checkpoint holds what came of them."""
        self._replayed = []
        with self._lock, self._connection:
            self._connection.execute("DELETE FROM journal")


class JournaledChat:
    """A chat model whose replies are kept until the next checkpoint.

    Args:
        chat: The model.
        journal: Where they are kept.
    """

    def __init__(self, chat: Chat, journal: Journal) -> None:
        self._chat = chat
        self._journal = journal

    @property
    def name(self) -> str:
        """The model's."""
        return self._chat.name

    @property
    def context_tokens(self) -> int:
        """The model's."""
        return self._chat.context_tokens

    def count_tokens(self, text: str) -> int:
        """The model's count."""
        return self._chat.count_tokens(text)

    def generate(self, messages: Sequence[Message], options: ChatOptions) -> Reply:
        """The reply of before the kill, streamed in one piece, or a new one."""
        asked = {"max_tokens": options.max_tokens, "schema": options.schema, "at": options.temperature}
        prompt = _prompt(messages, asked)
        kept = self._journal.replay(prompt)
        if kept is not None:
            reply = Reply(kept["text"], Usage(**kept["usage"]), kept["finish_reason"], kept["reasoning"])
            if options.on_text is not None:
                options.on_text(reply.text)
            return reply
        reply = self._chat.generate(messages, options)
        self._journal.keep(prompt, asdict(reply))
        return reply

    def choose(
        self,
        messages: Sequence[Message],
        options: Sequence[str],
        cancel: threading.Event | None = None,
    ) -> Choice:
        """The choice of before the kill, or a new one."""
        prompt = _prompt(messages, {"labels": list(options)})
        kept = self._journal.replay(prompt)
        if kept is not None:
            return Choice(tuple(kept["probabilities"]), Usage(**kept["usage"]), kept["measured"])
        choice = self._chat.choose(messages, options, cancel)
        self._journal.keep(prompt, asdict(choice))
        return choice

    def close(self) -> None:
        """Nothing: the model is its opener's to close."""


def _prompt(messages: Sequence[Message], asked: dict[str, Any]) -> str:
    whole = json.dumps([[[m.role, m.content] for m in messages], asked], sort_keys=True)
    return hashlib.sha256(whole.encode()).hexdigest()
