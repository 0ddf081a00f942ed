"""What is possible with documents, passages and files."""

from __future__ import annotations

from tui.app.actions.action import Action

LIBRARY = (
    Action("library.add", "a", "add", "Add", "Choose files, folders or an address to read."),
    Action("library.search", "slash,s", "search", "Search", "Try the search by hand, with every score."),
    Action("library.reread", "r", "reread", "Reread", "Read what has changed on disk again."),
    Action("library.remove", "d", "remove", "Remove", "Remove a document or a collection."),
    Action("library.describe", "e", "describe", "Describe", "Say what a collection holds."),
    Action("library.samples", "t", "samples", "Samples", "Read the sample library, to try it."),
    Action("library.stop", "x", "stop", "Stop", "Stop reading; what is read stays read."),
    Action("library.hide", "escape", "hide", "Back", "Leave the search, or put away what was read."),
    Action("library.refresh", "u", "refresh", "Refresh", "Look again what the library holds.", shown=False),
)
SEARCH = (
    Action(
        "search.strategy", "ctrl+t", "strategy", "Strategy", "Vector, keyword or hybrid.", priority=True
    ),
    Action("search.results", "down", "results", "Results", "Go to what was found.", shown=False),
)
DESCRIBE = (Action("describe.close", "escape", "close", "Cancel", "Leave the description as it is."),)
PASSAGE = (
    Action("passage.next", "n", "passage(1)", "Next", "Go to the next passage of the document."),
    Action("passage.previous", "p", "passage(-1)", "Previous", "Go back one passage."),
    Action("passage.find", "slash", "find", "Find", "Find words in the document."),
    Action("passage.copy", "c", "copy", "Copy", "Put the passage on the clipboard."),
    Action("passage.original", "o", "original", "Original", "Open the file or the page it is from."),
    Action("passage.found_next", "down", "found(1)", "Next found", "The next place.", shown=False),
    Action("passage.found_before", "up", "found(-1)", "Found before", "The place before.", shown=False),
    Action("passage.close", "escape", "close", "Close", "Back to where you came from."),
    Action("passage.leave", "q", "leave", "Close", "Back to where you came from.", shown=False),
)
FILES = (
    Action("files.read", "enter", "read", "Read", "Read what is typed and what is marked.", priority=True),
    Action("files.close", "escape", "close", "Cancel", "Read nothing."),
)
FILE_TREE = (
    Action(
        "file_tree.take", "enter", "take", "Read", "Read what is marked, else what is under the cursor."
    ),
    Action("file_tree.turn", "enter", "turn", "Open or shut", "Open the folder, or shut it."),
    Action("file_tree.mark", "space", "mark", "Mark", "Mark a file or folder, or take the mark away."),
    Action("file_tree.open", "right", "open", "Open", "Open the folder.", shown=False),
    Action(
        "file_tree.shut",
        "left",
        "shut",
        "Shut",
        "Shut the folder, or go to the one around it.",
        shown=False,
    ),
    Action("file_tree.up", "backspace", "up", "Folder above", "Show the folder above.", shown=False),
    Action("file_tree.hidden", "full_stop", "hidden", "Hidden", "Show or hide hidden files.", shown=False),
)
