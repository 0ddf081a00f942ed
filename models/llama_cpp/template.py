"""Renders chat messages into a prompt with the template that a GGUF file carries."""

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
    """One model's chat template; ChatML if the file carries none.

    Where a message contains one of ``control_texts`` (a document may) it is broken up, so that a passage
    cannot pose as a turn of the conversation. A ``source`` that is no Jinja template is a `ModelError`.
    """

    def __init__(
        self, source: str | None, *, begin: str = "", end: str = "", control_texts: Sequence[str] = ()
    ) -> None:
        import jinja2
        from llama_cpp.llama_chat_format import Jinja2ChatFormatter

        try:
            self._format: Any = Jinja2ChatFormatter(
                template=source or CHATML, bos_token=begin, eos_token=end
            )
        except jinja2.TemplateError as fault:
            raise ModelError(
                f"The model's chat template cannot be read: {fault}.", "Choose another model file."
            ) from fault
        self._controls = control_pattern(control_texts)

    def render(self, messages: Sequence[Message], *, thinking: bool | None = None) -> str:
        """The prompt, up to where the assistant's answer begins; or `ModelError`.

        ``thinking`` switches thinking on or off where the template has the switch; its own default if None.
        """
        import jinja2

        plain = [{"role": m.role, "content": defused(m.content, self._controls)} for m in messages]
        switch = {} if thinking is None else {"enable_thinking": thinking}
        try:
            return self._rendered(plain, switch)
        except (jinja2.TemplateError, ValueError, TypeError):
            # Some templates know no system role and insist on alternating turns.
            try:
                return self._rendered(_alternating(plain), switch)
            except (jinja2.TemplateError, ValueError, TypeError) as refusal:
                raise ModelError(
                    f"The model's chat template does not accept these messages: {refusal}.",
                    "Choose another model file.",
                ) from refusal

    def _rendered(self, messages: list[dict[str, str]], switch: dict[str, bool]) -> str:
        prompt: str = self._format(messages=messages, **switch).prompt
        return prompt


def _alternating(messages: list[dict[str, str]]) -> list[dict[str, str]]:
    """The same conversation with system turns given to the user and equal neighbours joined."""
    turns: list[dict[str, str]] = []
    for message in messages:
        role = "user" if message["role"] == "system" else message["role"]
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += "\n\n" + message["content"]
        else:
            turns.append({"role": role, "content": message["content"]})
    return turns
