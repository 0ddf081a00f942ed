"""Renders chat messages into a prompt with the template of a GGUF file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from models.control_tokens import control_pattern, defused
from models.protocols import Message, ModelError

CHATML = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)


class ChatTemplate:
    """One model's chat template; ChatML if the file has none.

    Any of ``control_texts`` in a message, for example from a document, is broken up, so that a passage
    cannot pose as a turn of the conversation. Raises `ModelError` if ``source`` is no Jinja template.
    """

    def __init__(
        self, source: str | None, *, begin: str = "", end: str = "", control_texts: Sequence[str] = ()
    ) -> None:
        import jinja2
        from llama_cpp.llama_chat_format import Jinja2ChatFormatter

        try:
            self._formatter: Any = Jinja2ChatFormatter(
                template=source or CHATML, bos_token=begin, eos_token=end
            )
        except jinja2.TemplateError as error:
            raise ModelError(
                f"The model's chat template cannot be read: {error}.", "Choose another model file."
            ) from error
        self._controls = control_pattern(control_texts)

    def render(self, messages: Sequence[Message], *, may_think: bool = True) -> str:
        """The prompt, up to where the assistant's answer begins. Raises `ModelError`.

        ``may_think``: as the template's default; otherwise thinking is off if the template has a switch.
        """
        import jinja2

        defused_messages = [
            {"role": m.role, "content": defused(m.content, self._controls)} for m in messages
        ]
        options = {} if may_think else {"enable_thinking": False}
        try:
            return self._format_prompt(defused_messages, options)
        except (jinja2.TemplateError, ValueError, TypeError):
            # Some templates have no system role and require alternating turns.
            try:
                return self._format_prompt(_alternate_roles(defused_messages), options)
            except (jinja2.TemplateError, ValueError, TypeError) as error:
                raise ModelError(
                    f"The model's chat template does not accept these messages: {error}.",
                    "Choose another model file.",
                ) from error

    def _format_prompt(self, messages: list[dict[str, str]], options: dict[str, bool]) -> str:
        prompt: str = self._formatter(messages=messages, **options).prompt
        return prompt


def _alternate_roles(messages: list[dict[str, str]]) -> list[dict[str, str]]:
    """The conversation with system turns as user turns, and consecutive turns of one role joined."""
    turns: list[dict[str, str]] = []
    for message in messages:
        role = "user" if message["role"] == "system" else message["role"]
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += "\n\n" + message["content"]
        else:
            turns.append({"role": role, "content": message["content"]})
    return turns
