"""``deepthink-tui``. Every import here delays the first frame."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import threading
from collections.abc import Sequence

LOOPBACK = "127.0.0.1"
PORT = 8000


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
    return failures.guarded(lambda: open_app(options.serve, options.host, options.port))


def show_version() -> int:
    """Print the version; returns the exit code."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        release = version("deepthink-tui")
    except PackageNotFoundError:
        release = "(a checkout that is not installed)"
    sys.stdout.write(f"deepthink {release}\n")
    return 0


def open_app(is_served: bool, host: str, port: int) -> int:
    """Open the app, or serve it to browsers, and return the exit code."""
    if is_served:
        from tui.app.serve import serve

        return serve(host, port)
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    from tui import failures
    from tui.app.app import DeepthinkApp
    from tui.app.pictures import picture_widget
    from tui.run.words import resume_hint

    driver = os.environ.get("TEXTUAL_DRIVER")  # set by the server, to which stdin and stdout are pipes
    if not driver and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise failures.WrongUsage(
            "The app needs a terminal.", 'Without one there is the command line: deepthink ask "…".'
        )
    app = DeepthinkApp(picture_widget=picture_widget())
    loop = asyncio.new_event_loop()  # asyncio.run would wait for every thread
    loop.set_default_executor(ThreadPoolExecutor(initializer=_give_way))
    code = app.run(loop=loop)
    for run_id in app.interrupted_runs:
        failures.warn(f"{resume_hint(run_id, 'interrupted')}.")
    if code and app.failures:
        failures.report(app.failures[-1].error)
    return code or failures.DONE


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
