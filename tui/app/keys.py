"""The registry of actions, which keys, footer, palette and help all read.

An action belongs to a place: the app, a screen, or a widget. Its id never changes, since users remap keys
by it: ``deepthink config set app.keys "run.pause=f11, app.runs=alt+r"``.

Three kinds of keys are refused: one that never arrives as such would disable the action, a letter with
priority over the focus could not be typed into the prompt, and with the key of another action nearby only
one works.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Final

from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual.binding import Binding, BindingType
from textual.keys import KEY_ALIASES, REPLACED_KEYS, Keys, key_to_character


@dataclass(frozen=True, slots=True)
class Action:
    """Something the user can do."""

    id: str  # for remapping: `place.name`
    key: str  # Textual's names of the keys, separated by commas
    does: str  # Textual's action, with its arguments
    label: str  # one to three words, for the footer
    help: str  # what it does, in one sentence
    in_footer: bool = True
    priority: bool = False  # whether it precedes the focused widget (the prompt takes most keys)

    @property
    def place(self) -> str:
        """The app, a screen or a widget: where the action is possible."""
        return self.id.partition(".")[0]


_hidden = partial(Action, in_footer=False)
_first = partial(Action, priority=True)
_hidden_first = partial(Action, in_footer=False, priority=True)


def _mode(key: str, mode: str, label: str, help_text: str) -> Action:
    return _hidden_first(f"app.{mode}", key, f"mode('{mode}')", label, help_text)


def _ratings(place: str, does: str) -> Iterator[Action]:
    for rating in ("good", "partly", "wrong"):
        help_text = f"Rate the answer as {rating}; press again to remove the rating."
        yield Action(
            f"{place}.rate_{rating}", rating[0], f"{does}('{rating}')", rating.capitalize(), help_text
        )


_ALL = (
    _first("app.help", "f1", "help", "Help", "Help for what has the focus."),
    _mode("f2", "ask", "Ask", "Ask, and watch the thinking."),
    _mode("f3", "library", "Library", "Documents: read more, look into them, search them."),
    _mode("f4", "runs", "Runs", "Every run that is stored."),
    _mode("f5", "learn", "Learn", "Correct what runs decided, and train a policy from it."),
    _mode("f7", "models", "Models", "The models on this machine."),
    _mode("f8", "settings", "Settings", "Everything that can be set."),
    _mode("f9", "doctor", "Doctor", "What is missing on this machine, and what to do."),
    _first("app.palette", "ctrl+p", "command_palette", "Palette", "Find anything that can be done."),
    _hidden("app.failure", "ctrl+r", "failure", "Last error", "What failed, in full, to copy."),
    _first("app.quit", "ctrl+q", "quit", "Quit", "Quit; unfinished runs can be resumed."),
    Action("failure.copy", "c", "copy", "Copy", "Put the whole text on the clipboard."),
    Action("failure.close", "escape", "dismiss", "Close", "Close this."),
    _first("ask.panel", "ctrl+l", "panel", "Thinking", "Show or hide the thinking."),
    _first(
        "ask.citations",
        "ctrl+y",
        "citations",
        "Citations",
        "Go to the last answer and its citations, to what the run asks, or to what is offered.",
    ),
    _hidden("ask.unfinished", "f12", "unfinished", "Unfinished", "Runs that can be resumed."),
    _hidden_first("ask.sessions", "f10", "sessions", "Sessions", "Open, name or delete a session."),
    _first("ask.copy", "ctrl+s", "copy", "Copy", "Copy the last answer."),
    _first("ask.new", "ctrl+k", "new_session", "New", "Start a new conversation."),
    _first("ask.retry", "ctrl+e", "retry", "Edit", "Edit the last question and ask again."),
    _hidden_first("ask.find", "ctrl+f", "find", "Find", "Find words in the conversation."),
    _hidden_first("ask.up", "pageup", "scroll('up')", "Scroll up", "Scroll the conversation."),
    _hidden_first("ask.down", "pagedown", "scroll('down')", "Scroll down", "Scroll the conversation."),
    _hidden_first("ask.end", "ctrl+end", "scroll('end')", "To the end", "Follow the answer."),
    _hidden(
        "run.cancel",
        "escape",
        "back",
        "Cancel",
        "Back to the prompt; from there, cancel the run or clear the text.",
    ),
    _hidden_first("run.pause", "ctrl+o", "pause", "Pause", "Pause, or resume."),
    _hidden_first("run.finish", "ctrl+n", "finish", "Answer now", "Answer from what was found."),
    _hidden_first("run.skip", "ctrl+g", "skip", "Skip step", "Skip this step."),
    _hidden_first("run.add", "ctrl+b", "add", "Add step", "The prompt's text becomes a step."),
    _hidden_first("run.decide", "ctrl+d", "decide", "Decide one", "Take the next decision yourself."),
    _hidden_first("run.teach", "ctrl+t", "teach", "Decide all", "Every decision waits for you."),
    _first("prompt.send", "enter", "send", "Ask", "Send the question."),
    _hidden_first("prompt.newline", "ctrl+j,shift+enter", "newline", "New line", "Break the line."),
    _hidden_first("prompt.earlier", "up", "earlier", "Earlier", "The question before this one."),
    _hidden_first("prompt.later", "down", "later", "Later", "The question after this one."),
    _hidden_first("prompt.complete", "tab", "complete", "Complete", "Take the completion."),
    Action("find.onward", "enter", "onward", "Go on", "Go to another place with the words."),
    Action("find.previous", "up", "move(-1)", "Previous", "Go to the place before."),
    Action("find.next", "down", "move(1)", "Next", "Go to the next place."),
    Action("find.close", "escape", "close", "Close", "Close the line for words to find."),
    Action("answer.next", "right", "citation(1)", "Next", "Go to the next citation."),
    _hidden("answer.previous", "left", "citation(-1)", "Previous citation", "Go back one."),
    Action("answer.open", "enter", "open", "Open", "Open the cited passage in its document."),
    _hidden("answer.original", "o", "original", "Original", "Open the file or page that is cited."),
    *_ratings("answer", "screen.rate"),
    Action("answer.plan", "l", "screen.plan", "Plan", "Say what should have been looked up."),
    Action("answer.copy", "c", "screen.copy(True)", "Copy", "Copy the answer with its sources."),
    Action("answer.export", "x", "screen.export", "Export", "Write the run to a file."),
    Action("thinking.next", "right", "tab(1)", "Next tab", "Go to the next tab."),
    _hidden("thinking.previous", "left", "tab(-1)", "Previous tab", "Go to the tab before."),
    Action("library.add", "a", "add", "Add", "Choose files, folders or an address to read."),
    Action("library.search", "slash,s", "search", "Search", "Try the search by hand, with every score."),
    Action("library.reread", "r", "reread", "Reread", "Read what has changed on disk again."),
    Action("library.remove", "d", "remove", "Remove", "Remove a document or a collection."),
    Action("library.describe", "e", "describe", "Describe", "Say what a collection holds."),
    Action("library.samples", "t", "samples", "Samples", "Read the sample library, to try it."),
    Action("library.stop", "x", "stop", "Stop", "Stop reading; what is read stays read."),
    Action("library.hide", "escape", "hide", "Back", "Leave the search, or put away what was read."),
    Action("library.changes", "f", "changes", "Followed", "Folders that are followed, and changes."),
    _hidden("library.refresh", "u", "refresh", "Refresh", "Read the library again."),
    Action("passage.next", "n", "passage(1)", "Next", "Go to the next passage of the document."),
    Action("passage.previous", "p", "passage(-1)", "Previous", "Go back one passage."),
    Action("passage.find", "slash", "find", "Find", "Find words in the document."),
    Action("passage.copy", "c", "copy", "Copy", "Put the passage on the clipboard."),
    Action("passage.original", "o", "original", "Original", "Open the file or the page it is from."),
    Action("passage.close", "escape,q", "dismiss", "Close", "Back to where you came from."),
    Action("changes.unfollow", "d", "unfollow", "Unfollow", "Follow the folder no longer; its files stay."),
    Action("changes.close", "escape", "dismiss", "Close", "Back to the library."),
    _first("files.read", "enter", "read", "Read", "Read what is typed and what is marked."),
    Action("files.close", "escape", "dismiss", "Cancel", "Read nothing."),
    Action(
        "file_tree.take", "enter", "take", "Read", "Read what is marked, else what is under the cursor."
    ),
    Action("file_tree.turn", "enter", "turn", "Open/close", "Open or close the folder."),
    Action("file_tree.mark", "space", "mark", "Mark", "Mark a file or folder, or take the mark away."),
    _hidden("file_tree.open", "right", "open", "Open", "Open the folder."),
    _hidden("file_tree.shut", "left", "shut", "Close", "Close the folder, or go to its parent."),
    Action("file_tree.up", "backspace", "up", "Folder above", "Show the folder above."),
    Action("file_tree.hidden", "full_stop", "hidden", "Hidden", "Show or hide hidden files."),
    _hidden("search.results", "down", "results", "Results", "Go to what was found."),
    Action("describe.close", "escape", "dismiss", "Cancel", "Leave the description as it is."),
    Action("runs.open", "enter", "open", "Open", "Open the run: its answer, evidence and events."),
    Action("runs.search", "slash", "search", "Search", "Search the questions and the answers."),
    _first("runs.results", "down", "results", "To the list", "Go from the search to what was found."),
    *_ratings("runs", "rate"),
    _hidden("runs.plan", "l", "plan", "Plan", "Say what should have been looked up."),
    Action("runs.resume", "r", "resume", "Resume", "Continue a run that did not finish."),
    Action("runs.export", "x", "export", "Export", "Write the run to a file."),
    _hidden("runs.status", "f", "status(1)", "Status", "Only runs of one status."),
    _hidden("runs.mark", "c", "mark", "Compare", "Mark a run, then a second to compare them."),
    _hidden("runs.again", "o", "again", "Ask again", "Put its question into the prompt."),
    _hidden("runs.delete", "d,delete", "delete", "Delete", "Delete the run, with all of it."),
    _hidden("runs.unfinished", "u", "unfinished", "Unfinished", "Only runs without an answer yet."),
    _hidden("runs.status_back", "F", "status(-1)", "Previous status", "The status before."),
    _hidden("runs.refresh", "R", "refresh", "Refresh", "Read the list again."),
    _hidden("runs.clear", "escape", "clear", "Clear", "Show all runs, none marked."),
    Action("replay.play", "space", "play", "Play/pause", "Play, or pause."),
    Action("replay.forward", "right", "step(1)", "Event", "Next event."),
    _hidden("replay.back", "left", "step(-1)", "Previous event", "Previous event."),
    Action("replay.next", "n,shift+right", "part(1)", "Next step", "To the next research step."),
    _hidden("replay.previous", "p,shift+left", "part(-1)", "Previous step", "To the step before."),
    _hidden("replay.start", "home", "ends(0)", "Start", "To the beginning."),
    _hidden("replay.end", "end", "ends(1)", "End", "To the end."),
    Action("replay.resume", "r", "resume", "Resume", "Continue a run that did not finish."),
    Action("replay.close", "escape", "dismiss", "Back", "Back to the list."),
    Action("compare.close", "escape", "dismiss", "Back", "Back to the list."),
    _first("export.write", "enter,ctrl+s", "write", "Write", "Write the file."),
    _first("export.close", "escape", "dismiss", "Close", "Write nothing."),
    _first("plan.save", "ctrl+s", "save", "Save", "Keep the look-ups as what should have been planned."),
    _first("plan.close", "escape", "dismiss", "Close", "Leave the plan as it is."),
    Action("sessions.open", "enter", "open", "Open", "Continue this session."),
    Action("sessions.new", "n", "dismiss('')", "New", "Start a session."),
    Action("sessions.rename", "r", "rename", "Rename", "Give the session a name."),
    Action("sessions.delete", "d,delete", "delete", "Delete", "Delete the session and its runs."),
    Action("sessions.close", "escape", "close", "Close", "Stay where you are."),
    *(
        Action(
            f"strip.{action.lower()}",
            f"{number},{action[0].lower()}",
            f"say('{action}')",
            f"Should {action.lower()}",
            f"Label the decision as {action}; decide so where the run waits.",
        )
        for number, action in enumerate(("CONTINUE", "REVISE", "FINISH"), start=1)
    ),
    _hidden("strip.more", "4,m", "say('MORE')", "Should read more", "The same: read more passages."),
    _hidden("strip.words", "5,w", "say('WORDS')", "Other words", "The same: search in other words."),
    _hidden("strip.ask", "6,a", "say('ASK')", "Should ask", "The same: ask the model."),
    Action("strip.unsay", "backspace", "unsay", "Remove label", "Remove your label of the decision."),
    Action("decisions.previous", "left_square_bracket", "run(-1)", "Older", "The run before this one."),
    Action("decisions.next", "right_square_bracket", "run(1)", "Newer", "The run after this one."),
    Action("policy.use", "enter,p", "use", "Promote", "Make the policy under the cursor the active one."),
    Action(
        "policy.rollback", "b", "rollback", "Roll back", "Go back to the policy that was active before."
    ),
    Action("policy.train", "t", "train", "Train", "Go to the training; there, start the chosen one."),
    Action("policy.stop", "escape,x", "stop", "Stop", "Stop the training."),
    _hidden("learn.next", "right", "tab(1)", "Next view", "Go on: decisions, policies, training."),
    _hidden("learn.previous", "left", "tab(-1)", "Previous view", "Go to the view before."),
    _hidden("learn.reload", "u", "reload", "Read again", "Read everything again."),
    Action("models.use", "enter", "use", "Use", "Use the model under the cursor from now on."),
    Action("models.pull", "p", "pull", "Fetch", "Fetch the model; resumes a download."),
    Action("models.probe", "t", "probe", "Measure", "Measure a language model: context, JSON, speed."),
    Action("models.file", "i", "file", "A file", "Use a .gguf file, a model folder, or a server's model."),
    Action("models.stop", "x", "stop", "Stop", "Stop; what was fetched is kept."),
    Action("models.leave", "escape", "leave", "Leave", "Leave the line for a path."),
    _hidden("models.refresh", "u", "refresh", "Refresh", "Look again at what there is."),
    Action("settings.edit", "enter", "edit", "Change", "Change the setting under the cursor."),
    Action("settings.unset", "u,delete", "unset", "Back to default", "Take it out of the settings file."),
    Action("settings.search", "slash", "search", "Search", "Find a setting by its name or description."),
    Action("settings.leave", "escape", "leave", "Leave", "Leave the editor or the search."),
    _hidden("settings.refresh", "r", "refresh", "Read again", "Read the settings file again."),
    Action("choice.select", "enter", "select", "Choose", "Set it to the value under the cursor."),
    Action("doctor.again", "r", "again", "Check again", "Check everything once more."),
    Action("confirm.yes", "y", "dismiss(True)", "Yes", "Confirm."),
    Action("confirm.no", "n,escape", "dismiss(False)", "No", "Leave everything as it is."),
    _hidden("confirm.move", "left,right", "app.focus_next", "Other", "Move to the other choice."),
    Action("help.close", "escape,q", "dismiss", "Close", "Close the help; F1 does too."),
    # No letters at the first start: one that was meant for the prompt would fetch a model.
    Action("welcome.next", "enter", "next", "Next step", "Take the next step."),
    Action("welcome.small", "ctrl+s", "small", "Smaller model", "Fetch the smaller language model."),
    Action("welcome.files", "ctrl+o", "files", "Own documents", "Choose documents of your own."),
    Action("welcome.stop", "x", "stop", "Stop", "Stop; what was done so far is kept."),
    Action("welcome.skip", "escape", "skip", "Skip", "Go to the prompt at once."),
    Action("welcome.quit", "ctrl+q", "app.quit", "Quit", "Quit; these steps are offered again next time."),
    _hidden("welcome.how_to_quit", "ctrl+c", "app.help_quit", "Quit", "Show how to quit."),
    _hidden("welcome.palette", "ctrl+p", "app.command_palette", "Palette", "Find anything."),
)
ACTIONS_BY_ID: Final[Mapping[str, Action]] = {action.id: action for action in _ALL}
"""In the order of help and footer."""
ACTIONS: Final[Mapping[str, Sequence[Action]]] = {
    place: tuple(actions) for place, actions in groupby(_ALL, lambda action: action.place)
}
"""Place to its actions."""

_ENCLOSING_PLACES: Final[Mapping[str, Sequence[str]]] = {
    "run": ("ask",),
    "prompt": ("ask", "run"),
    "find": ("ask", "run", "passage"),
    "answer": ("ask", "run"),
    "thinking": ("ask", "run"),
    "strip": ("ask", "run", "thinking", "decisions", "learn"),
    "decisions": ("learn",),
    "policy": ("learn",),
    "search": ("library",),
    "describe": ("library",),
    "file_tree": ("files",),
    "choice": ("settings",),
}
"""Place to the places around it, besides the app, which is around them all."""

_MODIFIERS: Final = {"alt", "ctrl", "hyper", "meta", "shift", "super"}
_NAMED_KEYS: Final = {key.value.rpartition("+")[2] for key in Keys if not key.value.startswith("<")}
_EDITING: Final = {"backspace", "delete", "left", "right", "home", "end"}
_ALIASES: Final = {alias: key for key, aliases in KEY_ALIASES.items() for alias in aliases}


def _split_keys(text: str) -> Iterator[str]:
    yield from (_normalise(key) for key in text.split(",") if key)


def _normalise(key: str) -> str:
    """The same spelling for equal keys: "slash" is "/", and terminals send ctrl+i as tab."""
    return _printable(key) or _ALIASES.get(key, key)


def _printable(key: str) -> str:
    """The character that a key types, or ""."""
    character = key_to_character(REPLACED_KEYS.get(key, key))
    return character if character is not None and character.isprintable() else ""


def _is_key(key: str) -> bool:
    *modifiers, name = key.split("+") if len(key) > 1 else [key]
    if not set(modifiers) <= _MODIFIERS:
        return False
    is_printable = bool(_printable(name))
    if is_printable and modifiers == ["alt"] and f"\x1b{_printable(name)}" in ANSI_SEQUENCES_KEYS:
        return False  # it would arrive as another key: alt+f as ctrl+right
    if is_printable and (modifiers == ["shift"] or (modifiers and name != name.lower())):
        return False  # a terminal sends only the capital letter
    return is_printable or name in _NAMED_KEYS


def bindings(*places: str) -> list[BindingType]:
    return [
        Binding(
            action.key,
            action.does,
            action.label,
            show=action.in_footer,
            priority=action.priority,
            tooltip=action.help,
            id=action.id,
        )
        for place in places
        for action in ACTIONS[place]
    ]


def modes() -> Iterator[tuple[str, Action]]:
    """Each main screen's mode, with the action that opens it."""
    for action in ACTIONS["app"]:
        if action.does.startswith("mode("):
            yield action.id.removeprefix("app."), action


def keymap(text: str) -> dict[str, str]:
    """Remapped keys by action id, from ``"run.pause=f11, app.runs=alt+r"``.

    Raises:
        ValueError: an action or a key is unknown, a pair has no key, a key belongs to another action in the
            same place or one around it, or could not be typed into the prompt; in words.
    """
    mapping: dict[str, str] = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        name, _, key = (part.strip() for part in pair.partition("="))
        if name not in ACTIONS_BY_ID:
            raise ValueError(f"there is no action “{name}”; the help (F1) lists them")
        if not key:
            raise ValueError(f"“{pair}” names no key; write for example {name}=f11")
        if not _is_key(key):
            raise ValueError(
                f"“{pair}”: no key arrives as “{key}”; keys are f11, ctrl+f, slash and the like"
            )
        if ACTIONS_BY_ID[name].priority and (_printable(key) or key in _EDITING):
            raise ValueError(
                f"“{pair}” would take {key} from the prompt; use a function key, or one with ctrl or alt"
            )
        mapping[name] = f"{mapping[name]},{key}" if name in mapping else key
    for name, keys in mapping.items():
        for key in keys.split(","):
            if other := _conflicting_action(ACTIONS_BY_ID[name], _normalise(key), mapping):
                raise ValueError(f"“{name}={key}”: {key} is the key of {other}")
    return mapping


def _conflicting_action(action: Action, key: str, mapping: Mapping[str, str]) -> str:
    """Id of an action that has the same key where ``action`` is possible, or ""."""
    around_own = {action.place, "app", *_ENCLOSING_PLACES.get(action.place, ())}
    for other in _ALL:
        # A key that both have by default goes to the inner of the two.
        shared = set(_split_keys(action.key)) & set(_split_keys(other.key))
        around_other = {other.place, "app", *_ENCLOSING_PLACES.get(other.place, ())}
        is_nested = other.place in around_own or action.place in around_other
        is_used = key in _split_keys(mapping.get(other.id, other.key))
        if other != action and is_used and is_nested and key not in shared:
            return other.id
    return ""
