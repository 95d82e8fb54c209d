"""What the benchmarks count with."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch

from bench import bases, dictionary
from bench.bases import basis_of, binned, layout
from bench.gpu import waits_among
from bench.made_run import write_neurons
from bench.resources import Traffic
from bench.search import PHENOMENA, areas
from ops.errors import InputError
from ops.storage.store import Store
from ops.storage.tables import write_part
from ops.topk.neurons import Neurons
from ops.topk.silent import read_silent

# As torch words them.
NOTICE = "Synchronization debug mode is a prototype feature and does not yet detect all synchronizing operations"
WAITED = "called a synchronizing CUDA operation"


def test_the_notice_of_torch_about_its_debug_mode_is_no_wait() -> None:
    assert waits_among([NOTICE, WAITED, "something else", WAITED]) == 2


def test_traffic_is_what_is_read_and_written() -> None:
    x, y = torch.ones(10, 4), torch.ones(10, 4)
    with Traffic() as traffic:
        x + y
    assert dict(traffic.by_operator) == {"add": 3 * 160}
    with Traffic() as traffic:
        x * x
        x.add_(1.0)
    assert dict(traffic.by_operator) == {"mul": 2 * 160, "add_": 2 * 160}


def test_views_move_nothing_and_expanded_tensors_count_what_is_stored() -> None:
    x, row = torch.ones(10, 4), torch.ones(4)
    with Traffic() as traffic:
        spread = row[None].expand(10, 4)
        x.T.contiguous()
    assert traffic.total == 2 * 160
    with Traffic() as traffic:
        x + spread
    assert traffic.total == 160 + 16 + 160


def test_scattering_counts_the_places_that_are_written() -> None:
    large, index, values = torch.zeros(1000), torch.tensor([3, 5]), torch.ones(2)
    with Traffic() as traffic:
        large.scatter_(0, index, values)
    assert traffic.total == 16 + 8 + 8
    with Traffic() as traffic:
        large.scatter_add_(0, index, values)
    assert traffic.total == 16 + 8 + 2 * 8


def test_values_are_those_of_the_units_and_intervals_hold_them() -> None:
    rng = np.random.default_rng(0)
    columns = {"rule": (rng.random(400) < 0.3) * 1.0, "r2_beyond": rng.normal(0.1, 0.05, 400)}
    columns["f1"] = np.where(rng.random(400) < 0.1, np.nan, rng.random(400))
    found = basis_of("a", columns, 0)
    assert found["units"] == 400
    assert found["rule"][0] == pytest.approx(columns["rule"].mean())
    assert found["r2_beyond"][0] == pytest.approx(np.median(columns["r2_beyond"]))
    assert found["f1"][0] == pytest.approx(np.nanmean(columns["f1"]))
    error = columns["rule"].std() / 20
    assert found["rule"][2] - found["rule"][1] == pytest.approx(2 * 1.96 * error, rel=0.15)
    for key in ("rule", "r2_beyond", "f1"):
        value, low, high = found[key]
        assert low < value < high
    assert basis_of("a", columns, 0) == found
    line = layout([found]).splitlines()[-1]
    assert line.startswith(f"| all | a | 400 | {found['rule'][0]:.1%} (")


def test_a_bin_has_the_features_from_its_first_number_of_active_sentences_to_the_next() -> None:
    active = np.array([0, 19, 20, 99, 100, 4_000, 100, np.nan])
    columns = {
        "rule": np.array([1, 1, 0, 1, 1, 1, 0, 1.0]),
        "r2_beyond": np.array([9, 9, 0.1, 0.2, 0.3, np.nan, 0.5, 9]),
        "f1": np.array([9, 9, 0.4, np.nan, 0.6, np.nan, 0.8, 9]),
    }
    found = binned("a", columns, active, (20, 100, 300, 1_000), 0)
    assert [(own["active"], own["units"], own["rule"][0]) for own in found] == [
        ((20, 100), 2, 0.5), ((100, 300), 2, 0.5), ((1_000, None), 1, 1.0),
    ]  # fmt: skip
    assert [own["f1"][0] for own in found[:2]] == pytest.approx([0.4, 0.7])
    assert [own["r2_beyond"][0] for own in found[:2]] == pytest.approx([0.15, 0.4])
    assert np.isnan(found[2]["f1"]).all()
    together = layout([*found, *binned("b", columns, active, (20, 100, 300, 1_000), 0)]).splitlines()[2:]
    names = [line.split(" | ")[:2] for line in together]
    ranges = ("20 to 99", "100 to 299", "1,000 or more")
    assert names == [[f"| {label}", name] for label in ranges for name in "ab"]


def made_run(out: Path, n_active: list[int | None], rules: list[bool]) -> str:
    """Write what the benchmark reads of a run of 4,000 sentences; units that are never active have no explanation."""
    units = len(n_active)
    of_topk = {"identity": {"k": 9, "activation_sample": 50}, "counts": {}}
    if n_active[0] is not None:
        of_topk["counts"] = {"dictionaries": [{"layer": 2, "explained_variance": 0.75}]}
    stages = {"ingest": {"fingerprint": "f"}, "topk": of_topk, "explain": {}}
    out.mkdir()
    (out / "run.json").write_text(json.dumps({"stages": stages}))
    units_table = pa.table({"layer": [2] * units, "unit": range(units), "n": [4_000] * units})
    units_table = units_table.append_column("n_active", pa.array(n_active, pa.int64()))
    live = [unit for unit in range(units) if n_active[unit] != 0]
    explanations = pa.table({
        "layer": [2] * len(live), "unit": live, "pole": ["top"] * len(live),
        "verdict": ["rule" if rules[unit] else "tendency" for unit in live],
        "r2": [0.5] * len(live), "r2_nuisance": [0.25] * len(live), "f1": [unit / units for unit in live],
    })  # fmt: skip
    for name, table in (("neurons", units_table), ("explanations", explanations)):
        write_part(Store(str(out)), name, 0, table.schema, [table], "f")
    return str(out)


def test_runs_are_read_with_their_bins_and_dead_features(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    features = made_run(tmp_path / "features", [0, 20, 300, 0, 40], [True, True, False, True, False])
    axes = made_run(tmp_path / "axes", [None] * 4, [True, False, False, False])
    result = bases.measure([f"features={features}", f"axes={axes}"], 2)
    assert [(own["name"], own["units"], own["rule"][0]) for own in result["bases"]] == [
        ("features", 3, pytest.approx(1 / 3)), ("axes", 4, 0.25),
    ]  # fmt: skip
    assert [(own["name"], own["active"], own["units"], own["rule"][0]) for own in result["bins"]] == [
        ("features", (20, 100), 2, 0.5), ("features", (300, 1_000), 1, 0.0),
    ]  # fmt: skip
    assert result["bins"][0]["f1"][0] == pytest.approx((1 / 5 + 4 / 5) / 2)
    expected = {"name": "features", "dead": 2, "median_share": 0.01, "explained_variance": 0.75}
    assert result["activity"] == [expected]
    assert "| all | axes | 4 | 25.0% (" in capsys.readouterr().err
    for wrong in ((100, 20), (20, 20), (0, 20)):
        with pytest.raises(InputError, match="must be ascending numbers from 1"):
            bases.measure([f"features={features}"], 2, bins=wrong)


def test_the_tiny_model_of_the_dictionary_s_benchmark_reads_every_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dictionary, "draw", lambda count, seed: [f"The cup {i} fell." for i in range(count)])
    found = dictionary.measure(features=64, model="tiny", sentences=12, shards=2, k=3)
    assert found["sentences"] == 12
    assert found["counts_add_up"]


def test_no_neuron_of_a_made_run_is_silent(tmp_path: Path) -> None:
    neurons, store = Neurons((3, 2)), Store(str(tmp_path))
    write_neurons(store, neurons)
    assert not read_silent(store, neurons).any()


def test_the_area_of_the_search_s_benchmark_is_the_share_of_pairs_in_order() -> None:
    rng = np.random.default_rng(0)
    activations, has = rng.integers(0, 5, (40, 3)).astype(float), rng.random(40) < 0.3
    pairs = activations[has][:, None] - activations[~has][None]
    expected = ((pairs > 0) + 0.5 * (pairs == 0)).mean(axis=(0, 1))
    assert areas(activations, has) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("phrase", "has", "lacks"),
    [
        ("question", ["Who", "left", "?"], ["Who", "left", "."]),
        ("past participle", ["It", "was", "soon", "painted"], ["It", "was", "red", "paint"]),
        ("number", ["room", "b12"], ["room", "twelve"]),
        ("proper noun", ["We", "met", "Ada"], ["Ada", "met", "us"]),
        ("to be", ["Wants", "To", "be", "big"], ["to", "better", "be"]),
    ],
)
def test_a_rule_of_the_search_s_benchmark_reads_words(phrase: str, has: list[str], lacks: list[str]) -> None:
    assert PHENOMENA[phrase](has)
    assert not PHENOMENA[phrase](lacks)
