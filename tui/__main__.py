"""``python -m tui`` is ``deepthink``, for a checkout that is not installed."""

from tui.cli import main

main()
