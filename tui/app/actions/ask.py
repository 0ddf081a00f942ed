"""What is possible where one asks."""

from __future__ import annotations

from tui.app.actions.action import Action

ASK = (
    Action("ask.panel", "ctrl+l", "panel", "Thinking", "Show or hide the thinking.", priority=True),
    Action(
        "ask.citations",
        "ctrl+y",
        "citations",
        "Citations",
        "To what is asked, or the last answer's citations.",
        priority=True,
    ),
    Action("ask.unfinished", "f12", "unfinished", "Unfinished", "Runs that can go on.", shown=False),
    Action("ask.sessions", "f10", "sessions", "Sessions", "Open, name or delete a session.", priority=True),
    Action("ask.new", "", "new_session", "New session", "The next question stands alone."),
    Action("ask.older", "", "older", "Earlier turns", "Show more of the session's earlier turns."),
    Action(
        "ask.up",
        "pageup",
        "scroll('up')",
        "Scroll up",
        "Scroll the conversation.",
        shown=False,
        priority=True,
    ),
    Action(
        "ask.down",
        "pagedown",
        "scroll('down')",
        "Scroll down",
        "Scroll the conversation.",
        shown=False,
        priority=True,
    ),
    Action(
        "ask.end", "ctrl+end", "scroll('end')", "To the end", "Follow the answer.", False, priority=True
    ),
)
RUN = (
    Action(
        "run.cancel",
        "escape",
        "back",
        "Cancel",
        "To the prompt; there: cancel the run, or clear it.",
        False,
    ),
    Action("run.pause", "ctrl+o", "pause", "Pause", "Pause, or go on.", False, priority=True),
    Action(
        "run.finish", "ctrl+n", "finish", "Answer now", "Answer from what was found.", False, priority=True
    ),
    Action("run.skip", "ctrl+g", "skip", "Skip step", "Give up the step under way.", False, priority=True),
    Action(
        "run.add", "ctrl+b", "add", "Add step", "The prompt's text becomes a step.", False, priority=True
    ),
    Action(
        "run.decide", "ctrl+d", "decide", "Decide", "Take the next decision yourself.", False, priority=True
    ),
    Action(
        "run.teach", "ctrl+t", "teach", "Teach", "Stop at each decision, take yours.", False, priority=True
    ),
)
PROMPT = (
    Action("prompt.send", "enter", "send", "Ask", "Ask what stands in the prompt.", priority=True),
    Action("prompt.newline", "ctrl+j,shift+enter", "newline", "New line", "Break the line.", False, True),
    Action("prompt.earlier", "up", "earlier", "Earlier", "The question before this one.", False, True),
    Action("prompt.later", "down", "later", "Later", "The question after this one.", False, True),
    Action("prompt.complete", "tab", "complete", "Complete", "Take the completion.", False, True),
)
ANSWER = (
    Action("answer.next", "right", "citation(1)", "Next citation", "Go to the next citation."),
    Action("answer.previous", "left", "citation(-1)", "Citation before", "Go back one.", shown=False),
    Action("answer.open", "enter", "open", "Open passage", "Open the cited passage in its document."),
)
THINKING = (
    Action("thinking.next", "right", "tab(1)", "Next tab", "Go to the next tab."),
    Action("thinking.previous", "left", "tab(-1)", "Tab before", "Go to the tab before.", shown=False),
)
