"""The commands, one file each, as typer sees them: arguments, help and little else.

A command module imports nothing but typer and the standard library at its top, so that ``--help`` stays
quick; what a command needs is imported when it runs.
"""
