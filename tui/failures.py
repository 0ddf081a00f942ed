"""Everything on stderr, and every exit code; `tui.cli` explains the codes to users.

Users see a title, a sentence and a way out; a traceback only with ``--debug``.
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
FAULT: Final = 1  # that `deepthink doctor` found
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
_PARSER_WORDS = {
    "Got unexpected extra argument(s) ": "Too many arguments: ",
    "No such option: ": "There is no option ",
    "No such command ": "There is no command ",
    "Possible options: ": "similar: ",
    "Value error, ": "",
    "Input should be ": "it has to be ",
    "a valid integer, unable to parse string as an integer": "a whole number",
    "a valid number, unable to parse string as a number": "a number",
}
_log = logging.getLogger("deepthink")


class WrongUsage(DeepthinkError, title="Wrong usage", kind="usage"):
    """Raised if a command is given something that it cannot use."""


class Unexpected(DeepthinkError, title="This should not have happened"):
    """A fault in this program; the log has the details."""


class Cancelled(DeepthinkError, title="Cancelled", kind="cancelled"):
    """Raised when the user stops a command."""


class DiskFull(DeepthinkError, title="The disk is full", kind="store"):
    """Raised if there is no room to write a file."""


class Refused(DeepthinkError, title="Permission denied", kind="input"):
    """Raised if a file may not be read or written."""


class Unusable(DeepthinkError, title="That path cannot be used", kind="input"):
    """Raised if a path does not exist, or is a folder instead of a file."""


def guarded(command: Callable[[], object]) -> int:
    """Run ``command``, report what goes wrong, and return the exit code.

    The result of ``command`` is the exit code if it is a number.
    """
    _open_closed_streams()
    try:
        with _silence_libraries():
            result = command()
        sys.stdout.flush()  # here, where a closed pipe or a full disk is still reported properly
    except SystemExit as exit_request:  # typer's own response to a closed pipe
        _silence_stdout()
        return exit_request.code if isinstance(exit_request.code, int) else 1
    except BrokenPipeError:
        _silence_stdout()
        return 1
    except KeyboardInterrupt:
        return _report_interrupt()
    except BaseException as error:  # noqa: BLE001 - the last handler: reported, logged, turned into a code
        return _report_failure(error)
    if result == EXIT_CODES["cancelled"]:
        return _report_interrupt()
    return result if isinstance(result, int) else DONE


def warn(message: str) -> None:
    """Write a note to stderr; the command goes on."""
    _write(message, lead="Note:", code="33")


warn_once = functools.cache(warn)
"""Like `warn`, but only once for each message."""


def report(error: DeepthinkError, about: str = "") -> None:
    """Write title, message and way out to stderr; ``about`` comes first unless the message names it.

    What is wrong with a command, or was cancelled, is said without the title, which would say it twice.
    """
    message = f"{about}: {error.message}" if about and about not in error.message else error.message
    says_it_all = bool(message) and error.kind in {"usage", "cancelled"}
    title = "" if says_it_all else f"{error.title}{':' if message else '.'}"
    _write(message, lead=title, code="1;31")
    for line in error.way_out.splitlines():
        _write(line, indent="  ")


def debug() -> None:
    """Show tracebacks from now on, and log everything.

    The switch is an environment variable, so that it can also be set outside.
    """
    os.environ[_DEBUG] = "1"
    _log_everything()


def _open_closed_streams() -> None:
    """Open the null device for standard streams that were closed (``<&-``), which Python sets to None."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 - open to the end


@contextmanager
def _silence_libraries() -> Iterator[None]:
    """Send the log messages and warnings of libraries to the log or nowhere, never to the screen."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    root.handlers = [logging.NullHandler()]  # without one, Python prints what is logged to stderr
    logging.captureWarnings(True)
    if os.environ.get(_DEBUG):
        _log_everything()
    try:
        yield
    finally:
        for handler in root.handlers:
            handler.close()
        root.handlers = handlers
        root.setLevel(level)
        logging.captureWarnings(False)


def _log_everything() -> None:
    handler = _file_handler()
    if handler is not None:
        logging.getLogger().setLevel(logging.DEBUG)
        logging.getLogger().addHandler(handler)


def explained(error: BaseException) -> DeepthinkError:
    """The error to show for ``error``; an unexpected one is logged too."""
    failure = error if isinstance(error, DeepthinkError) else _system_failure(error)
    if failure is not None:
        return failure
    is_logged = _write_to_log(error)
    hint = f"The details are in {log_file()}." if is_logged else "Run it again with --debug for details."
    return Unexpected(f"{type(error).__name__}: {_first_line(error)}", hint)


def _report_failure(error: BaseException) -> int:
    if os.environ.get(_DEBUG):
        sys.stderr.write("".join(traceback.format_exception(error)))
    failure = explained(_usage_error(error) or error)
    report(failure)
    return EXIT_CODES[failure.kind]


def _usage_error(error: BaseException) -> DeepthinkError | None:
    """The failure for an error of the argument parser; None for other errors."""
    import typer

    if isinstance(error, typer.Abort):
        return Cancelled("")
    if not isinstance(error, typer.TyperException):
        return None
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "deepthink"
    message = error.format_message() or "Something is missing."
    for words, plain_words in _PARSER_WORDS.items():
        message = message.replace(words, plain_words)
    return WrongUsage(message if message[-1] in ".?" else f"{message}.", f"`{command} --help` shows how.")


def _system_failure(error: BaseException) -> DeepthinkError | None:
    if not isinstance(error, OSError):
        return None
    place = f"{error.filename}" if error.filename else "a file"
    if error.errno in _FULL:
        return DiskFull(
            f"There is no room left to write {place}.", "Free some disk space and run the command again."
        )
    if error.errno in _FORBIDDEN:
        return Refused(f"{place}: {error.strerror}.", "Check who owns it and its permissions.")
    if error.errno in _WRONG_PLACE and error.filename:
        return Unusable(f"{place}: {error.strerror}.", "Check the path.")
    return None


def _write_to_log(error: BaseException) -> bool:
    handler = _file_handler()
    if handler is None:
        return False
    is_debug = bool(os.environ.get(_DEBUG))
    text = "".join(traceback.format_exception(error)) if is_debug else _anonymous_traceback(error)
    handler.emit(_log.makeRecord(_log.name, logging.ERROR, __file__, 0, "%s", (text,), None))
    handler.close()
    return True


def _anonymous_traceback(error: BaseException) -> str:
    """The traceback without error messages, which may contain words of a question or a document."""
    chain = [error]
    while (cause := chain[-1].__cause__ or chain[-1].__context__) and cause not in chain:
        chain.append(cause)
    return "".join(
        f"Traceback of {type(link).__name__}:\n{''.join(traceback.format_tb(link.__traceback__))}"
        for link in reversed(chain)
    )


def _file_handler() -> logging.Handler | None:
    """A handler for the log file; None if it cannot be written, which must not hide the failure."""
    from logging.handlers import RotatingFileHandler

    try:
        log_file().parent.mkdir(parents=True, exist_ok=True)
        handler = RotatingFileHandler(log_file(), maxBytes=2_000_000, backupCount=1, encoding="utf-8")
    except OSError:
        return None
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    return handler


def _report_interrupt() -> int:
    report(Cancelled(""))
    return EXIT_CODES["cancelled"]


def _silence_stdout() -> None:
    """Nobody reads stdout any more; keep the interpreter's last flush from failing."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
    except (OSError, ValueError):  # stdout is not a file, so there is nothing to silence
        return


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else "no message"


def _style(text: str, code: str) -> str:
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not sys.stderr.isatty()
    return text if plain else f"\x1b[{code}m{text}\x1b[0m"


def _write(text: str, *, lead: str = "", code: str = "", indent: str = "") -> None:
    """Write a paragraph after a styled ``lead``, wrapped only on a terminal.

    Unsafe characters are removed: a file name must not be able to control the terminal.
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
        paragraph = _style(lead, code) + paragraph.removeprefix(lead)
    print(paragraph, file=sys.stderr, flush=True)  # noqa: T201 - the one place that writes to stderr
