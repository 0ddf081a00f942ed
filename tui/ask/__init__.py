"""Asking: the commands, the Ask screen, the first start, and one question put to several systems."""
