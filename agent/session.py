"""One run's way to its model: every call goes through here, so that none escapes budget or record."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeVar

from pydantic import BaseModel

from agent.budget import Budget, BudgetExhausted, Ledger, Stop
from agent.events import Event, ModelCalled, Warned
from agent.prompts import SYSTEM
from agent.steering import Steering
from models.protocols import (
    Chat,
    ChatOptions,
    Choice,
    ContextOverflow,
    GenerationCancelled,
    Message,
    Reply,
    Usage,
)
from models.structured import Structured, ask
from models.token_estimate import at_most

T = TypeVar("T", bound=BaseModel)
R = TypeVar("R")

_TEMPLATE_TOKENS = 48  # what a chat template and a repair instruction add to the text, generously

SHADOW = "shadow"
"""The purpose under which the model calls of a second opinion are told."""


class RunLedger(Ledger):
    """A run's ledger: a second opinion's tokens are in its totals and do not count against its budget."""

    def __init__(self, budget: Budget) -> None:
        super().__init__(budget)
        self._beside = Usage()

    def add_beside(self, usage: Usage) -> None:
        """Book one finished call of a second opinion."""
        self.add(usage)
        self._beside += usage

    @property
    def tokens_left(self) -> int:
        """Tokens that may still be computed."""
        beside = self._beside.evaluated + self._beside.generated
        return max(0, self.budget.tokens + beside - self.usage.evaluated - self.usage.generated)


class Session:
    """The model, the budget and the event sink of one run.

    Prompts are append-only: system prompt first, then the notebook as it has grown, and the
    instruction of the moment last. So each prompt shares all but its end with the one before it, and
    an engine that keeps its prefix evaluates only what is new.

    Args:
        chat: The model.
        budget: What the run may spend.
        emit: Takes the events; called from whichever thread runs the graph.
        steering: What a person wants of the run meanwhile.
    """

    def __init__(
        self,
        chat: Chat,
        budget: Budget,
        emit: Callable[[Event], None],
        steering: Steering | None = None,
    ) -> None:
        self.chat = chat
        self.emit = emit
        self.steering = steering or Steering()
        self.stop = Stop(budget.seconds, self.steering)
        self.ledger = RunLedger(budget)
        self.given_back = 0.0
        self._beside = False
        self._warned: set[str] = set()
        self.on_call: Callable[[str], None] = lambda _purpose: None  # the graph names the node to watchers

    @contextmanager
    def beside(self) -> Iterator[None]:
        """For a second opinion: neither the time nor the tokens of the calls made inside are the run's."""
        began = time.monotonic()
        self._beside = True
        try:
            yield
        finally:
            self._beside = False
            self.give_back(time.monotonic() - began)

    def give_back(self, seconds: float) -> None:
        """Leave time out of the run's budget; `given_back` is all of it."""
        self.stop.extend(seconds)
        self.given_back += seconds

    def warn_once(self, message: str) -> None:
        """Tell something that would be a nuisance the second time."""
        if message not in self._warned:
            self._warned.add(message)
            self.emit(Warned(message))

    def messages(self, notebook: Sequence[str], instruction: str, system: str = SYSTEM) -> list[Message]:
        """The prompt for ``instruction`` after ``notebook``."""
        text = "\n\n".join([*notebook, instruction])
        return [Message("system", system), Message("user", text)]

    def room(self, notebook: Sequence[str], reserve: int) -> int:
        """Tokens that may still be appended to the notebook if ``reserve`` are kept for the rest."""
        used = self.chat.count_tokens("\n\n".join([SYSTEM, *notebook])) + _TEMPLATE_TOKENS
        return max(0, self.chat.context_tokens - used - reserve)

    def fits(self, notebook: Sequence[str], text: str, reserve: int) -> bool:
        """Whether ``text`` may still be appended to the notebook with ``reserve`` tokens kept for the rest.

        The model, which has to be loaded to count, is asked only where an estimate that is never too low
        leaves it open.
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
    ) -> Reply:
        """Free text.

        Raises:
            BudgetExhausted: the budget or the context has no room for the call, or the clock ran out
                during it.
            GenerationCancelled: a person stopped the run.
            StepSkipped: a person gave up the research step.
        """
        messages = self.messages(notebook, instruction, system)
        options = ChatOptions(max_tokens=max_tokens, on_text=on_text, cancel=self.stop)
        return self._call(
            purpose, messages, max_tokens, lambda: _with_usage(self.chat.generate(messages, options))
        )

    def ask(
        self,
        purpose: str,
        notebook: Sequence[str],
        instruction: str,
        shape: type[T],
        default: T,
        max_tokens: int,
    ) -> Structured[T]:
        """An object of ``shape``, or ``default``, recorded as such. Raises as `write` does."""
        messages = self.messages(notebook, instruction)
        options = ChatOptions(max_tokens=max_tokens, cancel=self.stop)

        def call() -> tuple[Structured[T], Usage]:
            result = ask(self.chat, messages, shape, default, options)
            return result, result.usage

        # A repair turn reads everything again if nothing is reused, the first answer with it.
        return self._call(purpose, messages, 3 * max_tokens, call, turns=2)

    def choose(
        self, purpose: str, notebook: Sequence[str], instruction: str, labels: Sequence[str]
    ) -> Choice:
        """A probability for each single-token label. Raises as `write` does."""
        messages = self.messages(notebook, instruction)

        def call() -> tuple[Choice, Usage]:
            choice = self.chat.choose(messages, labels, self.stop)
            return choice, choice.usage

        return self._call(purpose, messages, 1, call)

    def _call(
        self,
        purpose: str,
        messages: Sequence[Message],
        answer_tokens: int,
        call: Callable[[], tuple[R, Usage]],
        turns: int = 1,
    ) -> R:
        # The prompt is counted whole: what the engine will reuse of it is not known before the call.
        text = sum(self.chat.count_tokens(m.content) for m in messages)
        prompt = turns * (text + _TEMPLATE_TOKENS)
        if prompt + answer_tokens > self.ledger.tokens_left:
            raise BudgetExhausted("token budget")
        if self.stop.out_of_time:
            raise BudgetExhausted("time budget")
        purpose = SHADOW if self._beside else purpose
        book = self.ledger.add_beside if self._beside else self.ledger.add
        self.on_call(purpose)
        began = time.monotonic()
        try:
            result, usage = call()
        except GenerationCancelled as stopped:
            # What it had computed is not told: the whole prompt is the most it can have been.
            book(Usage(evaluated=prompt))
            self.stop.tell_apart(stopped)
        except ContextOverflow as full:
            raise BudgetExhausted("context") from full
        usage = replace(usage, seconds=time.monotonic() - began)
        book(usage)
        self.emit(ModelCalled(purpose, usage.evaluated, usage.reused, usage.generated, usage.seconds))
        return result


def _with_usage(reply: Reply) -> tuple[Reply, Usage]:
    return reply, reply.usage
