"""The small made-up run that exports in other formats read."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.export.small_tables import SmallTables, make_tables


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory, make_model: Callable[..., Path], small_bert: Any) -> SmallTables:
    return make_tables(tmp_path_factory.mktemp("run"), make_model, small_bert)
