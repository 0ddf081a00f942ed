"""Asking: the commands, the Ask screen, the first start, and comparing systems on one question."""
