"""The two fronts of one core: the command line and, later, the terminal app.

Owns: commands, settings, the doctor, everything that is printed, and the exit codes.

Must not hold logic that another front would need: that lives below. Nothing below imports from here.
"""
