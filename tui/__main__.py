"""Both console scripts; ``python -m tui`` is ``deepthink``, for a checkout that is not installed.

Nothing is imported before Ctrl-C is handled: you may change your mind while modules are imported.
"""


def main() -> None:
    _start("tui.cli")


def app() -> None:
    _start("tui.app.main")


def _start(module: str) -> None:
    try:
        import os
        import signal
        from importlib import import_module

        handler = signal.getsignal(signal.SIGINT)
        if handler is signal.default_int_handler:  # not where it is ignored, as in the background
            # No exception, which some imports make another of.
            signal.signal(signal.SIGINT, lambda _number, _frame: os._exit(130))
        start = import_module(module).main
        signal.signal(signal.SIGINT, handler)
        start()
    except KeyboardInterrupt:
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
