"""What the libraries say of each other and we cannot change."""

from __future__ import annotations

import pytest

by_the_old_name = pytest.mark.filterwarnings(
    "ignore:`is_gradient_checkpointing` is deprecated:FutureWarning"
)
"""PEFT asks transformers by the old name."""
