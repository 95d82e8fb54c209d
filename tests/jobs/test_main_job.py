"""The main job from text to tables, on the packaged model and real docstring sentences."""

import json
import re
from collections import Counter
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import torch

from jobs.mine import job as mine_job
from jobs.mine.job import MineConfig
from jobs.outputs import job as outputs_job
from jobs.run import job as run_job
from ops.errors import InputError
from ops.model.load import read_facts
from ops.penn import PUNCTUATION_TAGS
from tests.jobs.finished_runs.decoder import outputs_config
from tests.jobs.finished_runs.main import K, config


@pytest.fixture(scope="module")
def activations(texts: list[str]) -> np.ndarray:
    """Every sentence alone through transformers, `[sentences, neurons]`, mean over all its tokens."""
    from transformers import AutoModel, AutoTokenizer

    path = read_facts("sample").location.path
    model, tokenizer = AutoModel.from_pretrained(path).eval(), AutoTokenizer.from_pretrained(path)
    rows = []
    with torch.inference_mode():
        for text in texts:
            inputs = tokenizer(text, return_tensors="pt", truncation=True, max_length=512, padding=False)
            states = model(**inputs, output_hidden_states=True).hidden_states[1:]
            rows.append(torch.cat([state[0].mean(0) for state in states]).numpy())
    return np.array(rows)


def test_corpus_keeps_the_sources_order_and_counts_copies(finished: Path, texts: list[str]) -> None:
    corpus = pq.read_table(finished / "corpus").to_pydict()
    assert corpus["text"] == [" ".join(t.split()) for t in texts]
    assert corpus["sent_id"] == list(range(len(texts)))
    assert [n for i, n in enumerate(corpus["n_copies"]) if i != 7] == [1] * (len(texts) - 1)
    assert corpus["n_copies"][7] == 3
    assert corpus["sent_in_doc"][:12] == [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1]
    assert corpus["meta"][5] == {"n": "1", "topic": "t2"}
    assert corpus["n_tokens"][-1] == 512


def test_accounting_adds_up(finished: Path, texts: list[str]) -> None:
    stages = json.loads((finished / "run.json").read_text())["stages"]
    (source,) = stages["ingest"]["counts"]["sources"]
    assert source["sentences"] == len(texts) + 5
    assert (source["kept"], source["copies"], source["rejected"], source["not_sampled"]) == (len(texts), 2, 3, 0)
    assert source["reject_reasons"] == {"empty": 2, "too_short": 1}
    assert source["truncated"] == 1
    (scored,) = stages["topk"]["counts"]["sources"]
    assert scored["kept"] == scored["scored"] + scored["unscored"] == len(texts)
    assert sorted(r["reason"] for r in pq.read_table(finished / "rejects").to_pylist()) == [
        "empty",
        "empty",
        "too_short",
    ]


def test_topk_is_brute_force(finished: Path, activations: np.ndarray) -> None:
    """Same sentences in the same order for all neurons and both poles, but for ties within 1e-4."""
    table = pq.read_table(finished / "topk")
    width = activations.shape[1] // 6
    neuron = (table["layer"].to_numpy() - 1) * width + table["unit"].to_numpy()
    ids, values, ranks = (table[c].to_numpy() for c in ("sent_id", "activation", "rank"))
    top = np.array(table["pole"].to_pylist()) == "top"
    assert table.num_rows == activations.shape[1] * 2 * K
    assert np.abs(values - activations[ids, neuron]).max() < 1e-4
    for pole, sign in ((top, -1), (~top, 1)):
        expected = np.argsort(sign * activations, axis=0, kind="stable")[:K]
        own = ids[pole].reshape(-1, K)
        assert (ranks[pole].reshape(-1, K) == np.arange(1, K + 1)).all()
        assert all(len(set(row)) == K for row in own)
        exact = np.take_along_axis(activations, expected, 0).T
        found = np.take_along_axis(activations, own.T, 0).T
        assert np.abs(found - exact).max() < 1e-4
        assert (own == expected.T).mean() > 0.99
    order = list(
        zip(table["layer"].to_pylist(), table["unit"].to_pylist(), table["pole"].to_pylist(), ranks, strict=True)
    )
    assert order == sorted(order)


def test_neurons_are_the_moments_of_all_sentences(finished: Path, activations: np.ndarray) -> None:
    neurons = pq.read_table(finished / "neurons")
    wide = activations.astype(np.float64)
    centred = wide - wide.mean(0)
    std = wide.std(0)
    for name, expected, tolerance in (
        ("mean", wide.mean(0), 1e-5),
        ("std", std, 1e-5),
        ("skew", (centred**3).mean(0) / std**3, 1e-3),
        ("kurtosis", (centred**4).mean(0) / std**4 - 3, 1e-3),
        ("min", wide.min(0), 1e-5),
        ("max", wide.max(0), 1e-5),
        ("top_threshold", np.sort(wide, 0)[-K], 1e-5),
        ("bottom_threshold", np.sort(wide, 0)[K - 1], 1e-5),
        ("top_mean", np.sort(wide, 0)[-K:].mean(0), 1e-5),
        ("bottom_mean", np.sort(wide, 0)[:K].mean(0), 1e-5),
    ):
        assert np.abs(neurons[name].to_numpy() - expected).max() < tolerance, name
    assert set(neurons["n"].to_pylist()) == {len(activations)}
    for row in neurons.slice(0, 40).to_pylist():
        edges, counts = np.array(row["histogram_edges"]), row["histogram_counts"]
        assert len(counts) == len(edges) + 1 >= 256
        assert (np.diff(edges) > 0).all()
        values = activations[:, (row["layer"] - 1) * 384 + row["unit"]]
        cumulated = np.searchsorted(np.sort(values), edges, side="left")
        assert np.abs(np.cumsum(counts)[:-1] - cumulated).max() <= 2


def test_activation_sample_is_whole_vectors(finished: Path, activations: np.ndarray) -> None:
    table = pq.read_table(finished / "activations")
    ids = table["sent_id"].to_numpy()
    assert len(set(ids.tolist())) == 50
    assert (np.diff(ids) > 0).all()
    found = np.concatenate([np.array(table[f"layer_{i}"].to_pylist()) for i in range(1, 7)], 1)
    assert np.abs(found - activations[ids]).max() < 1e-4


def test_sentences_are_exactly_those_that_are_named(finished: Path, texts: list[str]) -> None:
    table = pq.read_table(finished / "sentences").to_pydict()
    assert table["sent_id"] == list(range(len(texts)))
    assert all(table["is_baseline"])
    winners = Counter(pq.read_table(finished / "topk")["sent_id"].to_pylist())
    assert [i for i, w in enumerate(table["is_winner"]) if w] == sorted(winners)
    assert table["wins"] == [winners[i] for i in table["sent_id"]]
    folds = set(zip(table["doc_id"], table["fold"], strict=True))
    assert len(folds) == len(set(table["doc_id"])), "a document is in two folds"
    assert {fold for _, fold in folds} == set(range(10))
    assert all(len(w) == len(t) for w, t in zip(table["words"], table["tags"], strict=True))
    assert all(tree.startswith("(ROOT ") for tree in table["tree"])


def test_every_kind_of_pattern_is_counted_against_the_sentences_outside_the_winners(finished: Path) -> None:
    sentences = pq.read_table(finished / "sentences").to_pydict()
    pairs = [list(zip(w, t, strict=True)) for w, t in zip(sentences["words"], sentences["tags"], strict=True)]
    kept = [[(w, t) for w, t in own if t not in PUNCTUATION_TAGS] for own in pairs]
    trees = [_read_tree(tree) for tree in sentences["tree"]]
    holds = {
        "word": lambda row: [i for i, own in enumerate(kept) if _contains([w for w, _ in own], row["items"], 4)],
        "tag": lambda row: [i for i, own in enumerate(kept) if _contains([t for _, t in own], row["items"], 2)],
        "subtree": lambda row: [i for i, tree in enumerate(trees) if _has_subtree(tree, _read_tree(row["pattern"]))],
    }
    own = _rows(finished, "topk", 6, 200, "top")["sent_id"].to_pylist()
    patterns = _rows(finished, "patterns", 6, 200, "top").to_pylist()
    assert {r["kind"] for r in patterns} == set(holds)
    for kind, holding in holds.items():
        rows = [r for r in patterns if r["kind"] == kind]
        assert [r["rank"] for r in rows] == list(range(1, len(rows) + 1))
        assert [r["g2"] for r in rows] == sorted((r["g2"] for r in rows), reverse=True)
        for row in rows[:: max(len(rows) // 12, 1)]:
            having = set(holding(row))
            a, c, n2 = len(having & set(own)), len(having - set(own)), len(pairs) - K
            assert row["support"] == a, row
            assert row["share"] == pytest.approx(a / K)
            assert row["baseline_share"] == pytest.approx(c / n2)
            assert row["lift"] == pytest.approx(((a + 0.5) / (K + 1)) / ((c + 0.5) / (n2 + 1)), rel=1e-5)
            assert row["docs"] == len({sentences["doc_id"][i] for i in having & set(own)})
            assert row["size"] == len(row["items"])


def _rows(run: Path, table: str, layer: int, unit: int, pole: str) -> pa.Table:
    return pq.read_table(run / table, filters=[("layer", "=", layer), ("unit", "=", unit), ("pole", "=", pole)])


def _contains(items: list[str], pattern: list[str], gap: int) -> bool:
    ends = [i for i, item in enumerate(items) if item == pattern[0]]
    for wanted in pattern[1:]:
        ends = sorted({j for i in ends for j in range(i + 1, min(i + 2 + gap, len(items))) if items[j] == wanted})
    return bool(ends)


Node = tuple[str, list["Node"]]


def _read_tree(text: str) -> Node:
    """A bracketed string as (label, children): words and punctuation leaves dropped."""
    stack: list[tuple[list[str], list[Node]]] = [([], [])]
    for token in re.findall(r"[()]|[^()\s]+", text):
        if token == "(":
            stack.append(([], []))
        elif token == ")":
            names, children = stack.pop()
            if not (len(names) == 2 and names[0] in PUNCTUATION_TAGS):
                stack[-1][1].append((names[0], children))
        else:
            stack[-1][0].append(token)
    return stack[0][1][0]


def _has_subtree(tree: Node, pattern: Node) -> bool:
    return _matches(tree, pattern) or any(_has_subtree(child, pattern) for child in tree[1])


def _matches(tree: Node, pattern: Node) -> bool:
    if tree[0] != pattern[0]:
        return False
    rest = iter(tree[1])
    # The earliest child that fits leaves the most for the patterns to its right.
    return all(any(_matches(child, wanted) for child in rest) for wanted in pattern[1])


def test_profiles_are_shares_of_the_metadata(finished: Path) -> None:
    con = duckdb.connect()
    found = con.sql(f"""
        with named as (
            select layer, unit, pole, s.meta['topic'] as value
            from read_parquet('{finished}/topk/*.parquet') t
            join read_parquet('{finished}/sentences/*.parquet') s using (sent_id)
        ),
        counted as (
            select layer, unit, pole, value, count(*) as expected from named where value is not null group by all
        ),
        totals as (select layer, unit, pole, sum(expected) as expected_n from counted group by all)
        select p.count, p.n, expected, expected_n
        from read_parquet('{finished}/profiles/*.parquet') p
        join counted using (layer, unit, pole, value) join totals using (layer, unit, pole)
        where p.property = 'topic'
    """).fetchall()
    assert len(found) > 10_000
    assert all(count == expected and n == expected_n for count, n, expected, expected_n in found)


def test_running_again_does_nothing(finished: Path, source: Path) -> None:
    before = {p: p.stat().st_mtime_ns for p in finished.rglob("*.parquet")}
    run_job.JOB.run(config(finished, source, no_scores=True))
    assert {p: p.stat().st_mtime_ns for p in finished.rglob("*.parquet")} == before


def test_a_nuisance_key_that_the_corpus_lacks_is_refused(finished: Path, source: Path) -> None:
    before = (finished / "run.json").read_bytes()
    with pytest.raises(InputError, match=r"--nuisance author: the corpus has no such column.*; it has .*topic"):
        run_job.JOB.run(config(finished, source, no_scores=True, nuisance="author"))
    with pytest.raises(InputError, match=r"--nuisance author: the corpus has no such column.*; it has n, topic"):
        mine_job.JOB.run(MineConfig.model_validate({"out": str(finished), "nuisance": ["topic", "author"]}))
    assert (finished / "run.json").read_bytes() == before


def test_chance_says_how_many_neurons_show_something_and_how_many_random_sets(small_run: tuple[Path, Path]) -> None:
    rows = pq.read_table(small_run[0] / "chance").to_pylist()
    neurons = pq.read_table(small_run[0] / "neurons").num_rows
    for source, column in (("patterns", "kind"), ("profiles", "property")):
        table = pq.read_table(small_run[0] / source)
        sure = table.filter(pc.and_(pc.less(table["q_value"], 0.05), pc.greater(table["lift"], 1))).to_pylist()
        for family in set(table[column].to_pylist()):
            own = [row for row in rows if (row["source"], row["family"]) == (source, family)]
            assert [row["drawn"] for row in own] == ["documents", "uniform"]
            found = {(row["layer"], row["unit"], row["pole"]) for row in sure if row[column] == family}
            assert {(row["n"], row["found"], row["n_sets"]) for row in own} == {(2 * neurons, len(found), 6)}
    assert rows[0]["source"] == rows[0]["family"] == "all"


def test_outputs_of_a_model_without_a_head_are_refused(finished: Path) -> None:
    with pytest.raises(InputError, match=r"--model sample: has no head that scores tokens.* decoders such as gpt2"):
        outputs_job.JOB.run(outputs_config(finished))
