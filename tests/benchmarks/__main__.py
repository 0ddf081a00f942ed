"""Runs the benchmarks named on the command line, or all of them, and keeps their tables."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from importlib import import_module

from models.library_loading import forbid_hubs
from traces import paths

_MODULES = {
    **{name: name for name in ("startup", "opening", "sync", "ocr", "app")},
    **dict.fromkeys(("ingestion", "retrieval", "filings"), "filings"),
}
"""Where the function of each benchmark is, which has its name."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*_MODULES, []], help="default: all, in this order")
    chosen = parser.parse_args().names or list(_MODULES)
    if len(chosen) > 1:
        # Each in a process of its own: a child's peak memory begins at that of the process it came from.
        command = [sys.executable, "-m", "tests.benchmarks"]
        if broken := [name for name in chosen if subprocess.run([*command, name], check=False).returncode]:
            sys.exit(f"Broke off, its table is as it was: {', '.join(broken)}.")
        return
    forbid_hubs()
    os.environ["DEEPTHINK_MODELS"] = str(paths.models_dir())
    (name,) = chosen
    with tempfile.TemporaryDirectory(prefix="deepthink-bench-") as home:
        os.environ["DEEPTHINK_HOME"] = home
        table = getattr(import_module(f"tests.benchmarks.{_MODULES[name]}"), name)()
    sys.stdout.write(table.markdown() + "\n")
    table.keep()


if __name__ == "__main__":
    main()
