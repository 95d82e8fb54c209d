"""The job `compare`: what its tables say of a small run, the same however it ran, and wrong calls."""

import json
import shutil
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from jobs.compare import job as compare
from jobs.compare.job import CompareConfig
from jobs.run_folder.run import Run
from jobs.run_folder.stages import STAGES
from jobs.show import job as show
from jobs.show.job import ShowConfig
from ops.errors import InputError
from ops.forms.forms import NAMES
from ops.schema import TABLES
from ops.statistics.by_document import means_by_document
from tests.jobs.finished_runs.compare import compare_config as config

PARTS = ("dimensions", "neighbours", "groups", "diversity", "matches", "runs", "shift", "ablation")
MOVED = (1, 7)  # layer and unit
COMPARED = [name for name in TABLES if name.startswith("compare/")]


@pytest.fixture(scope="module")
def moved_model(compare_run: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run's model, with one unit of layer 1 moved: the bias that LayerNorm adds there is another."""
    folder = tmp_path_factory.mktemp("moved") / "model"
    shutil.copytree(compare_run[1], folder)
    model = AutoModel.from_pretrained(folder)
    layer, unit = MOVED
    with torch.no_grad():
        model.encoder.layer[layer - 1].output.LayerNorm.bias[unit] += 0.5
    model.save_pretrained(folder)
    return folder


def read(out: Path, table: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(out / table).to_pylist()
    return rows


def test_every_table_is_there_as_it_is_described_and_every_figure(compare_run: tuple[Path, Path]) -> None:
    out, _ = compare_run
    for name in COMPARED:
        found = pq.read_table(out / name)
        assert found.schema.equals(TABLES[name].arrow), name
        assert found.num_rows, name
        order = [(column, "ascending") for column in TABLES[name].order]
        assert found.equals(found.sort_by(order)), name
    for part in PARTS:
        counts = Run(str(out)).require(f"compare/{part}")["counts"]
        assert len(counts["figures"]) == 3 * (2 if part in ("dimensions", "groups", "runs") else 1), part
        for name in counts["figures"]:
            assert (out / name).stat().st_size > 5_000
    assert not [path for path in (out / "_partials").rglob("*") if path.is_file()]


def test_the_tables_say_what_the_run_s_own_tables_say(compare_run: tuple[Path, Path]) -> None:
    out, _ = compare_run
    neurons = pq.read_table(out / "neurons").to_pandas()
    std = [neurons[neurons.layer == layer].sort_values("unit")["std"].to_numpy() for layer in (1, 2)]
    dimensions = {row["property"]: row for row in read(out, "compare/dimensions")}
    assert dimensions["neurons:std"]["correlation"] == pytest.approx(np.corrcoef(*std)[0, 1], abs=1e-5)
    means = pq.read_table(out / "means").to_pandas().query("property == 'words_per_sentence' and pole == 'top'")
    words = [means[means.layer == layer].sort_values("unit")["mean"].to_numpy() for layer in (1, 2)]
    found = dimensions["means:words_per_sentence:top"]
    assert found["correlation"] == pytest.approx(np.corrcoef(*words)[0, 1], abs=1e-5)
    assert found["null_low"] < 0 < found["null_high"]
    assert {p.partition(":")[0] for p in dimensions} == {"neurons", "means", "profiles", "scores"}
    assert any(p.startswith("profiles:tag=NN:") for p in dimensions)
    forms = {f"profiles:{name}" for name in NAMES}
    assert forms & {f"profiles:{row['property']}" for row in read(out, "profiles")}
    assert not forms & {p.partition("=")[0] for p in dimensions}

    sample = pq.read_table(out / "activations").to_pandas()
    values = np.concatenate([np.stack(sample[f"layer_{i}"].tolist()) for i in (1, 2)], 1)
    r = np.corrcoef(values.T)
    own = f"'{out}/compare/neighbours/*.parquet'"
    rows = duckdb.sql(f"select layer, unit, layer_b, unit_b, correlation, overlap, rank from {own}").fetchall()
    won = f"select layer, unit, pole, sent_id from '{out}/topk/*.parquet'"
    shared = {
        row[:4]: row[4]
        for row in duckdb.sql(
            f"""select a.layer, a.unit, b.layer, b.unit, count(*) / 80.0 from ({won}) a join ({won}) b
            using (pole, sent_id) group by all"""
        ).fetchall()
    }
    for layer, unit, layer_b, unit_b, correlation, overlap, rank in rows:
        a, b = 12 * (layer - 1) + unit, 12 * (layer_b - 1) + unit_b
        assert correlation == pytest.approx(r[a, b], abs=1e-4)
        assert overlap == pytest.approx(float(shared.get((layer, unit, layer_b, unit_b), 0)))
        if rank == 1:
            assert correlation == pytest.approx(np.delete(r[a], a).max(), abs=1e-4)
    assert len({row[:2] for row in rows}) == 24

    sizes = duckdb.sql(f"select layer, n, n_distinct from '{out}/compare/diversity/*.parquet' where clusters = 1")
    for layer, n, distinct in sizes.fetchall():
        winners = duckdb.sql(f"select count(*), count(distinct sent_id) from ({won}) where layer = {layer}").fetchall()
        assert [(n, distinct)] == winners


def test_the_same_model_has_not_moved_at_all(compare_run: tuple[Path, Path]) -> None:
    out, _ = compare_run
    rows = read(out, "compare/shift_layers")
    assert {(row["text_set"], row["layer"]) for row in rows} == {(t, i) for t in ("docs", "some") for i in (0, 1, 2)}
    assert all(row["manhattan"] == row["euclidean_high"] == 0 for row in rows)
    neurons = read(out, "compare/shift_neurons")
    assert all(row["shift"] == 0 and row["jaccard"] is None for row in neurons)
    sizes = {row["text_set"]: row["n"] for row in read(out, "compare/shift")}
    assert sizes["some"] == 30
    assert 300 < sizes["docs"] <= 360


def test_a_unit_that_moved_is_found(compare_run: tuple[Path, Path], moved_model: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    shutil.copytree(compare_run[0], out)
    text = Path(Run(str(out)).require("compare/shift")["config"]["text_set"][1].partition("=")[2])
    changed = {"against": str(moved_model), "text_set": (f"some={text}",), "part": ("shift",)}
    with pytest.raises(InputError, match=r"against \(was .*--redo"):
        compare.JOB.run(config(out, **changed))
    compare.JOB.run(config(out, **changed, redo=True))
    neurons = sorted(read(out, "compare/shift_neurons"), key=lambda row: -row["shift"])
    assert (neurons[0]["layer"], neurons[0]["unit"]) == MOVED
    assert neurons[0]["shift"] == pytest.approx(0.5, abs=0.01)
    assert all(row["shift"] == 0 for row in neurons if row["layer"] == 1 and row["unit"] != MOVED[1])
    (row,) = read(out, "compare/shift")
    layers = {r["layer"]: r for r in read(out, "compare/shift_layers")}
    assert layers[1]["manhattan"] == pytest.approx(0.5, abs=0.01)
    assert row["manhattan"] == pytest.approx(layers[1]["manhattan"] + layers[2]["manhattan"], rel=1e-5)
    assert row["euclidean"] < row["manhattan"]


@pytest.mark.slow
def test_against_a_run_that_has_a_fine_tuned_model_alone(
    compare_run: tuple[Path, Path], finetune_run: tuple[Path, Path], tmp_path: Path
) -> None:
    tuned = finetune_run[0]
    shutil.copytree(compare_run[0], tmp_path / "run")
    sets = tuple(f"{side}={tuned}/finetune/{side}/*.parquet" for side in ("train", "test"))
    changed = {"against": str(tuned), "text_set": sets, "part": ("shift",), "redo": True}
    compare.JOB.run(config(tmp_path / "run", **changed))
    rows = {row["text_set"]: row for row in read(tmp_path / "run", "compare/shift")}
    assert {name: row["n"] for name, row in rows.items()} == {"test": 16, "train": 64}
    before, after = (AutoModel.from_pretrained(f) for f in (compare_run[1], tuned / "finetune/model"))
    tokenizer = AutoTokenizer.from_pretrained(compare_run[1])
    expected = []
    for row in read(tuned, "finetune/test"):
        ids = tokenizer(row["text"], return_tensors="pt", truncation=True, max_length=40)
        with torch.no_grad():
            a, b = (m.eval()(**ids, output_hidden_states=True).hidden_states[1:] for m in (before, after))
        pooled = [torch.cat([layer[0].mean(0) for layer in layers]) for layers in (a, b)]
        expected.append(float((pooled[0] - pooled[1]).abs().sum()))
    assert rows["test"]["manhattan"] == pytest.approx(np.mean(expected), rel=1e-4)
    assert rows["test"]["manhattan"] > 0.01
    documents = [row["doc_id"] for row in read(tuned, "finetune/test")]
    assert len(set(documents)) < len(documents)
    low, high = means_by_document(np.array(expected)[:, None], documents)[1:, 0]
    of_layers = read(tmp_path / "run", "compare/shift_layers")
    (row,) = (row for row in of_layers if (row["text_set"], row["layer"]) == ("test", 0))
    assert (row["manhattan_low"], row["manhattan_high"]) == pytest.approx((max(low, 0), high), rel=1e-3)
    assert Run(str(tmp_path / "run")).require("compare/shift")["against"]["name"].endswith("finetune/finetune/model")


def test_a_run_against_itself(compare_run: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "run"
    shutil.copytree(compare_run[0], out)
    compare.JOB.run(config(out, against=str(compare_run[0]), text_set=(), part=("shift",), redo=True))
    (row,) = read(out, "compare/shift")
    sampled = Run(str(out)).require("topk")["counts"]["activation_sample"]
    assert (row["text_set"], row["n"], row["manhattan"]) == ("activation_sample", sampled, 0)
    neurons = read(out, "compare/shift_neurons")
    assert len(neurons) == 24
    assert all(row["jaccard"] == 1 and row["rank_correlation"] == pytest.approx(1) for row in neurons)


def test_neurons_set_to_their_mean_are_bounded_in_number_and_stand_beside_random_ones(
    compare_run: tuple[Path, Path],
) -> None:
    out, _ = compare_run
    counts = Run(str(out)).require("compare/ablation")["counts"]
    rows = read(out, "compare/ablation")
    found = {(row["layer"], row["unit"]) for row in rows}
    assert counts["neurons"] == len(found) == 8
    assert counts["forward_passes"] <= 8 * 12  # a layer has no more neurons
    means = {
        row["unit"]: row["mean"]
        for row in read(out, "means")
        if (row["layer"], row["property"], row["pole"]) == (1, "words_per_sentence", "top")
    }
    first = next(r for r in rows if (r["property"], r["rank"]) == ("means:words_per_sentence:top", 1))
    assert means[first["unit"]] == max(means.values())
    assert all(row["moved"] > 0 and row["layer_b"] == row["own_layer"] == 2 for row in rows)
    assert all(row["output"] is None and row["n_random"] == 2 and row["p_value"] > 0.3 for row in rows)
    assert all(row["unit_b"] != row["unit"] and row["own_moved"] > 0 for row in rows)


def test_parts_done_again_by_two_workers_have_the_same_rows(compare_run: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "run"
    shutil.copytree(compare_run[0], out)
    compare.JOB.run(config(out, part=("neighbours", "diversity"), redo=True, workers=2))
    for name in ("compare/neighbours", "compare/nearest", "compare/diversity"):
        assert pq.read_table(out / name).equals(pq.read_table(compare_run[0] / name)), name


@pytest.mark.slow
def test_figures_of_other_units_are_drawn_again(compare_run: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "run"
    shutil.copytree(compare_run[0], out)
    compare.JOB.run(config(out, part=("dimensions", "groups"), figure_units="0:5", figure_layer=1))
    for name, same in (("dimensions/units", False), ("dimensions/distances", True), ("groups/maps", False)):
        path = f"compare/figures/{name}.png"
        assert ((out / path).read_bytes() == (compare_run[0] / path).read_bytes()) == same
    Run(str(out)).check_files("compare/dimensions", "compare/groups", footers=True)
    assert Run(str(out)).require("compare/groups")["config"]["figure_layer"] == 1


def test_what_was_found_is_printed_with_its_nulls_on_a_narrow_terminal(
    compare_run: tuple[Path, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out, _ = compare_run
    monkeypatch.setenv("COLUMNS", "80")
    show.JOB.run(ShowConfig.model_validate({"out": str(out), "compare": True}))
    said = capsys.readouterr().out
    assert "..." not in said
    assert max(map(len, said.splitlines())) <= 80
    said = " ".join(said.split())
    nulls = ("rotated", "permuted units", "random winners", "shuffled", "uniform sentences", "95 % interval")
    for words in (*nulls, "random neurons of their layer", "docs"):
        assert words in said, words
    with pytest.raises(InputError, match="--compare with --neuron"):
        show.JOB.run(ShowConfig.model_validate({"out": str(out), "compare": True, "neuron": "1:1"}))


def test_wrong_calls_are_one_line_and_leave_the_run_alone(
    compare_run: tuple[Path, Path], small_run: tuple[Path, Path], tmp_path: Path
) -> None:
    out, model = compare_run
    before = (out / "run.json").read_bytes()
    cases = {
        "--text-set: is read by two models": {"against": "", "text_set": ("a=pydocs",)},
        "--part ablation: requires a number of neurons": {"against": "", "part": ("ablation",)},
        "--part matches: requires another run": {"against": "", "part": ("matches",)},
        "--part runs: requires a control": {"against": "", "part": ("runs",)},
        "--part shift: requires another model": {"against": "", "text_set": (), "part": ("shift",)},
        "expected NAME=SOURCE": {"text_set": ("nameless.txt",)},
        "--against no/such: ": {"against": "no/such"},
        "has 6 layers of 384 units": {"against": "sample"},
        "--figure-units '5': expected FIRST:LAST": {"figure_units": "5"},
        "give sentences for both models to read": {"text_set": ()},
    }
    for message, options in cases.items():
        with pytest.raises(InputError) as error:
            compare.JOB.run(config(out, **{"against": str(model), "text_set": (), **options}))
        assert message in str(error.value), message
    assert (out / "run.json").read_bytes() == before
    for (option, value), told in {
        ("identity", ("site", "mlp")): r"--against .*: has 2 layers of 20 units, .* 2 of 12; neurons are compared",
        ("counts", ("activation_sample", 0)): "its activation sample holds 0 sentences, and neurons are compared on it",
    }.items():
        other, record = tmp_path / option, json.loads(before)
        shutil.copytree(out, other)
        record["stages"]["topk"][option] |= [value]
        (other / "run.json").write_text(json.dumps(record))
        part = "shift" if option == "identity" else "ablation"
        with pytest.raises(InputError, match=told):
            compare.JOB.run(config(other, part=(part,), against=str(model), ablate=1))
    with pytest.raises(InputError, match="nothing was compared yet"):
        show.JOB.run(ShowConfig.model_validate({"out": str(small_run[0]), "compare": True}))
    with pytest.raises(InputError, match=r"topk/ is missing, as there is no run here; make one with atlas run"):
        compare.JOB.run(CompareConfig.model_validate({"out": str(tmp_path / "none")}))


def test_a_dry_run_says_what_is_missing(
    small_run: tuple[Path, Path],
    compare_run: tuple[Path, Path],
    control_run: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    others = {"against": str(compare_run[1]), "against_run": str(control_run), "with_": str(control_run)}
    compare.JOB.run(config(small_run[0], dry_run=True, **others, text_set=("some=pydocs",), ablate=1))
    said = capsys.readouterr().out
    assert [line for line in said.splitlines() if line in STAGES] == [f"compare/{part}" for part in PARTS]
    assert "bases: 4 of 4 bases" in said
    assert "groups: 3 of 3 layers" in said
    for note in ("that were drawn, each once, and cluster them\n", "have both models read at most", " random ones\n"):
        assert note in said
    assert "disk    about 0 kB" not in said
    assert not (small_run[0] / "compare").exists()
    compare.JOB.run(config(compare_run[0], dry_run=True, part=PARTS[:4]))
    assert capsys.readouterr().out.count("already done") == 4
