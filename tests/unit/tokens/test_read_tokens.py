"""Each winner's neuron at each token is what the model gives for its sentence alone, at every site and pooling."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch

from ops.model.activations import ScoreOptions, Scorer
from ops.model.load import ModelFacts, read_facts
from ops.model.pooling import POOLS
from ops.model.tokenizer import PlacedTokens, Tokenizer
from ops.sentences.word_spans import word_spans, words_of_tokens
from ops.tokens.pieces import Piece, piece_rows
from ops.tokens.range_tables import token_rows
from ops.tokens.read_tokens import beyond, read_tokens
from ops.tokens.winners import SCHEMA, Winners, place_winners
from ops.topk.neurons import POLES, Neurons

TEXTS = ["The old cat sat.", "A man!", "😀 café", "It rained and rained, and so on, until the river rose " * 4]


@pytest.fixture(scope="module")
def facts(make_model: Callable[..., Path], small_bert: Any) -> ModelFacts:
    return read_facts(str(make_model(small_bert)))


@pytest.fixture(scope="module")
def placed(facts: ModelFacts) -> list[PlacedTokens]:
    return Tokenizer(facts).encode_with_spans(TEXTS)


def make_winners(widths: tuple[int, ...], activation: np.ndarray) -> tuple[pa.Table, Winners]:
    """Four winners of every sentence, of neurons of both layers, in no order of layers."""
    rng = np.random.default_rng(1)
    rows = []
    for sentence in range(len(TEXTS)):
        for number in sorted(rng.choice(2 * sum(widths), 4, replace=False).tolist()):
            rows.append(
                (10 * sentence, number, len(rows) % 5 == 0, 1 + len(rows) % 3, float(activation[sentence, number // 2]))
            )
    wanted = pa.table([pa.array(c) for c in zip(*rows, strict=True)], names=SCHEMA.names).cast(SCHEMA)
    return wanted, place_winners(wanted, np.arange(len(TEXTS)) * 10, Neurons(widths))


@pytest.mark.parametrize(
    ("site", "pool", "special"),
    [
        *(("hidden", pool, "include") for pool in POOLS),
        *(("mlp", "mean", "exclude"), ("hidden", "max", "exclude"), ("attention", "max", "include")),
    ],
)
def test_tokens_and_their_pool(
    facts: ModelFacts, placed: list[PlacedTokens], site: str, pool: str, special: str
) -> None:
    scorer = Scorer(facts, ScoreOptions(site, pool, special))
    alone = [torch.cat(scorer.score([p.tokens]), 1)[0].numpy() for p in placed]
    wanted, winners = make_winners(scorer.widths(), np.array(alone))
    spans = [word_spans(text, text.split()) for text in TEXTS]
    words = [words_of_tokens(p.spans, s) for p, s in zip(placed, spans, strict=True)]
    found = read_tokens(scorer, winners, placed, words, budget=60)
    for i, (sentence, layer, unit) in enumerate(zip(winners.sentence, winners.layer, winners.unit, strict=True)):
        states = scorer.read_tokens([placed[sentence].tokens], [lambda s: s.clone()] * 2)[layer - 1][0, :, unit].numpy()
        own = found.values[found.offsets[i] : found.offsets[i + 1]]
        np.testing.assert_allclose(own, states, atol=1e-5)
        at_words = np.where(words[sentence] >= 0, winners.sign[i] * own, -np.inf)
        assert found.peak[i] == words[sentence][at_words.argmax()]
    assert len(found.difference) == len(wanted)
    assert found.difference.max() < 1e-5
    assert not beyond(found.difference, winners.activation).any()
    wrong = winners._replace(activation=winners.activation + 1)
    assert beyond(read_tokens(scorer, wrong, placed, words, 60).difference, wrong.activation).all()


def test_the_peak_is_at_a_token_that_counts(facts: ModelFacts, placed: list[PlacedTokens]) -> None:
    scorer = Scorer(facts, ScoreOptions(special_tokens="exclude"))
    scorer.leaves_first = True
    beginning = [p._replace(tokens=p.tokens._replace(added=[0, *p.tokens.added[1:]])) for p in placed]
    words = [np.arange(len(p.strings), dtype=np.int32) for p in beginning]
    _, winners = make_winners(scorer.widths(), np.zeros((len(TEXTS), 24)))
    found = read_tokens(scorer, winners, beginning, words, 100)
    for i, sentence in enumerate(winners.sentence):
        own = winners.sign[i] * found.values[found.offsets[i] : found.offsets[i + 1]]
        counted = np.array(beginning[sentence].tokens.added) == 0
        counted[0] = False
        assert found.peak[i] == np.where(counted, own, -np.inf).argmax()


def test_batches_of_equal_length_give_the_same(facts: ModelFacts, placed: list[PlacedTokens]) -> None:
    scorer = Scorer(facts, ScoreOptions())
    _, winners = make_winners(scorer.widths(), np.zeros((len(TEXTS), 24)))
    words = [np.full(len(p.strings), -1, np.int32) for p in placed]
    found, other = (read_tokens(scorer, winners, placed, words, 100, is_equal) for is_equal in (False, True))
    np.testing.assert_allclose(found.values, other.values, atol=1e-5)
    assert set(found.peak.tolist()) == {-1}


def test_the_rows_are_the_winners_by_neuron(facts: ModelFacts, placed: list[PlacedTokens]) -> None:
    scorer = Scorer(facts, ScoreOptions())
    neurons = Neurons(scorer.widths())
    wanted, winners = make_winners(scorer.widths(), np.zeros((len(TEXTS), 24)))
    own = [text.split() for text in TEXTS]
    words = [words_of_tokens(p.spans, word_spans(text, w)) for p, text, w in zip(placed, TEXTS, own, strict=True)]
    found = read_tokens(scorer, winners, placed, words, 100)
    of = {"dataset": ["d"] * len(TEXTS), "doc_id": [f"{i // 2}" for i in range(len(TEXTS))]}
    sentences = pa.table({**of, "words": own, "tags": [None, ["DT", "NN"], None, None]})
    rows = piece_rows(Piece(wanted, sentences, placed, words), winners, found)
    keys = list(zip(*(rows[name].to_pylist() for name in ("set", "is_negative", "rank")), strict=True))
    assert keys == sorted(keys)
    by_key = {(w["set"], w["sent_id"]): i for i, w in enumerate(wanted.to_pylist())}
    for row, published in zip(rows.to_pylist(), token_rows(rows, neurons).to_pylist(), strict=True):
        i = by_key[row["set"], row["sent_id"]]
        sentence = winners.sentence[i]
        assert published["activations"] == found.values[found.offsets[i] : found.offsets[i + 1]].tolist()
        assert published["tokens"] == placed[sentence].strings
        spans = list(zip(published["starts"], published["ends"], strict=True))
        assert [None if s[0] is None else s for s in spans] == placed[sentence].spans
        assert row["words"] == own[sentence]
        assert row["peak"] == found.peak[i]
        assert (published["layer"], published["unit"]) == (winners.layer[i], winners.unit[i])
        assert published["pole"] == POLES[row["set"] % 2]
