"""What the tests of the trainers share."""

from __future__ import annotations

import pytest

from tests.benchmarks.adapters import Base, open_base
from tests.benchmarks.tiny import write_tiny


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Base:
    """A tiny model of the architecture that adapters are trained for."""
    folder = tmp_path_factory.mktemp("models")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DEEPTHINK_MODELS", str(folder))
        return open_base(write_tiny(folder / "tiny.gguf", architecture="qwen2"))
