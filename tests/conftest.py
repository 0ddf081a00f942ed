"""What every test shares: a home of its own, the real data where it is, the real models where needed."""

from __future__ import annotations

import faulthandler
import gc
import os
import shutil
import signal
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest

from models.library_loading import import_torch
from traces import paths
from traces.store import Store

if TYPE_CHECKING:
    from policy.training.adapters import Base

gc.set_threshold(20_000)  # at the usual 700 the search for garbage is a quarter of all computing

if "PYTEST_XDIST_WORKER" in os.environ:
    import_torch()  # before a test module does: its threads would spin on the other processes' cores

_MODELS = paths.models_dir()  # before any test moves the home: model files are shared
DATA = Path(os.environ.get("DEEPTHINK_DATA", Path(__file__).parents[2] / "shared" / "data"))


_LONGEST = (
    "tui/app/terminal/test_session.py",
    "agent/test_resume.py",
    "policy/training/test_course.py",
    "soak/test_soak.py",
    "models/servers/test_openai.py",
    "benchmarks/test_policies.py",
)
"""Files that begin first: the other processes would wait for a slow one that comes last."""

_MAKERS = [Path(__file__).parent / name for name in ("benchmarks", "soak")]
_OUTER_FIXTURES = {"make_app", "snap_compare"}
_HANGS = 900.0  # seconds; no test takes a third of it, however busy the machine is


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as ``outer`` what `make check` leaves out: the app, real models, processes, slow tests, and the
    tests of what no user has."""
    longest = {Path(__file__).parent / name: place for place, name in enumerate(_LONGEST)}
    items.sort(key=lambda item: longest.get(item.path, len(longest)))
    for item in items:
        module = getattr(item, "module", None)
        if (
            _OUTER_FIXTURES.intersection(getattr(item, "fixturenames", ()))
            or item.get_closest_marker("model")
            or item.get_closest_marker("slow")
            or hasattr(module, "subprocess")
            or any(item.path.is_relative_to(folder) for folder in _MAKERS)
        ):
            item.add_marker("outer")


_stderr = pytest.StashKey[int]()


def pytest_configure(config: pytest.Config) -> None:
    """Keep the stderr that is shown, which is not the one that tests write to."""
    with config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        config.stash[_stderr] = os.dup(2)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """End the process where a test hangs, with the stack of every thread; a deadlock in C is one, too."""
    if not item.get_closest_marker("slow"):
        faulthandler.dump_traceback_later(_HANGS, exit=True, file=item.config.stash[_stderr])
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.fixture(autouse=True)
def interruptible() -> Iterator[None]:
    """Ctrl-C raises, as in a terminal: a process that tests beside others is begun without hearing it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder for this test alone; nothing of the person's own is read or written."""
    folder = tmp_path / "home"
    monkeypatch.setenv("DEEPTHINK_HOME", str(folder))
    monkeypatch.setenv("DEEPTHINK_MODELS", str(_MODELS))
    for name in [n for n in os.environ if n.startswith("DEEPTHINK_")]:
        if name not in {"DEEPTHINK_HOME", "DEEPTHINK_MODELS", "DEEPTHINK_DATA"}:
            monkeypatch.delenv(name)
    monkeypatch.setenv("DEEPTHINK_WARM_MINUTES", "0")  # no test leaves a server behind
    return folder


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of an empty store: its schema takes longer to make than to copy."""
    file = tmp_path_factory.mktemp("empty") / "store.duckdb"
    with Store(file).connect():
        return file


@pytest.fixture
def template(empty_store: Path) -> Path:
    """What `store` begins as."""
    return empty_store


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Base:
    """A tiny model of the architecture that adapters are trained for."""
    from policy.training.adapters import open_base
    from tests.tiny_model import write_tiny

    folder = tmp_path_factory.mktemp("models")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DEEPTHINK_MODELS", str(folder))
        return open_base(write_tiny(folder / "tiny.gguf", architecture="qwen2"))


@pytest.fixture
def store(request: pytest.FixtureRequest, tmp_path: Path, template: Path) -> Iterator[Store]:
    """An empty store. Its file stays open, since each opening takes 16 ms; not where it is shared."""
    made = Store(Path(shutil.copy(template, tmp_path)))
    if request.node.get_closest_marker("shared_store"):
        yield made
        return
    with duckdb.connect(str(made.path)):
        yield made


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real filings and question sets; the test is skipped where it is absent."""
    if not DATA.is_dir():
        pytest.skip(f"the real data is not at {DATA} (set DEEPTHINK_DATA)")
    return DATA
