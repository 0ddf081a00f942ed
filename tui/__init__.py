"""The command line and the terminal app, over one core.

Owns: commands, settings, the doctor, everything that is printed, and the exit codes. `cli` names the
commands, `assemble` opens store and models as the settings say, `failures` owns stderr and the exit codes;
DESIGN.md has the map of the folders.

Must not hold logic that another front would need: that lives below. Nothing below imports from here.
"""
