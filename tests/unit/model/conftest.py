"""What tests of models share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ops.model.activations import ScoreOptions, Scorer
from ops.model.load import read_facts


@pytest.fixture
def scorer(make_model: Callable[..., Path]) -> Callable[..., Scorer]:
    """Make the scorer of a small random model of a configuration."""

    def make(config: Any, **options: Any) -> Scorer:
        return Scorer(read_facts(str(make_model(config))), ScoreOptions(**options))

    return make
