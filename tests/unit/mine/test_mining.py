"""Winners of ranges of neurons, what is mined of them, and the tables that this makes."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from bench.mined_calibration import range_tables
from ops.mine.baseline_counts import BlockCounter, add_up, read_baselines
from ops.mine.candidates import least_supports, mine_candidates, of_kind, read_candidates, unite
from ops.mine.held_out_sets import SETS
from ops.mine.mining import Mining
from ops.mine.naive_bayes import evidence, learn
from ops.mine.properties import Profiler
from ops.mine.range_tables import RangeTables
from ops.mine.sentence_sets import SentenceSets
from ops.patterns.mined import COUNTS
from ops.patterns.sequences import Sequences
from ops.schema import schema
from ops.storage.store import Store
from ops.storage.tables import write_part
from ops.topk.neurons import POLES, Neurons, parts, set_number
from tests.unit.small_corpus import Sentence, open_corpus, random_sentences

NEURONS, K, SENTENCES = Neurons((200, 100)), 12, 60
OPTIONS: dict[str, Any] = {
    "engine": "compiled", "word_case": "keep", "punctuation": "drop", "word_min_support": 0.1, "word_max_length": 2,
    "word_max_gap": 1, "tag_min_support": 0.1, "tag_max_length": 2, "tag_max_gap": -1, "subtree_min_support": 0.1,
    "subtree_max_nodes": 3, "subtree_root": "keep", "min_count": 2, "productivity": 1.0, "max_patterns": 0,
    "no_scores": False, "units": [], "nuisance": [],
}  # fmt: skip
Drawn = dict[tuple[int, int], list[int]]


@pytest.fixture
def drawn(tmp_path: Path) -> Drawn:
    """Write topk/ and neurons/, and return the sentences' ids of each neuron and pole."""
    store, rng = Store(str(tmp_path)), np.random.default_rng(0)
    found = {
        (neuron, pole): (2 * rng.permutation(SENTENCES)[:K]).tolist()
        for neuron in range(len(NEURONS))
        for pole in range(len(POLES))
    }
    for part, first, stop in parts(len(NEURONS)):
        own = [
            (n, pole, rank, i) for (n, pole), ids in found.items() for rank, i in enumerate(ids) if first <= n < stop
        ]
        neuron, pole, rank, ids = (np.array(column) for column in zip(*own, strict=True))
        layer, unit = NEURONS.layer_and_unit(neuron)
        columns = [layer, unit, pa.array(POLES).take(pa.array(pole)), rank, np.zeros(len(own)), ids]
        table = pa.table([*map(pa.array, columns)], names=schema("topk").names).cast(schema("topk"))
        write_part(store, "topk", part, schema("topk"), [table], "f")
    write_silent(store, [])
    return found


def write_silent(store: Store, silent: list[int]) -> None:
    """Write the columns of neurons/ that say which neurons are silent."""
    layer, unit = NEURONS.layer_and_unit(np.arange(len(NEURONS)))
    columns = layer, unit, np.isin(np.arange(len(NEURONS)), silent)
    layout = pa.schema([schema("neurons").field(name) for name in ("layer", "unit", "is_silent")])
    write_part(store, "neurons", 0, layout, [pa.table([*map(pa.array, columns)], schema=layout)], "f")


def open_mining(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> Mining:
    sentences = open_corpus(tmp_path, monkeypatch, random_sentences(3, SENTENCES))
    return Mining(sentences, NEURONS, OPTIONS | options, 5)


def test_a_range_s_winners_come_from_every_part_that_has_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, drawn: Drawn
) -> None:
    mining = open_mining(tmp_path, monkeypatch)
    number, winners = mining.winners(Store(str(tmp_path)), 250, 260)
    expected = {set_number(n, pole): sorted(ids) for (n, pole), ids in drawn.items() if 250 <= n < 260}
    ids = [mining.sentences.sent_id[rows].tolist() for rows in winners.to_lists()]
    assert dict(zip(number.tolist(), ids, strict=True)) == expected
    assert number.tolist() == sorted(expected)


def tables_of(mining: Mining, store: Store, first: int, stop: int) -> dict[str, pa.Table]:
    """All tables of a range of the neurons that are mined, as if these were all."""
    number, winners = mining.winners(store, first, stop)
    candidates = mining.candidates(number, winners)
    found = range_tables(mining, candidates).of(candidates, number, winners)
    return {name: pa.concat_tables(groups) for name, groups in found}


def test_neurons_that_are_named_alone_have_the_rows_that_they_have_among_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, drawn: Drawn
) -> None:
    store, names = Store(str(tmp_path)), ("1:199", "2:56", "2:57")  # of both parts of topk/
    every = tables_of(open_mining(tmp_path, monkeypatch), store, 199, 258)
    alone = tables_of(open_mining(tmp_path, monkeypatch, units=list(names)), store, 0, len(names))
    assert every.keys() == alone.keys() == {"patterns", "profiles", "means", "scores"}
    for name, table in every.items():
        pairs = zip(table["layer"].to_pylist(), table["unit"].to_pylist(), strict=True)
        own = [f"{layer}:{unit}" in names for layer, unit in pairs]
        assert table.filter(pa.array(own)).equals(alone[name]), name
        assert alone[name].num_rows >= len(names) * len(POLES)


def test_a_range_without_a_winner_has_empty_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(str(tmp_path))
    write_part(store, "topk", 0, schema("topk"), [], "f")
    write_part(store, "topk", 1, schema("topk"), [], "f")
    mining = open_mining(tmp_path, monkeypatch)
    number, winners = mining.winners(store, 0, 30)
    candidates = mining.candidates(number, winners)
    tables = dict(range_tables(mining, candidates).of(candidates, number, winners))
    assert tables.keys() == {"patterns", "profiles", "means", "scores"}
    assert [list(groups) for groups in tables.values()] == [[]] * 4


def test_each_part_of_a_set_has_the_patterns_that_it_has_when_it_is_mined_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, drawn: Drawn
) -> None:
    """One pass serves the winners and both halves of each set, and a half learns nothing from the other."""
    mining = open_mining(tmp_path, monkeypatch, min_count=1, word_min_support=0.3, tag_min_support=0.4)
    number, winners = mining.winners(Store(str(tmp_path)), 0, 20)
    candidates, sets = mining.candidates(number, winners), mining.winner_sets(number, winners)
    assert mining.held_out is not None
    drawn_sets = mining.held_out.draw(number, winners)
    parts: list[tuple[SentenceSets, int | None]] = [(sets, None)]
    for half in (0, 1):
        of_half = mining.drawn_sets(number, drawn_sets.where(mining.half[drawn_sets.items] == half))
        assert set(mining.sentences.fold[of_half.rows] >= 5) == {half == 1}
        parts.append((of_half, half))
    for kind in mining.kinds.values():
        found = []
        for some, half in parts:
            alone = mine_candidates(some, [kind], 1)
            least = least_supports(kind.min_support, some.sizes, 1)
            ours, theirs = (
                read_candidates(of_kind(table, kind.name, some.number), some.number).frequent(least, of)
                for table, of in ((candidates, half), (alone, None))
            )
            patterns = [own.patterns.take(own.sets.items).to_lists() for own in (ours, theirs)]
            assert patterns[0] == patterns[1]
            assert ours.sets.offsets.tolist() == theirs.sets.offsets.tolist()
            names = ["support", "marked"] if half is not None else list(COUNTS.names or ())
            for name in names:
                assert ours.counts[name].tolist() == theirs.counts[name].tolist()
            found.append(patterns[0])
        assert found[1] != found[2]


def test_scores_are_learned_from_one_half_of_the_documents_and_tested_on_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, drawn: Drawn
) -> None:
    """The areas are computed again from the evidence of separate halves, pair by pair."""
    mining, store = open_mining(tmp_path, monkeypatch), Store(str(tmp_path))
    scores = tables_of(mining, store, 0, 8)["scores"].to_pylist()
    number, winners = mining.winners(store, 0, 8)
    assert mining.held_out is not None
    sets, kinds, floor = mining.held_out.draw(number, winners), mining.kinds, OPTIONS["min_count"]
    profiler, baseline = Profiler(mining.text), np.flatnonzero(mining.sentences.baseline)
    length, dataset = mining.sentences.lengths(np.arange(SENTENCES)), mining.sentences.dataset
    sums = np.zeros((len(sets), 4))  # area times winners, winners compared, winners, others
    for half in (0, 1):
        learned = mining.drawn_sets(number, sets.where(mining.half[sets.items] != half))
        candidates = mine_candidates(learned, kinds.values(), floor)
        union = unite([candidates])
        counted = BlockCounter(union, kinds, profiler).count([baseline[mining.half[baseline] != half], baseline[:0]])
        known = read_baselines(union, kinds, profiler, add_up([counted]))[0]
        features = learn(candidates, kinds, known, learned, profiler, floor)
        rows = np.arange(SENTENCES)
        every = Sequences.from_lists([rows.tolist()] * len(sets))
        of_rows = evidence(features, 0, rows, every).reshape(len(sets), SENTENCES)
        for place, own in enumerate(sets.to_lists()):
            tested, weight, compared = [row for row in own if mining.half[row] == half], np.zeros(SENTENCES), []
            for row in tested:
                others = [r for r in baseline if mining.half[r] == half and dataset[r] == dataset[row] and r not in own]
                for width in (1, 2, 4, 8, 16, 1 << 30):
                    if like := [r for r in others if length[r] // width == length[row] // width]:
                        weight[like] += 1 / len(like)
                        compared.append(row)
                        break
            pairs = of_rows[place, compared][:, None] - of_rows[place]
            area = ((pairs > 0) + 0.5 * (pairs == 0)) @ weight
            sums[place] += area.sum() / len(compared), len(compared), len(tested), np.count_nonzero(weight)
    areas = sums[:, 0] / sums[:, 1]
    names = ("auc", "matched_auc", "random_auc")
    assert np.array([[row[name] for name in names] for row in scores]) == pytest.approx(areas.reshape(-1, 3), abs=1e-6)
    counts = [(row["n_winners"], row["n_baseline"]) for row in scores]
    assert counts == [tuple(own) for own in sums[::3, 2:].astype(int).tolist()]
    assert {n for n, _ in counts} == {K}


def test_labels_are_evidence_unless_they_are_nuisance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, drawn: Drawn
) -> None:
    def scores(folder: str, sentences: list[Sentence], nuisance: list[str]) -> list[dict[str, Any]]:
        corpus = open_corpus(tmp_path / folder, monkeypatch, sentences)
        mining = Mining(corpus, NEURONS, OPTIONS | {"nuisance": nuisance}, 5)
        return tables_of(mining, Store(str(tmp_path)), 0, 8)["scores"].to_pylist()

    labelled = random_sentences(3, SENTENCES)
    without = scores("without", [replace(sentence, meta={}) for sentence in labelled], [])
    keys = sorted({key for sentence in labelled for key in sentence.meta})
    assert scores("nuisance", labelled, keys) == without
    assert scores("labels", labelled, keys[1:]) != without


@pytest.mark.parametrize("no_scores", [False, True])
def test_all_sets_are_mined_and_every_row_has_its_neuron(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, drawn: Drawn, no_scores: bool
) -> None:
    mining = open_mining(tmp_path, monkeypatch, no_scores=no_scores)
    number, winners = mining.winners(Store(str(tmp_path)), 198, 202)
    candidates = mining.candidates(number, winners)
    of_set = candidates["set"].to_numpy()
    assert set(of_set // len(SETS)) == set(number.tolist())
    assert set(of_set % len(SETS)) == (set(range(1)) if no_scores else set(range(len(SETS))))

    union = unite([candidates])
    counter = BlockCounter(union, mining.kinds, Profiler(mining.text))
    blocks = [mining.baseline_rows(first, first + 20) for first in range(0, SENTENCES, 20)]
    assert sorted(np.concatenate([*map(np.concatenate, blocks)])) == np.flatnonzero(mining.sentences.baseline).tolist()
    tables = RangeTables(mining, union, add_up(map(counter.count, blocks)))
    found = {name: list(groups) for name, groups in tables.of(candidates, number, winners)}
    assert list(found) == ["patterns", "profiles", "means", *([] if no_scores else ["scores"])]
    for name, groups in found.items():
        rows = pa.concat_tables(groups)
        assert rows.schema.names == schema(name).names
        keys = zip(rows["layer"].to_pylist(), rows["unit"].to_pylist(), rows["pole"].to_pylist(), strict=True)
        assert set(keys) == {(*place, pole) for place in ((1, 198), (1, 199), (2, 0), (2, 1)) for pole in POLES}


@pytest.mark.parametrize(("units", "mined"), [([], len(NEURONS)), (["2:0", "2:1"], 2)])
def test_beyond_the_last_neuron_are_random_sets_like_its_winners(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, drawn: Drawn, units: list[str], mined: int
) -> None:
    """They are numbered after all neurons, also where only some are mined."""
    mining, store = open_mining(tmp_path, monkeypatch, units=units), Store(str(tmp_path))
    first = len(NEURONS)
    number, sets = mining.winners(store, mined, mined + 3)
    assert number.tolist() == [set_number(n, pole) for n in range(first, first + 3) for pole in range(len(POLES))]
    assert mining.are_random(number)
    assert not mining.are_random(mining.winners(store, 0, 2)[0])
    assert set(sets.lengths.tolist()) <= {len(ids) for ids in drawn.values()}
    assert mining.sentences.baseline[sets.items].all()
    assert mining.winners(store, mined, mined + 3)[1].to_lists() == sets.to_lists()
    assert len({tuple(own) for own in sets.to_lists()}) == len(sets) == 6
    # They are mined as winners, and nothing is held out of them.
    candidates = mining.candidates(number, sets)
    assert set(candidates["set"].to_pylist()) <= set((len(SETS) * number).tolist())


def test_random_sets_are_like_the_winners_of_neurons_that_have_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, only = Store(str(tmp_path)), 250
    layer, unit = (int(own[0]) for own in NEURONS.layer_and_unit(np.array([only])))
    columns = [[layer] * K, [unit] * K, ["top"] * K, range(K), [1.0] * K, range(0, 2 * K, 2)]
    table = pa.table([*map(pa.array, columns)], names=schema("topk").names).cast(schema("topk"))
    write_part(store, "topk", 0, schema("topk"), [table], "f")
    write_silent(store, [number for number in range(len(NEURONS)) if number != only])
    _, sets = open_mining(tmp_path, monkeypatch).winners(store, len(NEURONS), len(NEURONS) + 2)
    assert sets.lengths.tolist() == [K] * 4
