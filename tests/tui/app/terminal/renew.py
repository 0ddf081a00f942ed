"""Renews the README's pictures: ``python -m tests.tui.app.terminal.renew``, after ``deepthink demo``.

They show the demo's question as the default model answered it, 120 columns wide.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from agent.documents.sample_library import demo_question
from tests.tui.app.terminal.tmux import Tmux

_PICTURES = Path(__file__).with_name("pictures")


def main() -> None:
    """Open the stored conversation, a passage that it cites, and its decisions."""
    environment = {name: value for name, value in os.environ.items() if name.startswith("DEEPTHINK_")}
    with tempfile.TemporaryDirectory() as folder:
        terminal = Tmux(Path(folder), columns=120)
        try:
            terminal.start([str(Path(sys.executable).parent / "deepthink-tui")], environment)
            terminal.shows("✓ qwen2.5-coder-1.5b", patience=300)
            terminal.press("app.palette")
            terminal.type(demo_question()[:40])
            terminal.shows("Conversation:")
            terminal.key("enter")
            terminal.shows("✓ answered", "[2]")
            terminal.press("ask.citations")
            terminal.shows("l Plan")
            terminal.picture(_PICTURES / "answer.svg", "An answer, each claim with its source")
            terminal.press("answer.open")
            terminal.shows("cited as [1]", "“", lambda screen: "│ …" not in screen)  # its title is read
            terminal.picture(_PICTURES / "passage.svg", "The passage behind a citation")
            terminal.press("passage.close")
            terminal.shows(lambda screen: "cited as" not in screen)
            terminal.press("app.learn")
            terminal.shows("CONTINUE", "rules", lambda screen: "after step" not in screen)  # settled
            terminal.press("strip.finish")
            terminal.shows("✎", "Labelled")
            terminal.shows(lambda screen: "Labelled" not in screen)
            terminal.picture(_PICTURES / "decisions.svg", "Every decision, and what it should have been")
            terminal.press("strip.unsay")
            terminal.shows(lambda screen: "✎" not in screen)  # the next time begins without it
        finally:
            terminal.close()


if __name__ == "__main__":
    main()
