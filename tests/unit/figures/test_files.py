from pathlib import Path

import matplotlib.image
import pytest

from ops.figures.files import DPI, save_figures
from ops.figures.panels import panels
from ops.figures.style import WIDTH
from ops.storage.store import Store


def test_each_kind_of_file_with_letters_as_letters_and_the_same_bytes_again(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    for folder in "ab":
        figure, (axes, _) = panels(["left", "right"], "two of them")
        axes.plot([1, 3, 10], label="a line")
        files = save_figures(store, folder, {"name": figure}, "some-model")
        assert files == [f"{folder}/name.{kind}" for kind in ("png", "pdf", "svg")]
    png, pdf, svg = (tmp_path / name.replace("b/", "a/") for name in files)
    for one, other in zip((png, pdf, svg), files, strict=True):
        assert one.read_bytes() == (tmp_path / other).read_bytes()
    image = matplotlib.image.imread(png)
    assert image.shape[1] == pytest.approx(WIDTH * DPI, abs=2)
    assert image.std() > 0.01
    assert ">two of them, some-model</text>" in svg.read_text()
    assert "fill: #ffffff" in svg.read_text(), "the ground is part of the figure"
    assert b"/Type /Font" in pdf.read_bytes()
