"""What is possible with stored runs and sessions."""

from __future__ import annotations

from tui.app.actions.action import Action


def _rate(key: str, rating: str) -> Action:
    return Action(
        f"runs.rate_{rating}",
        key,
        f"rate('{rating}')",
        rating.capitalize(),
        f"Rate the answer as {rating}; once more takes the rating back.",
    )


RESUME = Action("runs.resume", "r", "resume", "Resume", "Go on with a run that did not come to its end.")
MARK = Action(
    "runs.mark", "c", "mark", "Compare", "Mark a run, then a second to compare them.", shown=False
)
STATUS = Action("runs.status", "f", "status(1)", "Status", "Only runs of one status.", shown=False)
AGAIN = Action("runs.again", "o", "again", "Ask again", "Put its question into the prompt.", shown=False)
UNFINISHED_RUNS = Action(
    "runs.unfinished", "u", "unfinished", "Unfinished", "Which runs can be resumed.", shown=False
)
REFRESH = Action("runs.refresh", "R", "refresh", "Refresh", "Read the list again.", shown=False)
CLEAR = Action("runs.clear", "escape", "clear", "Clear", "Back to every run, without a mark.", shown=False)
BESIDES = (STATUS, MARK, AGAIN, UNFINISHED_RUNS)
"""What the footer has no room for in 80 columns; the preview names their keys."""


RUNS = (
    Action("runs.open", "enter", "open", "Replay", "See the run again, event by event."),
    Action("runs.search", "slash", "search", "Search", "Search the questions and the answers."),
    _rate("g", "good"),
    _rate("p", "partly"),
    _rate("w", "wrong"),
    RESUME,
    Action("runs.export", "x", "export", "Export", "Write the run to a file."),
    Action("runs.delete", "d,delete", "delete", "Delete", "Delete the run, with all of it."),
    *BESIDES,
    Action("runs.status_back", "F", "status(-1)", "Status before", "The status before.", shown=False),
    REFRESH,
    CLEAR,
)
REPLAY = (
    Action("replay.play", "space", "play", "Play", "Play, or pause."),
    Action("replay.forward", "right", "step(1)", "Event", "One event on."),
    Action("replay.back", "left", "step(-1)", "Event back", "One event back.", shown=False),
    Action("replay.next", "n,shift+right", "part(1)", "Next step", "To the next research step."),
    Action(
        "replay.previous", "p,shift+left", "part(-1)", "Step before", "To the step before.", shown=False
    ),
    Action("replay.start", "home", "ends(0)", "Start", "To the beginning.", shown=False),
    Action("replay.end", "end", "ends(1)", "End", "To the end.", shown=False),
    Action("replay.faster", "plus,equals_sign", "speed(1)", "Faster", "Play faster."),
    Action("replay.slower", "minus", "speed(-1)", "Slower", "Play slower.", shown=False),
    Action("replay.export", "x", "export", "Export", "Write the run to a file.", shown=False),
    Action("replay.close", "escape", "close", "Back", "Back to the list."),
)
COMPARE = (
    Action("compare.first", "1", "replay(0)", "Replay A", "See the first run event by event."),
    Action("compare.second", "2", "replay(1)", "Replay B", "See the second run event by event."),
    Action("compare.swap", "s", "swap", "Swap", "The first becomes the second."),
    Action("compare.close", "escape", "close", "Back", "Back to the list."),
)
EXPORT = (
    Action("export.write", "ctrl+s", "write", "Write", "Write the file.", priority=True),
    Action("export.close", "escape", "close", "Close", "Write nothing.", priority=True),
)
UNFINISHED = (
    Action("unfinished.resume", "enter", "resume", "Resume", "Go on with this run."),
    Action("unfinished.forget", "d,delete", "forget", "Forget", "Do not offer it again; it stays stored."),
    Action("unfinished.later", "escape", "later", "Later", "Leave them as they are."),
)
SESSIONS = (
    Action("sessions.open", "enter", "open", "Open", "Go on with this session."),
    Action("sessions.new", "n", "new", "New", "Begin a session."),
    Action("sessions.filter", "slash", "filter", "Filter", "Only sessions with these words."),
    Action("sessions.rename", "r", "rename", "Rename", "Give the session a name."),
    Action("sessions.delete", "d,delete", "delete", "Delete", "Delete the session and its runs."),
    Action("sessions.close", "escape", "close", "Close", "Stay where you are."),
)
