"""What is possible with models, settings and the machine."""

from __future__ import annotations

from tui.app.actions.action import Action

MODELS = (
    Action("models.use", "enter", "use", "Use", "Use the model under the cursor from now on."),
    Action("models.pull", "p", "pull", "Fetch", "Fetch the model; what came before is gone on from."),
    Action("models.probe", "t", "probe", "Measure", "Measure a language model: context, JSON, speed."),
    Action("models.verify", "v", "verify", "Verify", "Compare the files with their publisher's sha256."),
    Action("models.file", "i", "file", "A file", "Use a .gguf file, a model folder, or ollama:NAME."),
    Action("models.stop", "x", "stop", "Stop", "Stop what is going on; what was fetched is kept."),
    Action("models.leave", "escape", "leave", "Leave", "Leave the line for a path."),
    Action("models.refresh", "u", "refresh", "Refresh", "Look again what there is.", shown=False),
)
SETTINGS = (
    Action("settings.edit", "enter", "edit", "Change", "Change the setting under the cursor."),
    Action("settings.unset", "u,delete", "unset", "Back to default", "Take it out of the settings file."),
    Action("settings.search", "slash", "search", "Search", "Find a setting by its name or description."),
    Action("settings.leave", "escape", "leave", "Leave", "Leave the editor or the search."),
    Action("settings.refresh", "r", "refresh", "Read again", "Read the settings file again.", shown=False),
)
DOCTOR = (
    Action("doctor.again", "r", "again", "Examine again", "Look at everything once more."),
    Action("doctor.copy", "c", "copy", "Copy report", "Put the report on the clipboard, for an issue."),
    Action("doctor.full", "enter", "full", "In full", "Show the row in full, or shorten it again."),
)
CONFIRM = (
    Action("confirm.yes", "y", "yes", "Yes", "Do what is asked."),
    Action("confirm.no", "n,escape", "no", "No", "Leave everything as it is."),
    Action("confirm.move", "left,right", "app.focus_next", "Other", "Go to the other choice.", shown=False),
)
HELP = (Action("help.close", "escape,q", "close", "Close", "Back to the screen beneath; so does F1."),)
WELCOME = (  # no letter begins anything: one that was meant for the prompt would fetch a model
    Action("welcome.next", "enter", "next", "Next step", "Take the next step."),
    Action("welcome.small", "ctrl+s", "small", "Smaller model", "Fetch the smaller language model."),
    Action("welcome.files", "ctrl+o", "files", "Own documents", "Choose documents of your own."),
    Action("welcome.stop", "x", "stop", "Stop", "Stop; what was done so far is kept."),
    Action("welcome.skip", "escape", "skip", "Skip", "Go to the prompt at once."),
    Action("welcome.quit", "ctrl+q", "app.quit", "Quit", "Leave; these steps come again next time."),
    Action("welcome.how_to_quit", "ctrl+c", "app.help_quit", "Quit", "Say how to leave.", shown=False),
    Action("welcome.palette", "ctrl+p", "app.command_palette", "Palette", "Find anything.", shown=False),
)
