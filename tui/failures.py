"""Everything on stderr, and every exit code.

0 answered or done, 2 wrong usage, 3 not in the documents, 4 a file or other input, 5 a model, 6 the
library, 7 the run waits for a person's approval, 8 the answer was withheld because the sources do not
support it, 9 only a part was answered or is supported, 10 stopped before an answer was found, 70 a fault in
this program, 130 cancelled. A person sees a title, a sentence and a way out;
a traceback only with ``--debug``.
"""

from __future__ import annotations

import errno
import functools
import logging
import os
import shutil
import sys
import textwrap
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from traces.errors import DeepthinkError, ErrorKind
from traces.paths import log_file
from traces.plain_text import UNSAFE

DONE: Final = 0
NOT_FOUND: Final = 3
WAITING: Final = 7
REJECTED: Final = 8
PARTLY: Final = 9
STOPPED: Final = 10
EXIT_CODES: Final[dict[ErrorKind, int]] = {
    "usage": 2,
    "input": 4,
    "model": 5,
    "store": 6,
    "internal": 70,
    "cancelled": 130,
}

_DEBUG = "DEEPTHINK_DEBUG"
_FULL = {errno.ENOSPC, errno.EDQUOT}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}
_WRONG_PLACE = {errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP}
_log = logging.getLogger("deepthink")


class WrongUsage(DeepthinkError):
    """Raised when a command is given something it cannot work with."""

    title = "Usage"
    kind = "usage"


class Unexpected(DeepthinkError):
    """A fault in this program; the log has the details."""

    title = "This should not have happened"


class Cancelled(DeepthinkError):
    """What a person stopped."""

    title = "Cancelled"
    kind = "cancelled"


class DiskFull(DeepthinkError):
    """Raised for any write that finds no room."""

    title = "The disk is full"
    kind = "store"


class Refused(DeepthinkError):
    """Raised for any file that may not be read or written."""

    title = "Permission denied"
    kind = "input"


class Unusable(DeepthinkError):
    """Raised for any path that leads to nothing, or to a folder where a file is meant."""

    title = "That path cannot be used"
    kind = "input"


def guarded(command: Callable[[], object]) -> int:
    """Run ``command``, report what goes wrong, and return the exit code.

    What ``command`` returns is the code if it is a number.
    """
    _open_what_is_closed()
    try:
        with _libraries_silenced():
            returned = command()
        sys.stdout.flush()  # here, where a closed pipe or a full disk is still reported properly
    except SystemExit as leaving:  # typer's own answer to a closed pipe
        _silence_stdout()
        return leaving.code if isinstance(leaving.code, int) else 1
    except BrokenPipeError:
        _silence_stdout()
        return 1
    except KeyboardInterrupt:
        return _interrupted()
    except BaseException as error:  # noqa: BLE001 - the last handler: reported, logged, turned into a code
        return _told(error)
    if returned == EXIT_CODES["cancelled"]:
        return _interrupted()
    return returned if isinstance(returned, int) else DONE


def warn(message: str) -> None:
    """Tell a person something on stderr that does not stop the command."""
    _say(message, lead="Note:", code="33")


@functools.cache
def warn_once(message: str) -> None:
    """The same, however often it is found."""
    warn(message)


def report(error: DeepthinkError, about: str = "") -> None:
    """Tell title, message and way out; ``about`` is named first unless the message names it."""
    message = f"{about}: {error.message}" if about and about not in error.message else error.message
    _say(message, lead=f"{error.title}:" if message else f"{error.title}.", code="1;31")
    for line in error.way_out.splitlines():
        _say(line, indent="  ")


def debug() -> None:
    """Show tracebacks from here on, and log everything.

    The switch is an environment variable, so that it also works from outside.
    """
    os.environ[_DEBUG] = "1"
    _log_everything()


def _open_what_is_closed() -> None:
    """Python has None for a standard stream that was closed (``<&-``); commands ask it for a terminal."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 - open to the end


@contextmanager
def _libraries_silenced() -> Iterator[None]:
    """What libraries log and warn of goes to the log or nowhere, never over the screen."""
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    root.handlers = [logging.NullHandler()]  # without one, Python prints what is logged to stderr
    logging.captureWarnings(True)
    if os.environ.get(_DEBUG):
        _log_everything()
    try:
        yield
    finally:
        for handler in root.handlers:
            handler.close()
        root.handlers = before
        root.setLevel(level)
        logging.captureWarnings(False)


def _log_everything() -> None:
    handler = _file_handler()
    if handler is not None:
        logging.getLogger().setLevel(logging.DEBUG)
        logging.getLogger().addHandler(handler)


def explained(error: BaseException) -> DeepthinkError:
    """The error to show for ``error``; an unexpected one is logged too."""
    known = error if isinstance(error, DeepthinkError) else _foreseen(error)
    if known is not None:
        return known
    logged = _logged(error)
    where = f"The details are in {log_file()}." if logged else "Run it again with --debug for details."
    return Unexpected(f"{type(error).__name__}: {_first_line(error)}", where)


def _told(error: BaseException) -> int:
    if os.environ.get(_DEBUG):
        sys.stderr.write("".join(traceback.format_exception(error)))
    known = explained(_usage(error) or error)
    report(known)
    return EXIT_CODES[known.kind]


def _usage(error: BaseException) -> DeepthinkError | None:
    """What the argument parser did not like."""
    import typer

    if isinstance(error, typer.Abort):
        return Cancelled("")
    if not isinstance(error, typer.TyperException):
        return None
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "deepthink"
    message = error.format_message() or "Something is missing."
    return WrongUsage(message, f"`{command} --help` shows how.")


def _foreseen(error: BaseException) -> DeepthinkError | None:
    if not isinstance(error, OSError):
        return None
    where = f"{error.filename}" if error.filename else "a file"
    if error.errno in _FULL:
        return DiskFull(
            f"There is no room left to write {where}.", "Free some disk space and run the command again."
        )
    if error.errno in _FORBIDDEN:
        return Refused(f"{where}: {error.strerror}.", "Check who owns it and its permissions.")
    if error.errno in _WRONG_PLACE and error.filename:
        return Unusable(f"{where}: {error.strerror}.", "Check the path.")
    return None


def _logged(error: BaseException) -> bool:
    handler = _file_handler()
    if handler is None:
        return False
    full = bool(os.environ.get(_DEBUG))
    text = "".join(traceback.format_exception(error)) if full else _where(error)
    handler.emit(_log.makeRecord(_log.name, logging.ERROR, __file__, 0, "%s", (text,), None))
    handler.close()
    return True


def _where(error: BaseException) -> str:
    """The traceback without messages and arguments: they may hold words of a question or a document."""
    chain = [error]
    while (cause := chain[-1].__cause__ or chain[-1].__context__) and cause not in chain:
        chain.append(cause)
    return "".join(
        f"Traceback of {type(one).__name__}:\n{''.join(traceback.format_tb(one.__traceback__))}"
        for one in reversed(chain)
    )


def _file_handler() -> logging.Handler | None:
    """None where the log cannot be written: a failing log must not hide the failure it is for."""
    from logging.handlers import RotatingFileHandler

    try:
        log_file().parent.mkdir(parents=True, exist_ok=True)
        handler = RotatingFileHandler(log_file(), maxBytes=2_000_000, backupCount=1, encoding="utf-8")
    except OSError:
        return None
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    return handler


def _interrupted() -> int:
    report(Cancelled(""))
    return EXIT_CODES["cancelled"]


def _silence_stdout() -> None:
    """Nobody reads any more; keep the interpreter's last flush from complaining about it."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
    except (OSError, ValueError):  # stdout is not a file, so there is nothing to silence
        return


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else "no message"


def _styled(text: str, code: str) -> str:
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not sys.stderr.isatty()
    return text if plain else f"\x1b[{code}m{text}\x1b[0m"


def _say(text: str, *, lead: str = "", code: str = "", indent: str = "") -> None:
    """One paragraph after a styled ``lead``, wrapped where a person reads it and nowhere else.

    Unsafe characters are left out: a file's name must not be able to steer the terminal.
    """
    text = UNSAFE.sub("", text)
    paragraph = f"{lead} {text}".rstrip() if lead else text
    if sys.stderr.isatty():
        width = max(40, min(100, shutil.get_terminal_size().columns))
        paragraph = textwrap.fill(
            paragraph,
            width,
            initial_indent=indent,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
            replace_whitespace=False,
        )
    else:
        paragraph = indent + paragraph
    if lead:
        paragraph = _styled(lead, code) + paragraph.removeprefix(lead)
    print(paragraph, file=sys.stderr, flush=True)  # noqa: T201 - the one place that writes to stderr
