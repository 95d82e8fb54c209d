"""A shard's tables equal what is computed text by text, however the texts were spread over batches and shards."""

from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from torch import nn
from transformers import AutoModelForCausalLM

from ops.mixing.token_classes import TokenClasses
from ops.model.load import ModelFacts
from ops.model.tokenizer import Tokens
from ops.positions.figures import layers_figure
from ops.positions.labels import Labelled, label_rows
from ops.positions.pilot import mean_states
from ops.positions.reader import Batch, VariantReader
from ops.positions.shard import Features, PositionsResult, PositionsScorer, merge_tables
from ops.positions.sums import CLASS, Totals
from ops.positions.tables import (
    grouped_rows,
    norm_rows,
    perplexity_position_rows,
    perplexity_rows,
    similarity_rows,
)
from tests.unit import small_models
from tests.unit.small_models import CONFIGS, facts, make

CLS, SEP, DOT, LIMIT = 1, 2, 3, 20
VARIANTS = ("none", "shifted")
Shards = list[list[tuple[np.ndarray, list[Tokens]]]]


Measured = tuple[Totals, Features, list[PositionsResult]]
ENCODER = pytest.mark.parametrize("known", ["bert"], indirect=True)


@pytest.fixture(scope="module", params=["bert", "gpt2"])
def known(request: pytest.FixtureRequest) -> tuple[VariantReader, ModelFacts]:
    kind: str = request.param
    if kind == "bert":
        model, found = make(kind)
        return VariantReader(model, found, 4, 0), found
    torch.manual_seed(0)
    decoder: Any = AutoModelForCausalLM.from_config(CONFIGS["gpt2"]()).eval()
    for weight in decoder.parameters():
        nn.init.normal_(weight, std=0.2)
    return VariantReader(decoder, facts(kind), 4, 0), facts(kind)


def texts() -> list[Tokens]:
    rng = np.random.default_rng(0)
    lengths = [1, 2, 3, 18, *rng.integers(3, 16, 20).tolist()]
    ids = [rng.integers(DOT, small_models.VOCABULARY, n).tolist() for n in lengths]
    return [
        Tokens([CLS, *i[:-2], SEP], [1, *[0] * (len(i) - 2), 1], False)
        if len(i) > 2
        else Tokens(i, [0] * len(i), False)
        for i in ids
    ]


def batches(size: int, shards: int) -> Shards:
    own = list(enumerate(texts()))
    found: Shards = [[] for _ in range(shards)]
    for number, some in enumerate([own[i : i + size] for i in range(0, len(own), size)]):
        found[number * shards // -(-len(own) // size)].append((np.array([i for i, _ in some]), [t for _, t in some]))
    return found


def classes() -> TokenClasses:
    strings = [f"t{i}" for i in range(small_models.VOCABULARY)]
    strings[DOT] = "."
    tokenizer: Any = SimpleNamespace(vocabulary=lambda: strings, mask_id=None, sep_id=SEP, cls_id=CLS)
    return TokenClasses(tokenizer)


def measure(known: tuple[VariantReader, ModelFacts], size: int, shards: int) -> Measured:
    reader, _ = known
    pilot = mean_states(reader, VARIANTS, iter(batches(5, 1)[0]), 0, "cpu")
    scorer = PositionsScorer(reader, classes(), VARIANTS, pilot.means, pilot.panel, 0, LIMIT, "cpu")
    results = [scorer.measure_shard(iter(shard), {3, 5}) for shard in batches(size, shards)]
    return *merge_tables(map(PositionsResult.to_table, results)), results


@pytest.fixture(scope="module")
def measured(known: tuple[VariantReader, ModelFacts]) -> Measured:
    return measure(known, 5, 2)


def plain(known: tuple[VariantReader, ModelFacts], variant: str) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Each text's states `[layers, tokens, width]` and losses, read alone."""
    states, losses = [], []
    for i, tokens in enumerate(texts()):
        ids = torch.tensor([tokens.ids])
        found = known[0].read(Batch(np.array([i]), ids, torch.ones_like(ids).bool()), variant)
        states.append(torch.stack(found.layers))
        losses.append(torch.zeros(0) if found.loss is None else found.loss)
    return states, losses


def select(table: pa.Table, **values: object) -> list[dict[str, Any]]:
    return [row for row in table.to_pylist() if all(row[k] == v for k, v in values.items())]


def test_cosines_equal_those_of_texts_read_alone(known: tuple[VariantReader, ModelFacts], measured: Measured) -> None:
    totals, _, results = measured
    similarity = similarity_rows(totals, known[1], 0)
    default, _ = plain(known, "default")
    means = {name: torch.cat(plain(known, name)[0], 1).mean(1) for name in ("default", "none")}
    none, _ = plain(known, "none")
    cosines = torch.cat([torch.cosine_similarity(a, b, dim=-1) for a, b in zip(none, default, strict=True)], 1)
    centred = torch.cat(
        [
            torch.cosine_similarity(a - means["none"][:, None], b - means["default"][:, None], dim=-1)
            for a, b in zip(none, default, strict=True)
        ],
        1,
    )
    for layer in range(known[1].layers):
        (row,) = select(similarity, layer=layer + 1, variant="none", reference="default")
        assert row["n"] == cosines.shape[1] == sum(len(t.ids) for t in texts())
        assert row["mean"] == pytest.approx(float(cosines[layer].mean()), abs=1e-5)
        assert row["std"] == pytest.approx(float(cosines[layer].std(correction=0)), abs=1e-4)
        edges = [-np.inf, *row["histogram_edges"], np.inf]
        counted = [int(((cosines[layer] >= a) & (cosines[layer] < b)).sum()) for a, b in pairwise(edges)]
        assert sum(row["histogram_counts"]) == row["n"]
        assert np.abs(np.cumsum(counted) - np.cumsum(row["histogram_counts"])).max() <= 1
        (row,) = select(similarity, layer=layer + 1, variant="none", reference="default_centred")
        assert row["mean"] == pytest.approx(float(centred[layer].mean()), abs=1e-4)
    assert sum(r.scored for r in results) == len(texts())
    keys = [(r["layer"], r["variant"], r["reference"]) for r in similarity.to_pylist()]
    assert len(keys) == len(set(keys)) == known[1].layers * (3 + 2 * 5)


def test_random_pairs_are_of_the_whole_corpus(known: tuple[VariantReader, ModelFacts]) -> None:
    """The mean covers all pairs of tokens of two texts, and does not depend on batches and shards."""
    reader, found = known
    means = mean_states(reader, VARIANTS, iter(batches(5, 1)[0]), 0, "cpu").means
    default, _ = plain(known, "default")
    owner = torch.tensor([i for i, text in enumerate(texts()) for _ in text.ids])
    every, parted = [similarity_rows(measure(known, *cut)[0], found, 0) for cut in ((5, 1), (2, 3))]
    for variant in ("default", *VARIANTS):
        there = [i for i, text in enumerate(texts()) if variant != "shifted" or len(text.ids) <= LIMIT - 4]
        own, _ = plain(known, variant)
        kept = torch.tensor([i for i in there for _ in texts()[i].ids])
        apart = kept[:, None] != owner[None]
        for layer in range(found.layers):
            a, b = torch.cat([own[i] for i in there], 1)[layer], torch.cat(default, 1)[layer]
            for reference, minus in (("random_pair", 0), ("random_pair_centred", 1)):
                shifts = [torch.from_numpy(means[name][layer]) * minus for name in (variant, "default")]
                units = [nn.functional.normalize(x - m, dim=1) for x, m in zip((a, b), shifts, strict=True)]
                cosines = (units[0] @ units[1].T)[apart]
                for table in (every, parted):
                    (row,) = select(table, layer=layer + 1, variant=variant, reference=reference)
                    assert row["mean"] == pytest.approx(float(cosines.mean()), abs=1e-5)
                    assert sum(row["histogram_counts"]) == row["n"] > len(kept) * 0.8
                    assert row["std"] == pytest.approx(float(cosines.std()), rel=0.25)


@ENCODER
def test_what_has_no_position_is_left_out_of_that_variant_alone(
    known: tuple[VariantReader, ModelFacts], measured: Measured
) -> None:
    totals, _, results = measured
    similarity = similarity_rows(totals, known[1], 0)
    long = [t for t in texts() if len(t.ids) > LIMIT - 4]
    assert [texts()[i] for r in results for i in r.beyond["shifted"]] == long
    assert len(long) == 1
    (none,) = select(similarity, layer=1, variant="none", reference="default")
    (shifted,) = select(similarity, layer=1, variant="shifted", reference="default")
    assert none["n"] - shifted["n"] == sum(len(t.ids) for t in long)


@ENCODER
def test_classes_and_positions_add_up(known: tuple[VariantReader, ModelFacts], measured: Measured) -> None:
    totals, _, _ = measured
    ids = [list(zip(t.ids, t.added, strict=True)) for t in texts()]
    rows = {
        r["token_class"]: r["n"]
        for r in select(
            grouped_rows("positions/by_class", totals, known[1]), layer=2, variant="none", reference="default"
        )
    }
    assert rows["cls"] == rows["sep"] == sum(1 for text in ids for i, added in text if added and i == CLS)
    assert rows["punct"] == sum(1 for text in ids for i, added in text if not added and i == DOT)
    assert sum(rows.values()) == sum(map(len, ids))
    places = {
        r["position"]: r["n"]
        for r in select(
            grouped_rows("positions/by_position", totals, known[1]), layer=1, variant="none", reference="default"
        )
    }
    assert places == {p: sum(len(text) > p for text in ids) for p in range(max(map(len, ids)))}
    norms = norm_rows(totals, known[1], np.ones(LIMIT, np.float32)).to_pylist()
    assert [r["n"] for r in norms] == [places.get(p, 0) for p in range(LIMIT)]
    assert norms[-1]["ratio"] is None


def test_perplexities_by_their_three_readings(known: tuple[VariantReader, ModelFacts], measured: Measured) -> None:
    totals, _, results = measured
    table = perplexity_rows(totals, known[1])
    if known[1].model_type == "bert":
        assert table.num_rows == perplexity_position_rows(totals, known[1]).num_rows == 0
        return
    for variant in ("default", "none"):
        losses = [x.double() for x in plain(known, variant)[1]]
        (row,) = select(table, variant=variant)
        assert row["n"] == len(texts()) - 1 == len(texts()) - sum(r.unpredicted for r in results)
        each = [float(x.mean().exp()) for x in losses if len(x)]
        assert row["mean"] == pytest.approx(np.mean(each), rel=1e-4)
        assert row["corpus"] == pytest.approx(float(torch.cat(losses).mean().exp()), rel=1e-4)
        assert row["token_mean"] == pytest.approx(float(torch.cat(losses).exp().mean()), rel=1e-4)
        (row,) = select(perplexity_position_rows(totals, known[1]), variant=variant, position=3)
        third = torch.stack([x[2] for x in losses if len(x) > 2])
        assert row["n"] == len(third)
        assert row["loss"] == pytest.approx(float(third.mean()), rel=1e-4)


def test_a_table_of_zeros_gives_cosines_of_1_and_equal_perplexities(known: tuple[VariantReader, ModelFacts]) -> None:
    weight = known[0].positions.table.weight
    before = weight.data.clone()
    for zeros in (True, False):
        weight.data.mul_(1 - zeros)
        totals, _, _ = measure(known, 5, 2)
        weight.data.copy_(before)
        rows = select(similarity_rows(totals, known[1], 0), variant="none", reference="default")
        assert [row["layer"] for row in rows] == [1, 2, 3]
        assert all((abs(row["mean"] - 1) < 1e-6 and row["std"] < 1e-6) == zeros for row in rows)
        found = [row for row in perplexity_rows(totals, known[1]).to_pylist() if row["variant"] != "shifted"]
        assert [row["variant"] for row in found] == (["default", "none"] if known[0].decoder else [])
        for column in ("n", "mean", "corpus", "token_mean") if found else ():
            assert (found[0][column] == found[1][column]) == (zeros or column == "n")


@ENCODER
def test_one_text_has_no_random_pairs_and_all_else(known: tuple[VariantReader, ModelFacts]) -> None:
    reader, found = known
    alone = [(np.array([0]), [texts()[4]])]
    pilot = mean_states(reader, VARIANTS, iter(alone), 0, "cpu")
    scorer = PositionsScorer(reader, classes(), VARIANTS, pilot.means, pilot.panel, 0, LIMIT, "cpu")
    result = scorer.measure_shard(iter(alone))
    totals, _ = merge_tables([result.to_table()])
    rows = similarity_rows(totals, found, 0)
    shown = {(row["variant"], row["reference"]) for row in rows.to_pylist()}
    assert shown == {(v, r) for v in VARIANTS for r in ("default", "default_centred", "gaussian")}
    assert len(layers_figure(rows).axes) == len(VARIANTS)
    assert layers_figure(rows.slice(0, 0)).axes


def test_features_are_the_mean_of_the_last_layer(known: tuple[VariantReader, ModelFacts], measured: Measured) -> None:
    _, features, _ = measured
    assert features.sent_ids.tolist() == [3, 5]
    for i, variant in enumerate(("default", "none")):
        states, _ = plain(known, variant)
        np.testing.assert_allclose(features.vectors[1, i], states[5][-1].mean(0).numpy(), atol=1e-5)
    assert np.isnan(features.vectors).all(2).tolist() == [[False, False, True], [False] * 3], "the first is too long"
    assert features.tokens.tolist() == [*texts()[3].ids, *texts()[5].ids]
    assert features.lengths.tolist() == [len(texts()[3].ids), len(texts()[5].ids)]


def test_texts_that_are_not_finite_are_named_and_left_out(known: tuple[VariantReader, ModelFacts]) -> None:
    reader, _ = known
    words = reader.model.get_input_embeddings().weight  # type: ignore[operator]
    # A decoder's predictions are made by the same embeddings: whatever predicts a token is lost then.
    lost = [i for i, t in enumerate(texts()) if 7 in t.ids or (reader.decoder and len(t.ids) > 1)]
    before = words.data[7].clone()
    words.data[7] = torch.nan
    totals, _, results = measure(known, 5, 2)
    words.data[7] = before
    assert sorted(i for r in results for i in r.unscored) == lost
    left = sum(len(t.ids) for i, t in enumerate(texts()) if i not in lost)
    assert totals.moments[CLASS, "none"].joined().count[0] == left > 0
    assert np.isfinite(totals.moments[CLASS, "none"].mean).all()


def test_a_bag_of_tokens_finds_what_the_words_say() -> None:
    rng = np.random.default_rng(0)
    labels = [("good", "bad")[i % 2] for i in range(200)]
    texts_ = Labelled(list(range(200)), labels, [f"d{i // 2}" for i in range(200)])
    tokens = np.array([[5 if label == "good" else 6, *rng.integers(7, 40, 6)] for label in labels])
    vectors = rng.standard_normal((200, 1, 4)).astype(np.float32)
    features = Features(np.arange(200), np.full(200, 7), tokens.ravel(), vectors)
    rows = {r["features"]: r for r in label_rows("m", "x", texts_, features, ["default"], 0, 5)}
    assert rows["tokens"]["accuracy"] == 1.0
    assert 0.2 < rows["default"]["accuracy"] < 0.8
    assert rows["default"]["low"] < rows["default"]["accuracy"] < rows["default"]["high"]
    assert (rows["tokens"]["n_train"], rows["tokens"]["n"], rows["majority"]["classes"]) == (140, 60, 2)
    assert rows["tokens"]["difference"] == pytest.approx(1 - rows["default"]["accuracy"])
    alike = replace(texts_, labels=["good"] * 200)
    assert label_rows("m", "x", alike, features, ["default"], 0, 5) == []
