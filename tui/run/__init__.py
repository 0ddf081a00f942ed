"""One run, live or stored: its events folded once, worded once, and the widgets that show them."""
