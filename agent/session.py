"""A run's access to its models: every call is budgeted and recorded, and no passage is read twice."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from pydantic import BaseModel

from agent.budget import OUT_OF_TIME, OUT_OF_TOKENS, Budget, BudgetExhausted, Ledger, Stop
from agent.events import Event, ModelCalled, Warned
from agent.prompts import SYSTEM, TAUGHT
from agent.steering import Steering
from models.protocols import (
    Chat,
    ChatOptions,
    Choice,
    Completer,
    ContextOverflow,
    GenerationCancelled,
    Message,
    Reader,
    Reading,
    Reply,
    Support,
    Teachable,
    Usage,
)
from models.structured import Structured, ask
from models.token_estimate import at_most
from traces.plain_text import plain

T = TypeVar("T", bound=BaseModel)
R = TypeVar("R", Reply, Choice, Structured[Any])
_TEMPLATE_TOKENS = 48  # a generous estimate of what a chat template and a repair instruction add
SHADOW = "shadow"
"""The purpose of a second decider's model calls, in events."""

Item = TypeVar("Item")
Result = TypeVar("Result")


class Session:
    """The model, the budget and the event sink of one run.

    Prompts are append-only: the system prompt, then the notebook so far, then the current instruction. So
    each prompt shares all but its end with the previous one, and an engine that keeps the prefix evaluates
    only the new part.

    ``emit`` takes the events; it is called from the graph's threads.
    """

    def __init__(
        self, chat: Chat, budget: Budget, emit: Callable[[Event], None], steering: Steering | None = None
    ) -> None:
        self.chat = chat
        self.emit = emit
        self.steering = steering or Steering()
        self.stop = Stop(budget.seconds, self.steering)
        self.ledger = Ledger(budget)
        self.given_back = 0.0
        self._beside = False
        self._warned: set[str] = set()
        self.on_call: Callable[[str], None] = lambda _purpose: None  # the graph reports the node's progress

    @property
    def taught(self) -> Chat | None:
        """The model as it was taught `prompts.TAUGHT`; None if it was not."""
        return self.chat.taught if isinstance(self.chat, Teachable) else None

    @contextmanager
    def beside(self) -> Iterator[None]:
        """For a second decider: time and tokens of calls inside are not charged to the run."""
        began = time.monotonic()
        self._beside = True
        try:
            yield
        finally:
            self._beside = False
            self.give_back(time.monotonic() - began)

    def give_back(self, seconds: float) -> None:
        """Do not charge this time to the run's budget; `given_back` is the sum."""
        self.stop.extend(seconds)
        self.given_back += seconds

    def warn_once(self, message: str) -> None:
        """Emit a warning, unless the same was emitted before."""
        if message not in self._warned:
            self._warned.add(message)
            self.emit(Warned(message))

    def room(self, notebook: Sequence[str], reserve: int) -> int:
        """Tokens that can be appended to the notebook, with ``reserve`` left for the rest."""
        used = self.chat.count_tokens("\n\n".join([SYSTEM, *notebook])) + _TEMPLATE_TOKENS
        return max(0, self.chat.context_tokens - used - reserve)

    def fits(self, notebook: Sequence[str], text: str, reserve: int) -> bool:
        """Whether ``text`` can be appended to the notebook, with ``reserve`` tokens left for the rest.

        The model, which must be loaded to count, is asked only if an estimate that is never too low does
        not decide it.
        """
        whole = "\n\n".join([SYSTEM, *notebook, text])
        if at_most(whole) + _TEMPLATE_TOKENS + reserve <= self.chat.context_tokens:
            return True
        return self.chat.count_tokens(text) <= self.room(notebook, reserve)

    def write(
        self,
        purpose: str,
        notebook: Sequence[str],
        instruction: str,
        max_tokens: int,
        on_text: Callable[[str], None] | None = None,
        system: str = SYSTEM,
        unlike: str = "",
    ) -> Reply:
        """Generate free text that does not begin with ``unlike``.

        Raises `BudgetExhausted` if the budget or the context has no room for the call, or the time ran out,
        `GenerationCancelled` if the user stopped the run, and `StepSkipped` if the user skipped the
        research step.
        """
        messages = _messages(notebook, instruction, system)
        show = None if on_text is None else lambda piece: on_text(plain(piece))
        options = ChatOptions(max_tokens=max_tokens, unlike=unlike, on_text=show, cancel=self.stop)
        chat = (self.taught if system == TAUGHT else None) or self.chat
        prompt = self._prompt_tokens(messages)
        reply = self._call(purpose, prompt, max_tokens, lambda: chat.generate(messages, options))
        return replace(reply, text=plain(reply.text))

    def complete(self, purpose: str, model: Completer, text: str, max_tokens: int) -> str:
        """What ``model`` writes after ``text``. Raises as `write`."""
        call = partial(model.complete, text, max_tokens, self.stop)
        reply = self._call(purpose, at_most(text), max_tokens, call)
        return plain(reply.text)

    def ask(
        self,
        purpose: str,
        notebook: Sequence[str],
        instruction: str,
        shape: type[T],
        default: T,
        max_tokens: int,
    ) -> Structured[T]:
        """Generate an object of ``shape``, else ``default``, recorded as such. Raises as `write`."""
        messages = _messages(notebook, instruction)
        options = ChatOptions(max_tokens=max_tokens, cancel=self.stop)
        # A repair may evaluate everything again, with the first answer.
        prompt, answer = 2 * self._prompt_tokens(messages), 3 * max_tokens
        return self._call(
            purpose, prompt, answer, lambda: ask(self.chat, messages, shape, default, options)
        )

    def choose(
        self, purpose: str, notebook: Sequence[str], instruction: str, labels: Sequence[str]
    ) -> Choice:
        """A probability for each single-token label. Raises as `write`."""
        messages = _messages(notebook, instruction)
        prompt = self._prompt_tokens(messages)
        return self._call(purpose, prompt, 1, lambda: self.chat.choose(messages, labels, self.stop))

    def _prompt_tokens(self, messages: Sequence[Message]) -> int:
        """Those of the whole prompt: how many the engine can reuse is unknown before the call."""
        return sum(self.chat.count_tokens(m.content) for m in messages) + _TEMPLATE_TOKENS

    def _call(self, purpose: str, prompt: int, answer: int, call: Callable[[], R]) -> R:
        """Make a call of at most ``prompt`` and ``answer`` tokens."""
        if prompt + answer > self.ledger.tokens_left:
            raise BudgetExhausted(OUT_OF_TOKENS)
        if self.stop.out_of_time:
            raise BudgetExhausted(OUT_OF_TIME)
        purpose = SHADOW if self._beside else purpose
        self.on_call(purpose)
        began = time.monotonic()
        try:
            result = call()
        except GenerationCancelled as stopped:
            # The tokens computed so far are unknown; the prompt is an upper bound.
            self.ledger.add(Usage(evaluated=prompt), charged=not self._beside)
            self.stop.raise_reason(stopped)
        except ContextOverflow as full:
            raise BudgetExhausted("context") from full
        usage = replace(result.usage, seconds=time.monotonic() - began)
        self.ledger.add(usage, charged=not self._beside)
        self.emit(ModelCalled(purpose, usage.evaluated, usage.reused, usage.generated, usage.seconds))
        return result


def _messages(notebook: Sequence[str], instruction: str, system: str = SYSTEM) -> list[Message]:
    """The prompt for ``instruction`` after ``notebook``."""
    return [Message("system", system), Message("user", "\n\n".join([*notebook, instruction]))]


class MemoReader:
    """A `Reader` that reads no pair twice: after a correction, many passages of a step are the same."""

    def __init__(self, reader: Reader) -> None:
        self.name = reader.name
        self._reader = reader
        self._results: dict[tuple[Any, ...], Any] = {}

    def read(self, question: str, passages: Sequence[str]) -> list[Reading]:
        return self._once(("read", question), passages, partial(self._reader.read, question))

    def support(self, pairs: Sequence[tuple[str, str]]) -> list[Support]:
        return self._once(("support",), pairs, self._reader.support)

    def judge(self, question: str, pairs: Sequence[tuple[str, str]]) -> list[Support]:
        return self._once(("judge", question), pairs, partial(self._reader.judge, question))

    def _once(
        self, task: tuple[str, ...], items: Sequence[Item], ask: Callable[[Sequence[Item]], list[Result]]
    ) -> list[Result]:
        """The results for ``items``; the reader is asked only for those that are new."""
        new = [item for item in dict.fromkeys(items) if (task, item) not in self._results]
        if new:
            self._results.update(zip([(task, item) for item in new], ask(new), strict=True))
        return [self._results[task, item] for item in items]
