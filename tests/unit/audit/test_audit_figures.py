"""The figures of `audit`: their numbers are those of the tables, and they can be printed at any size."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from matplotlib.figure import Figure

from ops.audit.audit_figures import audit_figures, illusion_figure, transfer_figure
from ops.facts.audit_findings import AuditedRun
from ops.facts.transfers import Transfers, sum_transfers
from tests.unit.facts.made_up_audit import audited, halves, pairs, table
from tests.unit.figure_letters import check_inside, check_print

NAMES = ["books", "news", "tweets"]


def sums(count: int, controls: bool = True, poor: str = "") -> dict[str, Transfers]:
    """The sums of so many data sets, with names of any length."""
    names = NAMES if count == 3 else sorted(f"{'a long name ' * (i % 2)}set {i:02}" for i in range(count))
    own = {"neurons": pairs(names, 4, 0, 0.0, poor)}
    own |= {"permuted": pairs(names, 4, 1, 0.0), "halves": halves(names, 4, 2)} if controls else {}
    return {name: sum_transfers(table("audit/portability", rows)) for name, rows in own.items()}


def illusions(layers: int, controls: bool = True) -> dict[str, pa.Table]:
    rng = np.random.default_rng(0)
    rows: dict[str, Any] = {}
    for name in ("neurons", "permuted", "halves") if controls else ("neurons",):
        values = [None if rng.random() < 0.2 else float(rng.normal(0.5, 0.3)) for _ in range(layers * 7)]
        rows[name] = table("audit/neurons", [audited(1 + i // 7, i, "none", v) for i, v in enumerate(values)])
    return rows


def cells(figure: Figure, panel: int) -> dict[tuple[int, int], str]:
    """The numbers of a panel's cells, by row and column."""
    return {(round(t.get_position()[1]), round(t.get_position()[0])): t.get_text() for t in figure.axes[panel].texts}


def test_each_cell_has_its_number_and_the_diagonal_that_of_halves() -> None:
    given = sums(3, poor="news")
    figure = transfer_figure(given)
    ratios, between = given["neurons"].ratios(), given["halves"].between_halves(NAMES)
    known = {(i, j): f"{ratios[i, j]:.2f}" for i, j in zip(*np.nonzero(np.isfinite(ratios)), strict=True)}
    assert cells(figure, 0) == known | {(i, i): f"{value:.2f}" for i, value in enumerate(between)}
    assert not any(other == 1 for _, other in known), "of news, whose own cards gain nothing"
    permuted = given["permuted"].ratios()
    assert cells(figure, 1) == {(i, j): f"{permuted[i, j]:.2f}" for i in range(3) for j in range(3) if i != j}
    (notes,) = [" ".join(legend.get_title().get_text().split()) for legend in figure.legends]
    assert f"from {np.nanmin(permuted):.2f} to {np.nanmax(permuted):.2f}" in notes
    without = transfer_figure(sums(3, controls=False))
    assert all(i != j for i, j in cells(without, 0))
    assert "halves" not in without.legends[0].get_title().get_text()
    labels = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    gains = given["neurons"].below.sum(0) / (4 * 2)
    assert labels == [f"{name}\n{gain:.3f}" for name, gain in zip(NAMES, gains, strict=True)]


@pytest.mark.parametrize(("datasets", "controls"), [(2, True), (3, False), (8, True), (20, True), (20, False)])
def test_the_matrix_can_be_printed(datasets: int, controls: bool) -> None:
    check_print(transfer_figure(sums(datasets, controls)))


@pytest.mark.parametrize(("layers", "controls"), [(1, True), (3, False), (48, True)])
def test_the_illusion_can_be_printed(layers: int, controls: bool) -> None:
    figure = illusion_figure(illusions(layers, controls))
    check_print(figure)
    check_inside(figure)


def test_there_are_two_figures_and_none_without_explained_neurons() -> None:
    own = sums(3)
    audit = AuditedRun(np.arange(4), 4, own, illusions(2), own["neurons"])
    assert list(audit_figures(audit)) == ["transfer", "illusion"]
    nothing = {"neurons": table("audit/neurons", [])}
    none = {"neurons": sum_transfers(table("audit/portability", []))}
    assert audit_figures(AuditedRun(np.zeros(0, np.int64), 4, none, nothing, None)) == {}
