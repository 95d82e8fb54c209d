"""Estimates compared with the complete computation."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.errors import InputError
from ops.estimate import source_sample, timed_batches
from ops.estimate.source_sample import SourceSample, check_samples, sample_source, sampled_sentences
from ops.estimate.timed_batches import Sentences, seconds_of_a_sentence, spread
from ops.model.tokenizer import Tokenizer, Tokens
from ops.sampling import expected_selected
from ops.sources.pieces import pieces
from ops.sources.spec import parse_source


class WordTokenizer:
    """A token a word, one added at either end."""

    unknown_id = None

    def encode(self, texts: list[str]) -> list[Tokens]:
        counts = [len(text.split()) for text in texts]
        return [Tokens([0, *range(1, n + 1), 0], [1, *[0] * n, 1], False) for n in counts]


TOKENIZER = cast(Tokenizer, WordTokenizer())


@given(st.integers(0, 300))
def test_spread_names_every_number_once_and_any_beginning_is_spread(count: int) -> None:
    assert sorted(spread(count)) == list(range(count))
    for taken in (4, count // 2, count):
        gaps = np.diff(sorted([-1, *spread(count)[: max(taken, 4)], count]))
        assert count < 4 or gaps.max() <= 2 * count / max(taken, 4) + 1


@pytest.mark.parametrize("draws", [[(100, 1), (50, 30)], [(1_000, 1)], [(10, 1)], []])
def test_expected_selected_is_what_random_draws_give(draws: list[tuple[int, int]]) -> None:
    rng = np.random.default_rng(0)
    found = {int(i) for size, times in draws for _ in range(times) for i in rng.choice(1_000, size, replace=False)}
    assert expected_selected(1_000, draws) == pytest.approx(len(found), rel=0.05)
    assert expected_selected(0, draws) == 0


class Clock:
    """A clock that advances only while work is done."""

    now = 0.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(timed_batches, "time", made)
    return made


def test_some_batches_stand_for_all(clock: Clock) -> None:
    rng = np.random.default_rng(0)
    texts = [" ".join("w" * n) for n in rng.integers(1, 60, 3_000)]
    sample = Sentences(np.arange(3_000), texts, np.array([len(t.split()) + 2 for t in texts]))
    lengths: list[int] = []

    def read(tokens: Sequence[Tokens]) -> None:
        """Do what takes a second for 1,000 places of a batch."""
        clock.now += len(tokens) * max(len(t.ids) for t in tokens) / 1_000
        lengths.extend(len(t.ids) for t in tokens)

    some = seconds_of_a_sentence(sample, TOKENIZER, 256, read, 5.0)
    assert clock.now == pytest.approx(5.0, rel=0.1)
    assert 0 < len(lengths) < 1_000
    lengths.clear()
    clock.now = 0.0
    whole = seconds_of_a_sentence(sample, TOKENIZER, 256, read, 1e9)
    assert sorted(lengths) == sorted(sample.n_tokens.tolist())
    assert whole * 3_000 == pytest.approx(clock.now)
    assert some == pytest.approx(whole, rel=0.05)


def lines(folder: Path, names: list[str], each: int) -> str:
    for number, name in enumerate(names):
        texts = [f"File {number} has a line that is numbered {i % 50} here." for i in range(each)]
        (folder / name).write_text("".join(json.dumps({"text": t}) + "\n" for t in [*texts, "no"]))
    return str(folder / "*.jsonl")


def test_a_small_source_is_read_whole(tmp_path: Path) -> None:
    source = parse_source(lines(tmp_path, ["a.jsonl", "b.jsonl"], 100))
    sample = sample_source(pieces(source), TOKENIZER, None, 100.0)
    assert sample.whole
    assert (sample.rows, sample.sentences, sample.rejects, len(sample.hashes)) == (202, 200, 2, 100)
    assert sample.reasons == {"too_short": 2}
    assert sum(table.num_rows for table in sample.tables) == 200


def test_the_beginnings_of_some_pieces_stand_for_the_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_sample, "MOST_ROWS", 60)
    source = parse_source(lines(tmp_path, [f"{i}.jsonl" for i in range(9)], 400))
    sample = sample_source(pieces(source), TOKENIZER, None, 100.0)
    assert sample.rows == 60 * source_sample.MOST_PIECES
    assert sample.sentences / (sample.share or 1.0) == pytest.approx(3_600, rel=0.05)
    assert not sample.whole


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_further_pieces_are_read_if_those_that_were_chosen_have_no_sentence(tmp_path: Path, text: str) -> None:
    for number in range(20):
        rows = "" if number % 2 else "This file has a line.\n"
        (tmp_path / f"{number:02}.txt").write_text(rows)
    chosen = spread(20)[: source_sample.MOST_PIECES]
    for number in chosen:
        (tmp_path / f"{number:02}.txt").write_text(text)
    sample = sample_source(pieces(parse_source(str(tmp_path / "*.txt"))), TOKENIZER, None, 100.0)
    assert sample.sentences > 0
    assert sampled_sentences([sample, SourceSample()]).texts == ["This file has a line."] * sample.sentences


def test_where_no_usable_sentence_was_read_nothing_is_estimated() -> None:
    with pytest.raises(InputError, match=r"^--corpus a b: the first 5 rows have no usable sentence"):
        check_samples(["a", "b"], [SourceSample(0.1, rows=3), SourceSample(0.2, rows=2)])
    check_samples(["a", "b"], [SourceSample(0.1, rows=3, sentences=1), SourceSample(0.2, rows=2)])


def test_a_source_of_no_known_length_says_so_and_a_broken_one_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_sample, "piece_extent", lambda piece: None)
    source = parse_source(lines(tmp_path, ["a.jsonl"], 100))
    sample = sample_source(pieces(source), TOKENIZER, None, 100.0)
    assert sample.share is None
    assert sample.share is None
    (tmp_path / "a.jsonl").write_text('{"text": "A line that is whole."}\n{"text": "half a li\n')
    with pytest.raises(InputError, match=r"a\.jsonl: line 2"):
        sample_source(pieces(parse_source(str(tmp_path / "a.jsonl"))), TOKENIZER, None, 100.0)
