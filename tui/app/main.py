"""``deepthink-tui``. Every import here delays the first frame."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import select
import sys
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.widget import Widget

LOOPBACK = "127.0.0.1"
PORT = 8000
BEGIN_HELP = "files or folders to add to the library, or a question to put in the prompt"
_QUERY = b"\x1b_Gi=1,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\\x1b[c"  # kitty's protocol, then device attributes
_KITTY = b";OK\x1b\\"
_SIXEL = b"4"  # among the device attributes
_NOT_TYPED = re.compile(rb"\x1b(?:_G.*?\x1b\\|\[[?\d;]*[A-Za-z~])")
_TIMEOUT_SECONDS = 0.5  # nearly every terminal answers within milliseconds


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point of the console script.

    The process ends without waiting for its threads, since unloading torch takes seconds: a thread that
    loads a model has nothing to lose, and every write to the store is atomic.
    """
    from traces.paths import keep_private

    keep_private()
    code = run(sys.argv[1:] if arguments is None else arguments)
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


def run(arguments: Sequence[str]) -> int:
    """Open the app, or serve it, and return the exit code."""
    from tui import failures

    options = _parser().parse_args(arguments)
    if options.debug:
        failures.debug()
    if options.version:
        return failures.guarded(show_version)
    return failures.guarded(lambda: open_app(options.begin, options.serve, options.host, options.port))


def release() -> str:
    """The version that is installed, or that none is."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("deepthink-tui")
    except PackageNotFoundError:
        return "(a checkout that is not installed)"


def show_version() -> int:
    sys.stdout.write(f"deepthink {release()}\n")
    return 0


def open_app(begin_with: Sequence[str], is_served: bool, host: str, port: int) -> int:
    """Open the app, or serve it at an address of this machine; port 0 takes a free one.

    It begins with paths or a question, as `DeepthinkApp` takes them; with nothing if it is served.
    """
    from tui import failures

    if is_served:
        from tui.app.serve import serve

        if begin_with:
            raise failures.WrongUsage(
                "An app that is served begins with no path and no question.", "Leave them or --serve out."
            )
        return serve(host, port)
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    from tui.app.app import DeepthinkApp
    from tui.run.words import resume_hint

    driver = os.environ.get("TEXTUAL_DRIVER")  # set by the server, to which stdin and stdout are pipes
    if not driver and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise failures.WrongUsage(
            "The app needs a terminal.", 'Without one there is the command line: deepthink ask "…".'
        )
    widget, typed = picture_widget()
    app = DeepthinkApp(picture_widget=widget, typed=typed, begin_with=begin_with)
    loop = asyncio.new_event_loop()  # asyncio.run would wait for every thread
    loop.set_default_executor(ThreadPoolExecutor(initializer=_give_way))
    code = app.run(loop=loop)
    for run_id in app.interrupted_runs:
        failures.warn(f"{resume_hint(run_id, 'interrupted')}.")
    if code and app.failures:
        failures.report(app.failures[-1].error)
    return code or failures.DONE


def picture_widget() -> tuple[type[Widget] | None, str]:
    """The widget that draws pictures with sixel or kitty's protocol, and what was typed meanwhile.

    The widget is None if this terminal has neither. It queries the terminal, so call it before Textual
    reads the input.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return None, ""
    answer = _query_terminal()
    return _widget(answer), _NOT_TYPED.sub(b"", answer).decode(errors="ignore")


def _widget(answer: bytes) -> type[Widget] | None:
    if not _may_draw(answer):
        return None
    # Only now: the import queries the terminal again, and is slow.
    from textual_image.renderable import Image, SixelImage, TGPImage

    if Image not in {SixelImage, TGPImage}:
        return None
    from textual_image import widget

    return widget.Image


def _may_draw(answer: bytes) -> bool:
    attributes = answer.rpartition(b"\x1b[?")[2].removesuffix(b"c").split(b";")
    return _KITTY in answer or _SIXEL in attributes[1:]


def _query_terminal() -> bytes:
    """The terminal's answer up to its device attributes, or what has arrived before the timeout."""
    import termios
    import tty

    keyboard = sys.stdin.fileno()
    saved_attributes = termios.tcgetattr(keyboard)
    answer = b""
    try:
        tty.setcbreak(keyboard, termios.TCSANOW)  # the default drops what was typed before
        os.write(sys.stdout.fileno(), _QUERY)
        deadline = time.monotonic() + _TIMEOUT_SECONDS
        while not answer.endswith(b"c") or b"\x1b[?" not in answer:
            if not select.select([keyboard], [], [], max(deadline - time.monotonic(), 0))[0]:
                break
            answer += os.read(keyboard, 1)
    finally:
        termios.tcsetattr(keyboard, termios.TCSADRAIN, saved_attributes)
    return answer


def _give_way() -> None:
    """Lower the priority of worker threads, so that drawing stays smooth."""
    if sys.platform == "linux":  # elsewhere it would be the whole process
        thread = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, thread, min(19, os.getpriority(os.PRIO_PROCESS, thread) + 5))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="deepthink-tui",
        description="Answers from your own documents, on your own machine, in a full-screen app.",
    )
    parser.add_argument("begin", nargs="*", metavar="PATH | QUESTION", help=BEGIN_HELP)
    parser.add_argument("--serve", action="store_true", help="serve the app to a browser instead")
    parser.add_argument(
        "--host",
        default=LOOPBACK,
        help="address to serve on; other machines can reach any but this one (%(default)s)",
    )
    parser.add_argument("--port", type=int, default=PORT, help="port to serve on (%(default)s)")
    parser.add_argument("--version", action="store_true", help="show the version")
    parser.add_argument(
        "--debug", action="store_true", help="show tracebacks and write everything to the log"
    )
    return parser


if __name__ == "__main__":
    main()
