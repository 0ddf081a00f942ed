"""The command line and the terminal app, over one core.

Owns: commands, settings, the doctor, all output, and the exit codes. `cli` names the commands,
`assemble` opens the store and the models in the settings, `failures` owns stderr and the exit codes;
DESIGN.md has the map of the folders.

Must not contain logic that another front end would need: that belongs below. Nothing below imports it.
"""
