"""``python -m tui.app``."""

from tui.app.main import main

main()
