"""The main job on features of a dictionary, from topk to what is shown, and wrong calls of `--dictionary`."""

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import save_file

from jobs.browse.server import Browser
from jobs.compare import job as compare
from jobs.contrast import job as contrast
from jobs.export import job as export
from jobs.report import job as report
from jobs.run import job as run_job
from jobs.show import job as show
from jobs.stage.dry_run import size
from jobs.tokens import job as tokens
from jobs.topk import job as topk
from jobs.topk.dictionaries import values_of_sample
from jobs.topk.steps import prepare
from ops.dictionaries.read import describe_all
from ops.errors import InputError
from ops.model.load import read_facts
from ops.topk.activation_sample import dense, is_sparse, read_layer
from ops.topk.neurons import Neurons, read_neurons
from ops.topk.room import state_bytes
from tests.jobs.finished_runs.main import SENTENCES, K, config
from tests.unit.dictionaries.made import weights, write

FEATURES, WIDTH, LAYER = 50, 12, 1
EXPLAINED = (0, 3, 7, 12)  # features that are mined and explained


def sparse_dictionary(folder: Path) -> Path:
    """A TopK dictionary in which one feature is active at no token."""
    own = weights("topk", WIDTH, FEATURES)
    own["b_enc"][7] = -1e6
    return write(folder, "topk", own, f"blocks.{LAYER - 1}.hook_resid_post", k=3)


@pytest.fixture(scope="module")
def features(
    tmp_path_factory: pytest.TempPathFactory,
    source: Path,
    make_model: Callable[..., Path],
    small_bert: object,
) -> tuple[Path, Path, Path]:
    """The main job on a sparse dictionary: its run directory, the model's folder and the dictionary's."""
    model, folder = make_model(small_bert), sparse_dictionary(tmp_path_factory.mktemp("dictionary") / "sae")
    out = tmp_path_factory.mktemp("runs") / "features"
    more = {"dictionary": (f"{LAYER}={folder}",), "no_tokens": False, "no_explain": False}
    more["units"] = tuple(f"{LAYER}:{unit}" for unit in EXPLAINED)
    run_job.JOB.run(config(out, source, model=str(model), **more))
    return out, model, folder


def test_a_dictionary_whose_features_are_mostly_dead_is_mined_and_explained(
    features: tuple[Path, Path, Path], source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = weights("topk", WIDTH, 100)
    own["b_enc"][:70] = -1e6  # more than a range of neurons
    folder = write(tmp_path / "sae", "topk", own, f"blocks.{LAYER - 1}.hook_resid_post", k=3)
    more = {"dictionary": (f"{LAYER}={folder}",), "no_explain": False, "null_sets": 4}
    run_job.JOB.run(config(tmp_path / "out", source, model=str(features[1]), **more))
    for table in ("patterns", "profiles", "means", "scores", "explanations"):
        units = pq.read_table(tmp_path / "out" / table, columns=["unit"])["unit"].to_pylist()
        assert units, table
        assert min(units) >= 70, table
    capsys.readouterr()
    show.JOB.run(show.ShowConfig(out=str(tmp_path / "out"), neuron=f"{LAYER}:3"))
    assert "It has no winners: it is active in no sentence" in capsys.readouterr().out
    report.JOB.run(report.ReportConfig(out=str(tmp_path / "out"), neurons=(f"{LAYER}:3",)))
    assert "This unit is silent" in (tmp_path / f"out/report/neurons/{LAYER}-3.html").read_text()


@pytest.mark.parametrize("heard", [0, 1])
def test_a_dictionary_without_two_features_that_are_heard(
    heard: int, features: tuple[Path, Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = weights("topk", WIDTH, FEATURES)
    own["b_enc"][heard:] = -1e6
    folder, out = write(tmp_path / "sae", "topk", own, f"blocks.{LAYER - 1}.hook_resid_post", k=3), tmp_path / "run"
    shutil.copytree(features[0], out)
    options = {"out": str(out), "model": str(features[1]), "k": K, "workers": 1, "redo": True}
    topk.JOB.run(topk.TopkConfig.model_validate({**options, "dictionary": (f"{LAYER}={folder}",)}))
    compared = compare.CompareConfig(out=str(out), workers=1)
    if heard:
        compare.JOB.run(compared)
        assert not pq.read_table(out / "compare/neighbours").num_rows
        show.JOB.run(show.ShowConfig(out=str(out), compare=True))
        return
    for do in (
        partial(compare.JOB.run, compared),
        partial(contrast.JOB.run, contrast.ContrastConfig(out=str(out), by=("topic",))),
    ):
        with pytest.raises(InputError, match=r"^--out .*: each of its units is silent in this corpus"):
            do()


def test_the_tables_are_of_the_features(features: tuple[Path, Path, Path]) -> None:
    out, _, folder = features
    run = json.loads((out / "run.json").read_text())["stages"]["topk"]
    (said,) = run["counts"]["dictionaries"]
    assert (said["path"], said["layer"], said["features"], said["kind"]) == (str(folder), LAYER, FEATURES, "topk")
    assert run["identity"]["dictionaries"] == {str(LAYER): said["fingerprint"]}
    assert (run["config"]["pool"], run["config"]["poles"]) == ("max", "top")
    found = duckdb.sql(
        f"""select n.unit, n_active, tokens_active, n.top_threshold, is_silent, n.histogram_counts[1] as zeros,
            count(t.sent_id) as winners, min(t.activation) as lowest from '{out}/neurons/*.parquet' n
            left join '{out}/topk/*.parquet' t using (layer, unit)
            group by all order by n.unit"""
    ).fetchall()
    assert [row[0] for row in found] == list(range(FEATURES))
    for unit, n_active, tokens_active, threshold, is_silent, zeros, winners, lowest in found:
        assert winners == min(K, n_active)
        assert zeros == SENTENCES - n_active
        assert tokens_active >= n_active
        assert (tokens_active == 0) == (n_active == 0)
        assert (threshold is None) == (winners == 0) == is_silent
        assert lowest is None or lowest == threshold > 0
        assert n_active == 0 or unit != 7
    assert any(0 < row[1] < K for row in found)
    assert any(row[1] > K for row in found)
    assert duckdb.sql(f"select distinct pole from '{out}/topk/*.parquet'").fetchall() == [("top",)]


def test_a_dry_run_says_how_large_its_matrices_and_its_sample_are(
    features: tuple[Path, Path, Path], source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    large = weights("topk", WIDTH, 9_000)
    folder = write(tmp_path / "large", "topk", large, f"blocks.{LAYER - 1}.hook_resid_post", k=3)
    more: dict[str, Any] = {"dictionary": (f"{LAYER}={folder}",), "units": (f"{LAYER}:3",), "k_per_dataset": 0}
    capsys.readouterr()
    run_job.JOB.run(config(tmp_path / "out", source, model=str(features[1]), dry_run=True, **more))
    said = capsys.readouterr().out
    taken = size(large["W_enc"].nbytes + large["W_dec"].nbytes)
    assert f"matrices of dictionaries take {taken} for layer {LAYER} of each worker's memory" in said
    assert f"winners so far take {size(state_bytes(9_000, K, 1))} of each worker's memory" in said
    # At most 2,000 features are active in a sentence, each with its index; without the bound, it would be more.
    described = describe_all(more["dictionary"], read_facts(str(features[1])))
    assert values_of_sample(9_000, described) == 4_000
    assert values_of_sample(9_000, describe_all([f"{LAYER}=rotated:0"], read_facts(str(features[1])))) == 9_000


def test_both_forms_of_the_sample_are_read_by_one_reader(features: tuple[Path, Path, Path]) -> None:
    from jobs.run_folder.run import Run

    store = Run(str(features[0]), create=False).store
    assert read_neurons(store) == Neurons((FEATURES,)) == Neurons.of_layers({LAYER: FEATURES})
    assert is_sparse(store)
    sample = read_layer(store, LAYER)
    matrix = dense(sample)
    rows = pq.read_table(features[0] / "activations")
    assert matrix.shape == (rows.num_rows, FEATURES) == (50, FEATURES)
    for place, (units, values) in enumerate(
        zip(rows[f"layer_{LAYER}_units"].to_pylist(), rows[f"layer_{LAYER}_values"].to_pylist(), strict=True)
    ):
        assert units == sorted(units)
        assert np.array_equal(np.flatnonzero(matrix[place]), units)
        assert np.array_equal(matrix[place][units], np.float32(values))
    for unit in (0, 7):
        assert np.array_equal(dense(sample[:, [unit]])[:, 0], matrix[:, unit])
    best = duckdb.sql(f"select unit, sent_id, activation from '{features[0]}/topk/*.parquet' where rank = 1").fetchall()
    ids = rows["sent_id"].to_pylist()
    known = [(unit, ids.index(sent), value) for unit, sent, value in best if sent in ids]
    assert known
    assert all(matrix[place, unit] == np.float32(value) for unit, place, value in known)


def test_what_follows_topk_takes_features(
    features: tuple[Path, Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    out, _, _ = features
    stages = json.loads((out / "run.json").read_text())["stages"]
    assert stages["tokens"]["counts"]["activations_differ"] == 0
    winners = duckdb.sql(f"select count(*) from '{out}/topk/*.parquet' where rank <= 20").fetchall()
    assert duckdb.sql(f"select count(*) from '{out}/token_activations/*.parquet'").fetchall() == winners
    explained = duckdb.sql(f"select unit, pole from '{out}/explanations/*.parquet'").fetchall()
    assert {pole for _, pole in explained} == {"top"}
    assert {unit for unit, _ in explained} <= set(EXPLAINED) - {7}
    assert explained
    negatives = f"(from '{out}/examples/*.parquet' where quantile is null)"
    highest = "count(*) > 0, min(activation), max(activation), max(list_max(activations))"
    joined = f"{negatives} join '{out}/negative_tokens/*.parquet' using (layer, unit, pole, rank)"
    assert duckdb.sql(f"select {highest} from {joined}").fetchall() == [(True, 0.0, 0.0, 0.0)], "off in every token"
    winning = f"{negatives} semi join '{out}/topk/*.parquet' using (layer, unit, sent_id)"
    assert duckdb.sql(f"select count(*) from {winning}").fetchall() == [(0,)]
    bases = duckdb.sql(f"select distinct basis from '{out}/explain/controls/*.parquet'").fetchall()
    assert sorted(bases) == [("neurons",), ("shuffled",)]
    most = explained[0][0]
    assert show.JOB.main(["--out", str(out), "--neuron", f"{LAYER}:{most}"]) == 0
    source = f"{FEATURES} features of sae (topk), which reads the residual stream after layer {LAYER}"
    shown = capsys.readouterr().out
    assert shown.startswith(f"Feature {LAYER}:{most} top\n")
    assert f"One of {source}" in " ".join(shown.split())
    assert show.JOB.main(["--out", str(out), "--neuron", f"{LAYER}:{FEATURES}"]) == 2
    assert compare.JOB.main(["--out", str(out), "--part", "dimensions"]) == 2
    assert "the units of this run are features of dictionaries" in capsys.readouterr().err
    compare.JOB.run(compare.CompareConfig(out=str(out), workers=1))
    near = pq.read_table(out / "compare" / "neighbours")
    assert set(near["layer_b"].to_pylist()) == {LAYER}
    assert 7 not in near["unit"].to_pylist() + near["unit_b"].to_pylist()


def test_pages_and_an_export_name_the_dictionary(features: tuple[Path, Path, Path], tmp_path: Path) -> None:
    source = f"{FEATURES} features of sae (topk), which reads the residual stream after layer {LAYER}"
    report.JOB.run(report.ReportConfig(out=str(features[0])))
    overview = (features[0] / "report" / "index.html").read_text()
    assert f"{FEATURES} features over" in overview
    assert f"Layer {LAYER}: {source}" in overview
    served = Browser(str(features[0]), 10, 30.0).pages
    assert f"Layer {LAYER}: {source}" in str(served.overview().body)
    page = served.neuron(f"{LAYER}-3")
    assert page is not None
    assert f"One of {source}" in str(page.body)
    export.JOB.run(export.ExportConfig(out=str(features[0]), to=str(tmp_path / "to")))
    card = (tmp_path / "to" / "README.md").read_text()
    assert source in card
    found = duckdb.sql(f"select count(*) from '{tmp_path}/to/topk/*.parquet'").fetchall()
    assert found == duckdb.sql(f"select count(*) from '{features[0]}/topk/*.parquet'").fetchall()


def rescored(features: tuple[Path, Path, Path], out: Path, **options: Any) -> Path:
    """Score the corpus of the run again in another folder."""
    shutil.copytree(features[0], out)
    values = {"out": str(out), "model": str(features[1]), "k": K, "activation_sample": 50, "redo": True, **options}
    topk.JOB.run(topk.TopkConfig.model_validate({"dictionary": (f"{LAYER}={features[2]}",), **values}))
    return out


def test_workers_and_blocks_change_no_bit(features: tuple[Path, Path, Path], tmp_path: Path) -> None:
    other = rescored(features, tmp_path / "b", workers=1, feature_block=1)
    for table in ("topk", "neurons", "activations"):
        assert pq.read_table(other / table).equals(pq.read_table(features[0] / table))


def test_a_rotation_has_both_poles_and_other_layers_none(features: tuple[Path, Path, Path], tmp_path: Path) -> None:
    out = rescored(features, tmp_path / "c", dictionary=("0=rotated:3", "2=rotated:3"), workers=2)
    found = duckdb.sql(f"select layer, pole, count(*) from '{out}/topk/*.parquet' group by all order by all").fetchall()
    assert found == [(layer, pole, WIDTH * K) for layer in (0, 2) for pole in ("bottom", "top")]
    names = pq.read_schema(out / "activations" / "part-00000.parquet").names
    assert names == ["sent_id", "layer_0", "layer_2"]
    rows = duckdb.sql(f"select distinct n_active, tokens_active from '{out}/neurons/*.parquet'").fetchall()
    assert rows == [(None, None)]


def test_a_local_dictionary_is_recorded_by_its_absolute_path(
    source: Path, make_model: Callable[..., Path], small_bert: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sparse_dictionary(tmp_path / "sae")
    monkeypatch.chdir(tmp_path)
    given: dict[str, Any] = {"corpus": (str(source),), "model": str(make_model(small_bert))}
    asked = topk.TopkConfig.model_validate(given | {"out": "out", "dictionary": (f"{LAYER}=sae",)})
    no_run: Any = None
    assert prepare(asked, no_run).chosen["dictionary"] == (f"{LAYER}={tmp_path / 'sae'}",)


def test_another_dictionary_under_the_same_path_is_refused(features: tuple[Path, Path, Path], tmp_path: Path) -> None:
    out, folder = tmp_path / "d", tmp_path / "sae"
    shutil.copytree(features[0], out)
    shutil.copytree(features[2], folder)
    record = json.loads((out / "run.json").read_text())
    record["stages"]["topk"]["config"]["dictionary"] = [f"{LAYER}={folder}"]
    (out / "run.json").write_text(json.dumps(record))
    save_file(weights("topk", WIDTH, FEATURES, seed=1), folder / "sae_weights.safetensors")
    with pytest.raises(InputError, match=rf"has changed since topk/ was made; .* atlas topk --out {out} --redo"):
        tokens.JOB.run(tokens.TokensConfig(out=str(out), redo=True))
    with pytest.raises(InputError, match=r"dictionary .* has changed"):
        topk.JOB.run(
            topk.TopkConfig.model_validate(
                {"out": str(out), "model": str(features[1]), "k": K, "dictionary": (f"{LAYER}={folder}",)}
            )
        )


def test_a_dictionary_whose_numbers_overflow_is_named_not_the_model(
    shared_ray: None, tmp_path: Path, source: Path, make_model: Callable[..., Path], small_bert: object
) -> None:
    own = weights("standard", WIDTH, 2)
    own["W_enc"] = np.repeat(np.float32([[3e38, -3e38]]), WIDTH, 0)
    own["b_dec"] = np.full(WIDTH, -1e3, np.float32)  # every product overflows, in whatever order they are added
    folder = write(tmp_path / "sae", "standard", own, f"blocks.{LAYER - 1}.hook_resid_post")
    said = rf"--dictionary {LAYER}={folder}: gave no finite activation for any of .* its weights are too large"
    with pytest.raises(InputError, match=said):
        run_job.JOB.run(
            config(tmp_path / "out", source, model=str(make_model(small_bert)), dictionary=(f"{LAYER}={folder}",))
        )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--dictionary", "nothing"], "--dictionary 'nothing': expected LAYER=PATH"),
        (["--dictionary", "1=rotated:0", "--site", "hidden"], "--site hidden: a dictionary determines what it reads"),
        (["--dictionary", "1=rotated:0", "--pool", "cls"], "--pool cls: features are pooled over tokens"),
        (["--dictionary", "9=rotated:0"], "--dictionary 9=rotated:0: sample has no layer 9"),
        (
            ["--dictionary", "1=no/such/dictionary"],
            "no such file or folder, and the Hugging Face hub cannot be reached",
        ),
        (["--dictionary", "1={here}", "--poles", "both"], "--poles both: features of "),
        (["--dictionary", "1={here}", "--feature-block", "0"], "--feature-block '0': should be greater than"),
    ],
)
def test_a_wrong_call_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    here = write(tmp_path / "sae", "topk", weights("topk", 384, 20), "blocks.0.hook_resid_post")
    (tmp_path / "a.txt").write_text("The cat sat on the mat.\n")
    words = [word.format(here=here) for word in words]
    assert topk.JOB.main(["--out", str(tmp_path / "out"), "--corpus", str(tmp_path / "a.txt"), *words]) == 2
    found = capsys.readouterr().err.strip()
    assert said in found
    assert found.startswith("error: ")
    assert "\n" not in found
    assert not list((tmp_path / "out").glob("*.parquet"))
