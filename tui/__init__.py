"""The command line and the terminal app, over one core.

Owns: commands, settings, the doctor, everything that is printed, and the exit codes.

Where things are: `cli` names the commands, `commands` holds their arguments, the modules beside it do
the work. `assemble` puts store and models together from `settings`; `transcript` says what a run's
events read like and `render` puts that on a terminal; `outcome` is a run as data; `failures` owns
stderr and the exit codes.

Must not hold logic that another front would need: that lives below. Nothing below imports from here.
"""
