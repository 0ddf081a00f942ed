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
        "Go to the last answer and its citations, or to what the run asks.",
        priority=True,
    ),
    Action("ask.unfinished", "f12", "unfinished", "Unfinished", "Runs that can go on.", shown=False),
    Action("ask.sessions", "f10", "sessions", "Sessions", "Open, name or delete a session.", priority=True),
    Action("ask.copy", "ctrl+s", "copy", "Copy answer", "Copy the last answer.", priority=True),
    Action("ask.new", "ctrl+k", "new_session", "New", "Start a new conversation.", priority=True),
    Action("ask.retry", "ctrl+e", "retry", "Edit", "Edit the last question and ask again.", priority=True),
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
    Action("run.pause", "ctrl+o", "pause", "Pause", "Pause, or resume.", False, priority=True),
    Action(
        "run.finish", "ctrl+n", "finish", "Answer now", "Answer from what was found.", False, priority=True
    ),
    Action("run.skip", "ctrl+g", "skip", "Skip step", "Skip this step.", False, priority=True),
    Action(
        "run.add", "ctrl+b", "add", "Add step", "The prompt's text becomes a step.", False, priority=True
    ),
    Action(
        "run.decide", "ctrl+d", "decide", "Decide", "Take the next decision yourself.", False, priority=True
    ),
    Action("run.teach", "ctrl+t", "teach", "Teach", "Every decision waits for you.", False, priority=True),
)
PROMPT = (
    Action("prompt.send", "enter", "send", "Ask", "Send the question.", priority=True),
    Action("prompt.newline", "ctrl+j,shift+enter", "newline", "New line", "Break the line.", False, True),
    Action("prompt.earlier", "up", "earlier", "Earlier", "The question before this one.", False, True),
    Action("prompt.later", "down", "later", "Later", "The question after this one.", False, True),
    Action("prompt.complete", "tab", "complete", "Complete", "Take the completion.", False, True),
)
ANSWER = (
    Action("answer.next", "right", "citation(1)", "Next citation", "Go to the next citation."),
    Action("answer.previous", "left", "citation(-1)", "Citation before", "Go back one.", shown=False),
    Action("answer.open", "enter", "open", "Open passage", "Open the cited passage in its document."),
    *(
        Action(
            f"answer.rate_{rating}",
            rating[0],
            f"screen.rate('{rating}')",
            rating.capitalize(),
            f"Rate the answer as {rating}; once more takes the rating back.",
        )
        for rating in ("good", "partly", "wrong")
    ),
    Action("answer.copy", "c", "screen.copy(True)", "Copy", "Copy the answer with its sources."),
    Action("answer.export", "x", "screen.export", "Export", "Write the run to a file."),
)
THINKING = (
    Action("thinking.next", "right", "tab(1)", "Next tab", "Go to the next tab."),
    Action("thinking.previous", "left", "tab(-1)", "Tab before", "Go to the tab before.", shown=False),
)
