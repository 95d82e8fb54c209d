import re
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ops.respond.findings import unit_rows
from ops.respond.measure import DRAWS, Common, Measured, measure, response_rows
from ops.respond.tails import OUTER, is_outer, signed_tails
from ops.schema.responses import RESPONSES
from tests.conftest import ROOT
from tests.unit.respond.made_corpus import MadeTables, brute_tails, made_corpus
from tests.unit.test_docs import TYPES

UNITS, SENTENCES, SAMPLED = 60, 4_000, 1_500
COLUMNS = ("layer", "unit", "pole", "family")


def correlated(seed: int, sentences: int = SENTENCES) -> np.ndarray:
    """Activations of units that share a few causes, so that outer units come together in some sentences."""
    rng = np.random.default_rng(seed)
    shared = rng.standard_t(4, (sentences, 5)) @ rng.normal(size=(5, UNITS))
    return np.asarray(shared + rng.normal(size=(sentences, UNITS)), np.float32)


@pytest.fixture(scope="module")
def values() -> np.ndarray:
    return correlated(0)


@pytest.fixture(scope="module")
def sampled() -> np.ndarray:
    return np.sort(np.random.default_rng(1).choice(SENTENCES, SAMPLED, replace=False))


LENGTHS = np.random.default_rng(2).integers(5, 30, SENTENCES)


def test_the_tail_among_sentences_of_its_length_is_counted(values: np.ndarray, sampled: np.ndarray) -> None:
    corpus = made_corpus(values, LENGTHS, sampled, widths=(20, 40))
    own = [int(sampled[5]), int(sampled[90]), -1]
    asked = np.concatenate([values[own[:2]], correlated(9, 1)])
    lengths = [int(LENGTHS[own[0]]), int(LENGTHS[own[1]]), 2]
    found = measure(corpus, asked, lengths, own)
    for text in (0, 1):
        reference = values[sampled[corpus.sample.nearest(lengths[text], own[text])]]
        assert not (reference == asked[text]).all(1).any(), "a sentence is not its own reference"
        up, down = (reference >= asked[text]).sum(0), (reference <= asked[text]).sum(0)
        assert np.allclose(found.tail_like[text], signed_tails(up, down, len(reference)))
    assert np.isnan(found.tail_like[2]).all(), "no sentence of the corpus is that short"
    assert found.wholes[2]["reference"] == 0
    assert np.allclose(found.z, (asked - values.mean(0)) / values.std(0), atol=1e-4)


def test_a_text_as_a_whole_is_compared_with_sentences_that_are_treated_alike(
    values: np.ndarray, sampled: np.ndarray
) -> None:
    corpus = made_corpus(values, LENGTHS, sampled)
    own = sampled[:40].tolist()
    found = measure(corpus, values[own], LENGTHS[own].tolist(), own)
    exact = brute_tails(values, values[own], np.ones(40, bool))
    outers = [whole["outer"] for whole in found.wholes]
    assert outers == pytest.approx((np.abs(exact) <= OUTER).sum(1).tolist(), abs=1)
    assert corpus.outers[:40].tolist() == pytest.approx(outers, abs=2)


@pytest.mark.parametrize("seed", [3, 4])
def test_of_sentences_outside_the_sample_one_in_twenty_is_unusual(
    values: np.ndarray, sampled: np.ndarray, seed: int
) -> None:
    corpus = made_corpus(values, LENGTHS, sampled)
    rest = np.setdiff1d(np.arange(SENTENCES), sampled)
    own = np.sort(np.random.default_rng(seed).choice(rest, 500, replace=False)).tolist()
    found = measure(corpus, values[own], LENGTHS[own].tolist(), own)
    wholes = [whole for whole in found.wholes if whole["reference"]]
    assert len(wholes) > 400
    share = np.mean([whole["outer"] > whole["outer_q95"] for whole in wholes])
    assert 0.02 <= share <= 0.09


def test_numbers_of_a_whole_for_json(values: np.ndarray, sampled: np.ndarray) -> None:
    corpus = made_corpus(values, LENGTHS, sampled)
    loud, lonely = measure(corpus, values[:2] * 9, [12, 2], [-1, -1]).wholes
    assert loud["reference"] == int(((LENGTHS[sampled] >= 9) & (LENGTHS[sampled] <= 15)).sum())
    assert loud["outer"] > loud["outer_q95"] >= loud["outer_q50"] >= loud["outer_q05"]
    assert loud["share_with_more"] == 0
    assert (loud["fewest_tokens"], loud["most_tokens"]) == (9, 15)
    assert lonely["reference"] == 0
    assert {lonely[name] for name in ("outer_q50", "share_with_more", "fewest_tokens")} == {None}


def test_what_texts_have_in_common_exceeds_what_draws_have(values: np.ndarray, sampled: np.ndarray) -> None:
    corpus = made_corpus(values, LENGTHS, sampled)
    asked = correlated(5, 7)
    far = values.std(0) * 6
    asked[:5, 3] = values[:, 3].mean() + far[3]
    asked[[0, 2, 4, 6], 8] = values[:, 8].mean() - far[8]
    asked[:3, 11] = values[:, 11].mean() + far[11]
    asked[3:6, 11] = values[:, 11].mean() - far[11]
    common = Common(UNITS, 7)
    for part in (slice(0, 4), slice(4, 7)):
        measure(corpus, asked[part], [12] * len(asked[part]), [-1] * len(asked[part]), common)
    found = common.units()
    assert {(3, "top", 5), (8, "bottom", 4)} <= set(found)
    assert 11 not in [unit for unit, _, _ in found], "half of them at one end, half at the other"
    draws = common.of_draws()
    assert len(draws) == DRAWS
    assert draws.mean() < 0.5 < len(found)
    again = Common(UNITS, 7)
    measure(corpus, asked, [12] * 7, [-1] * 7, again)
    assert again.units() == found


def test_draws_are_counted_as_texts_are(values: np.ndarray, sampled: np.ndarray) -> None:
    """Where each text's reference is nothing but copies of one loud sentence, every draw shares its outer units."""
    loud = values.copy()
    loud[sampled] = values[int(np.abs(values).sum(1).argmax())]
    corpus = made_corpus(loud, LENGTHS, sampled[:400])
    common = Common(UNITS, 7)
    tails = corpus.distributions.tails_of_sentences(loud[sampled[:400]], slice(None)) / 90
    drawn = common.draw([np.arange(100), np.arange(300)])
    assert drawn.shape == (DRAWS, 2)
    assert drawn[:, 0].max() < 100 <= drawn[:, 1].max()
    common.add_draws(drawn, slice(0, UNITS), tails)
    common.add_texts(np.full((2, UNITS), 0.5))
    assert set(common.of_draws().tolist()) == {int(is_outer(tails[0]).sum())} != {0}
    common.add_texts(np.full((1, UNITS), 0.5))
    assert len(common.of_draws()) == 0, "a text without a reference"


def rows_of(
    tail: list[float], like: list[float], families: dict[int, int], most: int | None, z: list[float] | None = None
) -> list[dict[str, object]]:
    values = np.random.default_rng(0).normal(size=(300, len(tail))).astype(np.float32)
    corpus = made_corpus(values, np.full(300, 9), np.arange(300))
    shown, tails = np.array([tail]), np.array([like])
    measured = Measured(values[:1], np.array([z or tail]), shown, tails, np.arange(len(tail), dtype=np.int32)[None], [])
    rows = [{"layer": 1, "unit": u, "pole": p, "family": f} for u, f in families.items() for p in ("bottom", "top")]
    table = pa.Table.from_pylist(rows, pa.schema({n: pa.string() if n == "pole" else pa.int32() for n in COLUMNS}))
    tables: Any = MadeTables({"families": table})
    return unit_rows(replace(corpus, tables=tables, names={"families"}), measured, 0, np.arange(len(tail)), most)


def test_the_most_unusual_for_its_length_come_first_and_a_family_is_one_line() -> None:
    nan = np.nan
    rows = rows_of(
        [0.005, -0.001, 0.008, 0.02, nan, 0.004], [0.01, -0.01, 0.002, 0.01, nan, -0.5], {0: 4, 1: 4, 3: 4, 2: 1}, 9
    )
    assert [(row["unit"], row["pole"], row["alike"]) for row in rows] == [
        (2, "top", 0),
        (1, "bottom", 1),
        (5, "bottom", 0),
    ]
    assert rows[0] | {"activation": 0} == {
        "layer": 1, "unit": 2, "pole": "top", "activation": 0, "z": 0.008, "tail": 0.008, "tail_like": 0.002, "rank": 2,
        "alike": 0,
    }  # fmt: skip
    assert rows[2]["rank"] is None, "it would be among the highest winners, and is low for its length"
    assert [row["unit"] for row in rows_of([0.1, 0.2, 0.05], [nan] * 3, {0: 1, 2: 1}, None)] == [2, 0, 1]
    assert len(rows_of([0.1, 0.2, 0.05], [nan] * 3, {}, 2)) == 2


def test_of_units_with_the_same_tails_the_farthest_from_its_mean_is_first() -> None:
    rows = rows_of([0.1, 0.1, -0.1, 0.2], [0.2, 0.2, 0.2, 0.2], {}, None, [2.0, 3.0, -4.0, 9.0])
    assert [row["unit"] for row in rows] == [2, 1, 0, 3]


def test_units_without_a_tail_are_not_in_the_order() -> None:
    nan = np.nan
    assert [row["unit"] for row in rows_of([nan, 0.5, nan, -0.1], [nan] * 4, {}, None)] == [3, 1]
    assert is_outer(np.array([0.01, -0.01, 0.011, nan])).tolist() == [True, True, False, False]


def test_a_row_for_each_text_and_unit_with_nulls_for_what_is_not_known() -> None:
    values = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    corpus = made_corpus(values, np.full(50, 9), np.arange(50), widths=(1, 2))
    tail = np.array([[0.02, np.nan, -0.4], [1, -0.1, 0.3]])
    measured = Measured(
        values[:2],
        np.array([[1, np.nan, 2], [3, 4, 5.0]]),
        tail,
        tail / 2,
        np.array([[1, 0, 0], [0, 3, 0]], np.int32),
        [],
    )
    rows = response_rows(corpus, measured, ["a", "b"], 7).to_pylist()
    assert [(row["number"], row["text"], row["layer"], row["unit"]) for row in rows] == [
        (7, "a", 1, 0), (7, "a", 2, 0), (7, "a", 2, 1), (8, "b", 1, 0), (8, "b", 2, 0), (8, "b", 2, 1),
    ]  # fmt: skip
    assert [row["pole"] for row in rows] == ["top", None, "bottom", "top", "bottom", "top"]
    assert [row["rank"] for row in rows] == [1, None, None, None, 3, None]
    assert [row["tail"] for row in rows] == [
        np.float32(0.02),
        None,
        np.float32(0.4),
        1,
        np.float32(0.1),
        np.float32(0.3),
    ]
    assert [row["z"] for row in rows] == [1, None, 2, 3, 4, 5]
    assert rows[2]["tail_like"] == np.float32(0.2)
    assert rows[5]["activation"] == values[1, 2]


def test_its_columns_are_documented() -> None:
    section = (ROOT / "docs/tables.md").read_text(encoding="utf-8").split("## responses")[1].split("\n## ")[0]
    found = re.findall(r"^\| `(\w+)` \| `([^`]+)`( or null)? \|", section, re.MULTILINE)
    assert found == [(c.name, TYPES.get(c.type, str(c.type)), " or null" * c.nullable) for c in RESPONSES.columns]
