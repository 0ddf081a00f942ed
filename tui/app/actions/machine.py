"""What is possible with models, settings and the machine."""

from __future__ import annotations

from tui.app.actions.action import Action

MODELS: tuple[Action, ...] = ()
SETTINGS: tuple[Action, ...] = ()
DOCTOR: tuple[Action, ...] = ()
CONFIRM = (
    Action("confirm.yes", "y", "yes", "Yes", "Do what is asked."),
    Action("confirm.no", "n,escape", "no", "No", "Leave everything as it is."),
    Action("confirm.move", "left,right", "app.focus_next", "Other", "Go to the other choice.", shown=False),
)
HELP = (Action("help.close", "escape,q", "close", "Close", "Back to the screen beneath; so does F1."),)
WELCOME = (
    Action("welcome.model", "m", "model", "Fetch model", "Fetch the language model and the embedder."),
    Action("welcome.small", "s", "small", "Smaller", "Fetch the smaller, faster, weaker language model."),
    Action("welcome.samples", "r", "samples", "Read samples", "Read the sample library."),
    Action("welcome.files", "o", "files", "Own files", "Choose documents of your own."),
    Action("welcome.ask", "a", "ask", "Ask", "Ask the first question."),
    Action("welcome.stop", "x", "stop", "Stop", "Stop what is going on; what was done is kept."),
    Action(
        "welcome.skip", "escape", "skip", "Skip", "Go to the prompt; all this is in Models and Library."
    ),
)
