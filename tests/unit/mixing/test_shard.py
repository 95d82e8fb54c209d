from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pytest
import torch

from ops.mixing.decomposition import quantities
from ops.mixing.shard import CLASS, LENGTH, MixingResult, MixingScorer, measure_shard
from ops.mixing.tables import merge, mixing_tables, token_rows
from ops.mixing.token_classes import CLASSES, TokenClasses
from ops.model.load import read_facts
from ops.model.tokenizer import Tokenizer, Tokens
from ops.schema import TABLES, schema
from ops.storage.arrays import named_arrays, write_arrays

NAMES = quantities(True)
LAYERS = 2


@pytest.fixture(scope="module")
def folder(make_model: Callable[..., Path], small_bert: object) -> Path:
    return make_model(small_bert)


@pytest.fixture(scope="module")
def tokenizer(folder: Path) -> Tokenizer:
    return Tokenizer(read_facts(str(folder)))


@pytest.fixture(scope="module")
def scorer(folder: Path, tokenizer: Tokenizer) -> MixingScorer:
    return MixingScorer(read_facts(str(folder)), "cpu", "float32", 1, tokenizer.pad_id)


@pytest.fixture(scope="module")
def sentences(tokenizer: Tokenizer) -> list[Tokens]:
    """Sentences of one token, of some, of 2,000 (cut at the model's 40), and of unknown ones only; a bird is masked."""
    texts = ["Yes", "A cat, a dog and a bird ran.", "word " * 2000, "\u2603 \u2603", "It rained , again ."]
    tokens = tokenizer.encode(texts)
    tokens[1].ids[8] = tokenizer.mask_id
    return tokens


def measure(scorer: MixingScorer, tokenizer: Tokenizer, batches: list[list[Tokens]], start: int = 0) -> MixingResult:
    numbers = np.cumsum([start, *(len(b) for b in batches)])
    numbered = ((np.arange(n, n + len(b)), b) for n, b in zip(numbers, batches, strict=False))
    return measure_shard(scorer, TokenClasses(tokenizer), numbered, keep=True)


def test_moments_are_those_of_the_tokens(scorer: MixingScorer, tokenizer: Tokenizer, sentences: list[Tokens]) -> None:
    result = measure(scorer, tokenizer, [sentences[:3], sentences[3:]])
    assert (result.scored, result.truncated, result.unscored, result.masked) == (5, 1, [], 1)
    assert tokenizer.decode(sentences[3].ids[1:-1]) == ["[UNK]", "[UNK]"]
    lengths = [len(t.ids) for t in sentences]
    assert lengths[0] == 3
    assert lengths[2] == 40
    assert result.tokens == sum(lengths)
    alone = [scorer.measure([t])[0].flatten(1).double() for t in sentences]
    values = torch.cat(alone)
    classes, by_length = result.moments[CLASS], result.moments[LENGTH]
    whole = classes.joined()
    np.testing.assert_allclose(whole.mean[0], values.mean(0), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(whole.std[0], values.std(0, correction=0), rtol=1e-3, atol=1e-5)
    strings = [tokenizer.decode(t.ids) for t in sentences]
    for name, wanted in {"cls": ("[CLS]",), "sep": ("[SEP]",), "mask": ("[MASK]",), "punct": (".", ",")}.items():
        rows = torch.tensor([s in wanted for row in strings for s in row])
        place = classes.ids.tolist().index(CLASSES.index(name))
        assert classes.count[place] == int(rows.sum()) > 0
        np.testing.assert_allclose(classes.mean[place], values[rows].mean(0), rtol=1e-4, atol=1e-6)
    assert whole.count[0] == by_length.count.sum() == result.tokens
    assert (by_length.ids[-1], by_length.count[-1]) == (40, 40)
    np.testing.assert_allclose(by_length.mean[-1], alone[2].mean(0), rtol=1e-4, atol=1e-6)


def test_a_sentence_with_a_value_that_is_not_finite_is_left_out_whole(
    make_model: Callable[..., Path], small_bert: object, tokenizer: Tokenizer, sentences: list[Tokens]
) -> None:
    def break_word(model: torch.nn.Module) -> None:
        # Finite weights, whose differences overflow.
        weight: Any = model.embeddings.word_embeddings.weight  # type: ignore[union-attr]
        weight[sentences[0].ids[1], ::2], weight[sentences[0].ids[1], 1::2] = 3e38, -3e38

    scorer = MixingScorer(
        read_facts(str(make_model(small_bert, change=break_word))), "cpu", "float32", 1, tokenizer.pad_id
    )
    result = measure(scorer, tokenizer, [sentences], start=10)
    others = measure(scorer, tokenizer, [sentences[1:]], start=11)
    assert result.unscored == [10]
    assert result.scored == 4
    assert sorted(result.kept) == [11, 12, 13, 14]
    for group, moments in others.moments.items():
        assert np.array_equal(result.moments[group].count, moments.count)
        np.testing.assert_allclose(result.moments[group].mean, moments.mean, rtol=1e-4, atol=1e-6)


def test_on_a_gpu_values_are_reduced_beside_the_batches_to_the_same_numbers(
    scorer: MixingScorer, tokenizer: Tokenizer, sentences: list[Tokens], monkeypatch: pytest.MonkeyPatch
) -> None:
    batches = [sentences[:2], sentences[2:3], sentences[3:]]
    expected = measure(scorer, tokenizer, batches)
    monkeypatch.setattr(scorer, "reduces_beside", True)
    result = measure(scorer, tokenizer, batches)
    assert (result.scored, result.tokens, result.masked) == (expected.scored, expected.tokens, expected.masked)
    assert result.moments.keys() == expected.moments.keys()
    for group, moments in expected.moments.items():
        np.testing.assert_array_equal(result.moments[group].mean, moments.mean)
        np.testing.assert_array_equal(result.moments[group].m2, moments.m2)
    assert sorted(result.kept) == sorted(expected.kept)
    monkeypatch.setattr(TokenClasses, "__call__", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        measure(scorer, tokenizer, batches)


def test_partials_merge_to_the_tables(scorer: MixingScorer, tokenizer: Tokenizer, sentences: list[Tokens]) -> None:
    results = [measure(scorer, tokenizer, [sentences[:2]]), measure(scorer, tokenizer, [sentences[2:]], 2)]
    totals = merge(write_arrays(**named_arrays(result.moments)) for result in results)
    classes = totals[CLASS]
    assert classes.count[classes.ids.tolist().index(CLASSES.index("punct"))] == 4
    merged = results[0].moments[CLASS].merge(results[1].moments[CLASS])
    assert np.array_equal(classes.mean, merged.mean)
    assert np.array_equal(classes.m2, merged.m2)
    mean, std = classes.joined().mean[0], classes.joined().std[0]
    tables = mixing_tables(totals, LAYERS, NAMES)
    for name, table in tables.items():
        assert table.schema.equals(schema(name))
        assert table.equals(table.sort_by([(c, "ascending") for c in TABLES[name].order])), "sorted"
        assert len(set(zip(*(table[c].to_pylist() for c in TABLES[name].order), strict=True))) == table.num_rows
    ratios = {(r["layer"], r["stage"], r["token_class"]): r for r in tables["mixing/ratios"].to_pylist()}
    assert len(ratios) == LAYERS * 3 * 6
    place = 7 + NAMES.index("attn_res_ln")
    assert ratios[2, "attn_res_ln", "all"]["mean"] == pytest.approx(mean[place])
    assert ratios[2, "attn_res_ln", "all"]["std"] == pytest.approx(std[place])
    norms = {(r["layer"], r["quantity"], r["token_class"]): r for r in tables["mixing/norms"].to_pylist()}
    assert norms[1, "residual", "all"]["mean"] == pytest.approx(mean[NAMES.index("residual")])


def test_the_rows_of_every_token(
    tmp_path: Path, scorer: MixingScorer, tokenizer: Tokenizer, sentences: list[Tokens]
) -> None:
    result = measure(scorer, tokenizer, [sentences[3:], sentences[:3]])
    (table,) = token_rows(result, LAYERS, TokenClasses(tokenizer).strings)
    assert table.schema.equals(schema("mixing/tokens"))
    assert table.equals(table.sort_by([(c, "ascending") for c in TABLES["mixing/tokens"].order]))
    assert table.num_rows == LAYERS * sum(len(t.ids) for t in sentences)
    own = table.filter(pc.equal(table["sent_id"], 3))
    alone = scorer.measure([sentences[1]])[0]
    assert own["token"].to_pylist()[::LAYERS] == tokenizer.decode(sentences[1].ids)
    for stage, name in enumerate(("attn", "attn_res", "attn_res_ln")):
        np.testing.assert_allclose(own[name].to_numpy(), alone[..., stage].flatten(), rtol=1e-4, atol=1e-6)


def test_a_shard_without_a_finite_value_adds_nothing(
    scorer: MixingScorer, tokenizer: Tokenizer, sentences: list[Tokens]
) -> None:
    results = [MixingResult(unscored=[7]), measure(scorer, tokenizer, [sentences[:2]])]
    totals = merge(write_arrays(**named_arrays(result.moments)) for result in results)
    assert totals.keys() == results[1].moments.keys()
    assert list(token_rows(results[0], LAYERS, [])) == []
    assert mixing_tables({}, LAYERS, NAMES)["mixing/ratios"].num_rows == 0
