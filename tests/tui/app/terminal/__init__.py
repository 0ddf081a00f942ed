"""The app as it is used: in a terminal, with a model that really answers."""
