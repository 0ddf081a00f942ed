"""One run, live or stored: the fold of its events, their wording, and the widgets that show them."""
