"""Figures as empty files: drawing them takes most of the time of a job on few sentences."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch


@contextlib.contextmanager
def blank_figures() -> Iterator[None]:
    """Save figures as empty files within this context."""
    with (
        patch("matplotlib.figure.Figure.savefig", lambda figure, path, **options: Path(path).touch()),
        patch("matplotlib.figure.Figure.draw_without_rendering", lambda figure: None),
    ):
        yield
