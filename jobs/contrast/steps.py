"""The stage `contrast`: texts and sentences are scored if needed, then units and probes are measured layer by layer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_array, issparse, vstack
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from jobs.contrast.job import ContrastConfig
from jobs.engine.item import Item
from jobs.engine.under_way import counting
from jobs.options.configs import flag_of
from jobs.run_folder.run import Run, RunReader
from jobs.stage.checks import check_heard, model_of_topk
from jobs.stage.dictionaries import ScorerArgs, block_of, dictionaries_of
from jobs.stage.model_time import model_step
from jobs.stage.other_run import RunPair
from jobs.stage.outputs import (
    Noted,
    Output,
    notes_of,
    partial_file,
    read_notes,
    read_partial,
    read_partials,
    whole_table,
)
from jobs.stage.placement import Placement, choose_placement, run_scoring
from jobs.stage.runner import Stage, begin_stage
from jobs.stage.scored import Scored, StageArgs
from jobs.stage.step import Made, Step, Steps
from ops import schema
from ops.arrays import Bools, Float32s, Int64s
from ops.compare.activation_vectors import common_rows, sampled_sentences
from ops.compare.scalar_properties import neuron_columns
from ops.compare.text_set import read_text_set, said_left_out
from ops.contrast.figures import contrast_figures
from ops.contrast.groups import (
    COLUMNS,
    Contrast,
    contrast_of_conditions,
    contrast_of_texts,
    contrasts_by_key,
    parse_condition,
)
from ops.contrast.permutations import Permutations, with_permuted_labels
from ops.contrast.probes import Scores, layer_probe, rotated_probes, unit_probes, word_probe
from ops.contrast.tables import LAYER, PERMUTED, RANDOM, ROTATED, UNITS, WORDS, control_rows, probe_rows, units_table
from ops.contrast.units import Matched, Separation, separation
from ops.corpus.read_shard import read_rows, read_shard
from ops.errors import InputError, counted
from ops.explain.rotation import rotated
from ops.explain.wording import percent
from ops.facts.contrasts import said_of_probes
from ops.figures.files import save_figures
from ops.model.batches import encode_batches
from ops.model.load import ModelFacts
from ops.model.names import RANDOM as RANDOM_WEIGHTS
from ops.model.names import original_name
from ops.model.tokenizer import Tokenizer
from ops.sampling import CONTRAST_SENTENCES, draw
from ops.shards import spans
from ops.sources.pieces import check_source, source_fingerprint
from ops.sources.source import Source
from ops.sources.spec import parse_source
from ops.storage.arrays import named_arrays, named_records, read_arrays, write_arrays
from ops.storage.store import Store
from ops.storage.tables import part_name
from ops.topk.activation_sample import read_layer
from ops.topk.neurons import Neurons
from ops.topk.score_shard import score_batches
from ops.topk.silent import read_silent

SENTENCES_PER_BLOCK = 500  # sentences of a group of texts in one item
UNIT_TABLE, PROBE_TABLE, CONTROL_TABLE = map(whole_table, ("contrast/units", "contrast/probes", "contrast/controls"))
TEXTS = ("a_texts", "b_texts")
SAME_OF_TOPK = ("site", "pool", "special_tokens", "dictionaries")
DEPENDS_ON = {"by", "a", "b", "text_column", "split", "text_limit", "sentences", "no_probes", "seed"}
OWN = "own"  # the run's model; RANDOM is that of --random-run
text_set_file = partial(partial_file, "contrast", "text_set")  # the sentences of a group of texts

Found = TypeVar("Found", Separation, Scores)
Layer = TypeVar("Layer", int, int | None)


def contrast(config: ContrastConfig, run: Run) -> None:
    """Run the stage, or the missing part of it, and print whether units do better than rotated axes and words."""
    check_groups(config)
    run.require("topk")
    check_heard(run)
    texts = {name: own_texts(name, getattr(config, name), config.text_column) for name in TEXTS if config.a_texts}
    pair = open_random_run(config.random_run, run) if config.random_run else None
    is_scored = bool(texts) or config.sentences is not None
    sentences = None if texts else read_sentences(config, run)
    known = 1 if sentences is None else len(contrasts_of(config, [sentences])[0])
    if pair is not None and not is_scored:
        common_sample(pair)
    depends_on: dict[str, Any] = config.model_dump(mode="json", include=DEPENDS_ON)
    depends_on |= {name: f"{s.kind}:{s.dataset}:{source_fingerprint(s)}" for name, s in texts.items()}
    if pair is not None:
        depends_on["random_run"] = pair.other.require("topk")["fingerprint"]
    placement, models = None, {}
    if is_scored:
        placement = choose_placement(config, run, "contrast")
        depends_on |= placement.identity
        models = {OWN: model_of_topk(run), **({RANDOM: model_of_topk(pair.other)} if pair else {})}
    stage = begin_stage("contrast", config, run, depends_on, counted=("contrasts", "contrasts"))
    if stage is None:
        return
    job = ContrastJob(
        config=config, stage=stage, scored=Scored.of(run), pair=pair, texts=texts, sentences=sentences,
        placement=placement, models=models,
    )  # fmt: skip
    rows = {"contrast/units": len(job.scored.neurons) * known}
    counts = stage.complete(job.steps(), rows, {"contrasts": 0})
    if counts is not None:
        print("\n".join(counts["said"]))


def check_groups(config: ContrastConfig) -> None:
    """Refuse options that do not name two groups in one way.

    Raises:
        InputError: no groups are named, or in several ways, or one of them is missing.
    """
    ways: dict[str, list[Sequence[str]]] = {
        "--by": [config.by],
        "--a": [config.a, config.b],
        "--a-texts": [config.a_texts, config.b_texts],
    }
    named = [flag for flag, groups in ways.items() if any(groups)]
    if not named:
        raise InputError(
            "--by is missing: name a metadata key, or --a KEY=VALUE and --b KEY=VALUE, or --a-texts and --b-texts"
        )
    if len(named) > 1:
        raise InputError(f"{named[1]} with {named[0]}: each names the groups; leave one of them out")
    for letter, group in zip("ab", ways[named[0]], strict=False):
        if not group:
            raise InputError(f"{named[0].replace('a', letter, 1)} is missing: name the other group too")
    for flag, conditions in (("--a", config.a), ("--b", config.b)):
        for text in conditions:
            parse_condition(flag, text)
    if config.a_texts and config.sentences is not None:
        raise InputError("--sentences with --a-texts: no sentence of the corpus is read; use --text-limit")


def own_texts(name: str, spec: str, text_column: str) -> Source:
    """Return a source of texts of the user's own."""
    try:
        source = parse_source(spec)
        check_source(source, text_column)
    except InputError as error:
        raise InputError(str(error).replace("--corpus", f"--{name.replace('_', '-')}", 1)) from error
    return source


def open_random_run(name: str, run: RunReader) -> RunPair:
    """Return a run next to the run with random weights that `--random-run` names.

    Raises:
        InputError: the other run has another corpus, other units or another model, or trained weights.
    """
    pair = RunPair.open("--random-run", name, run, ("topk",))
    pair.check_same_corpus()
    pair.check_same_options("topk", SAME_OF_TOPK.__contains__)
    here, there = (str(one.record["model"]["name"]) for one in pair.runs)
    if not there.startswith(RANDOM_WEIGHTS) or original_name(there) != original_name(here):
        raise pair.refused(
            f"is of {there}; give a run of --model {RANDOM_WEIGHTS}{original_name(here)} over the same corpus"
        )
    return pair


def common_sample(pair: RunPair) -> Int64s:
    """Return the place in the other run's activation sample of each sentence of this run's.

    Raises:
        InputError: the other run's sample lacks some of these sentences.
    """
    stores = pair.run.store, pair.other.store
    rows, others = common_rows(*stores) if pair.same_ids else (np.zeros(0, np.int64), np.zeros(0, np.int64))
    lacking = len(sampled_sentences(stores[0])) - len(rows)
    if lacking:
        raise pair.refused(
            f"its activation sample lacks {counted(lacking, 'sentence')} of this run's; give both runs the same "
            "options of ingest, --activation-sample and --seed, or score sentences with --sentences"
        )
    return others


def read_sentences(config: ContrastConfig, run: Run) -> pa.Table:
    """Return the sentences of the corpus that are used, with `sent_id`, `COLUMNS` and, if there is any, `meta`."""
    shards = run.shards()
    ids = sampled_sentences(run.store)
    if config.sentences is not None:
        ids = draw(shards.sentences, config.sentences, config.seed, CONTRAST_SENTENCES)
    if not len(ids):
        raise InputError(f"--out {config.out}: its activation sample is empty; score sentences with --sentences 10000")
    with run.store.parquet(part_name("corpus", 0)) as file:
        meta = ["meta"] if "meta" in file.schema_arrow.names else []
    return pa.concat_tables(read_rows(run.store, shards, ids, ["sent_id", *COLUMNS, *meta]))


def contrasts_of(
    config: ContrastConfig, tables: Sequence[pa.Table], names: Sequence[str] = ()
) -> tuple[list[Contrast], list[str]]:
    """Return the contrasts among sentences, and notes for the user.

    Raises:
        InputError: the groups do not exist, overlap, or are too small.
    """
    if config.a_texts:
        a_texts, b_texts = tables
        one, notes = contrast_of_texts(a_texts, b_texts, names, config.seed)
        return [one], notes
    (sentences,) = tables
    if config.a:
        a, b = ([parse_condition("", text) for text in own] for own in (config.a, config.b))
        return [contrast_of_conditions(sentences, a, b, config.seed)], []
    by_key = [contrasts_by_key(sentences, key, config.seed) for key in dict.fromkeys(config.by)]
    return [one for contrasts, _ in by_key for one in contrasts], [note for _, notes in by_key for note in notes]


def layer_file(model: str, layer: int, block: int) -> Output:
    """Return the file of a layer's activations in a block of sentences, by the model of either run."""
    return partial_file("contrast", f"{model}-{layer}", block)


@dataclass(frozen=True)
class Activations:
    """The activations of a run's units in the sentences that are contrasted.

    Attributes:
        rows: the place of each sentence in the activation sample, or among those that a pass scored.
        model: if a pass scored the sentences, `OWN` or `RANDOM`; otherwise empty.
    """

    store: Store
    neurons: Neurons
    rows: Int64s
    model: str = ""
    blocks: int = 0

    def layer(self, layer: int) -> csr_array | Float32s:
        """Return a layer's activations as a matrix, `[sentences, units]`, sparse for features."""
        if not self.model:
            sample = read_layer(self.store, layer, self.neurons)
            return (csr_array(sample) if issparse(sample) else sample)[self.rows]
        files = [layer_file(self.model, layer, block) for block in range(self.blocks)]
        blocks = [read_arrays(table) for table in read_partials(self.store, files)]
        if "values" in blocks[0]:
            return np.concatenate([block["values"] for block in blocks])[self.rows]
        width = self.neurons.width(layer)
        parts = [
            csr_array((block["data"], block["indices"], block["indptr"]), shape=(len(block["indptr"]) - 1, width))
            for block in blocks
        ]
        return csr_array(vstack(parts, "csr"))[self.rows]


@dataclass(frozen=True, kw_only=True)
class ContrastArgs(StageArgs):
    """The arguments of every worker that measures units or probes.

    Attributes:
        own, random: the activations of the run, and those with random weights; None without --random-run.
        units: the number of each unit that is not silent within its layer, by layer.
    """

    contrasts: tuple[Contrast, ...]
    own: Activations
    random: Activations | None
    units: dict[int, Int64s]
    features: bool

    def items(self, layer: int | None) -> list[Item]:
        """Return the items of a layer, or of words, one for each contrast."""
        return [{"group": number, "layer": layer} for number in range(len(self.contrasts))]


@dataclass(frozen=True, kw_only=True)
class ContrastJob:
    """The steps of the stage, with what they need.

    Attributes:
        texts: the sources of texts of one's own, by option.
        sentences: the sentences of the corpus that are contrasted; None for texts of one's own.
        placement, models: where models score sentences, and which; None and empty if none does.
    """

    config: ContrastConfig
    stage: Stage
    scored: Scored
    pair: RunPair | None
    texts: dict[str, Source]
    sentences: pa.Table | None
    placement: Placement | None
    models: dict[str, ModelFacts]

    def steps(self) -> Steps:
        """Yield the steps, write the tables and figures, and return the counts."""
        tables: list[pa.Table] = [self.sentences]
        if self.sentences is None:
            yield [self._text_step()]
            tables = self._groups_of_texts()
        rows = np.arange(sum(map(len, tables)))
        items: list[Item] = []
        if self.placement is not None:
            items = self._blocks(tables)
            steps = [self._score_step(model, items) for model in self.models]
            yield steps
            finite = self._finite(steps)
            ends = np.cumsum([len(table) for table in tables])
            whole = zip(tables, np.split(finite, ends[:-1]), strict=True)
            rows, tables = np.flatnonzero(finite), [table.filter(pa.array(mask)) for table, mask in whole]
        own, random = self._activations(rows, len(items))
        contrasts, notes = contrasts_of(self.config, tables, [source.dataset for source in self.texts.values()])
        heard = ~read_silent(self.stage.store, self.scored.neurons)
        units = {layer: np.flatnonzero(heard[slice(*own.neurons.span(layer))]) for layer in own.neurons.layers}
        args = ContrastArgs(
            store=self.stage.store, neurons=own.neurons, seed=self.config.seed, contrasts=tuple(contrasts), own=own,
            random=random, units={layer: of_layer for layer, of_layer in units.items() if len(of_layer)},
            features=self.scored.of_features,
        )  # fmt: skip
        yield self._measure_steps(args, pa.concat_tables(tables)["text"])
        if all(one.by_sentence for one in contrasts):
            notes.append("each document has only one sentence, so intervals are by sentence")
        for one in contrasts:
            if (share := Matched.of(one).unmatched) > 0:
                notes.append(
                    f"{one.group}: {percent(share)} of the smaller group have no match, so matched_auc omits them"
                )
        for note in notes:
            self.stage.say(note)
        return self._write(args)

    def _text_step(self) -> Step:
        config = self.config
        items: list[Item] = [{"texts": i, "source": source.spec} for i, source in enumerate(self.texts.values())]
        return Step(
            name="contrast: texts", items=items, outputs=lambda item: [text_set_file(item["texts"])],
            worker=draw_texts, unit="groups of texts",
            args={
                "facts": self.models[OWN], "text_column": config.text_column, "splits": config.split == "sentences",
                "most": config.text_limit, "seed": config.seed,
            },
        )  # fmt: skip

    def _groups_of_texts(self) -> list[pa.Table]:
        """Return both groups of texts with `COLUMNS`."""
        groups = []
        for number, (name, source) in enumerate(self.texts.items()):
            table, flag = read_partial(self.stage.store, text_set_file(number)), f"{flag_of(name)} {source.spec}"
            if note := said_left_out(flag, notes_of(table)):
                self.stage.say(note)
            if not table.num_rows:
                raise InputError(f"{flag}: gives no usable sentence; name another source")
            # Equal names would make texts of both groups one data set.
            names = pa.array([f"{'ab'[number]}: {source.dataset}"] * table.num_rows)
            groups.append(table.append_column("dataset", names).select(COLUMNS))
        return groups

    def _blocks(self, tables: Sequence[pa.Table]) -> list[Item]:
        """Return the blocks of sentences that are scored: of groups of texts, or of shards of the corpus."""
        if self.texts:
            items: list[Item] = [
                {"texts": i, "first": first, "sentences": stop - first}
                for i, table in enumerate(tables)
                for first, stop in spans(len(table), SENTENCES_PER_BLOCK)
            ]
        else:
            parts = self.stage.run.shards().split(tables[0]["sent_id"].to_numpy())
            items = [
                {"shard": i, "rows": ids.tolist(), "sentences": len(ids)} for i, ids in enumerate(parts) if len(ids)
            ]
        return [{"block": i, **item} for i, item in enumerate(items)]

    def _score_step(self, model: str, items: list[Item]) -> Step:
        run = self.stage.run if model == OWN or self.pair is None else self.pair.other
        facts, place, scored, topk = self.models[model], self.placement, Scored.of(run), run.require("topk")
        assert place is not None
        scoring, total = run_scoring(scored.identity, place), sum(item["sentences"] for item in items)
        args = ScoreArgs(
            store=self.stage.store, neurons=scored.neurons, seed=self.config.seed, facts=facts, options=scoring,
            dictionaries=dictionaries_of(run, facts), block=block_of(topk), model=model,
            token_budget=place.token_budget,
            equal_lengths=scored.counts.get("equal_lengths", True),
        )  # fmt: skip
        return model_step(
            facts, place, scoring.dtype, total, 1.1,
            name=f"contrast: {'activations' if model == OWN else 'random weights'}", items=items, worker=BlockScorer,
            args={"args": args}, unit="blocks of sentences", work=("sentences", total),
            outputs=lambda item: [layer_file(model, layer, item["block"]) for layer in scored.neurons.layers],
        )  # fmt: skip

    def _finite(self, steps: Sequence[Step]) -> Bools:
        """Return which of the scored sentences have finite activations in all models."""
        starts = np.cumsum([0, *(item["sentences"] for item in steps[0].items)])
        finite = np.ones(starts[-1], np.bool_)
        for step in steps:
            files = [step.outputs(item)[-1] for item in step.items]
            for start, places in zip(starts, read_notes(self.stage.store, files), strict=False):
                finite[start + np.array(places, np.int64)] = False
        return finite

    def _activations(self, rows: Int64s, blocks: int) -> tuple[Activations, Activations | None]:
        """Return the activations of the run and of that with random weights, from samples if no blocks were scored."""
        store, random = self.stage.store, None
        if self.pair is not None:
            other = self.pair.other
            neurons = Scored.of(other).neurons
            random = Activations(store, neurons, rows, RANDOM, blocks)
            if not blocks:
                random = Activations(other.store, neurons, common_sample(self.pair))
        return Activations(store, self.scored.neurons, rows, OWN if blocks else "", blocks), random

    def _measure_steps(self, args: ContrastArgs, texts: pa.ChunkedArray) -> list[Step]:
        """Return the steps that measure units and probes, a contrast and layer at a time."""
        pairs = [item for layer in args.units for item in args.items(layer)]
        amount = sum(len(one.rows) for one in args.contrasts) * sum(map(len, args.units.values()))
        units = Step(
            name="contrast: units", items=pairs, outputs=lambda item: [units_file(item)], worker=UnitMeasurer,
            args={"args": args}, unit="layers of contrasts", amount=amount,
        )  # fmt: skip
        probes = Step(
            name="contrast: probes", items=[*pairs, *args.items(None)], outputs=lambda item: [probes_file(item)],
            worker=Prober, args={"args": args, "texts": texts}, unit="probes of layers", amount=amount,
        )  # fmt: skip
        return [units] if self.config.no_probes else [units, probes]

    def _write(self, args: ContrastArgs) -> dict[str, Any]:
        """Write the tables and figures, and return the counts."""
        store, stage = self.stage.store, self.stage
        std = neuron_columns(store, "neurons", ("std",), args.neurons)["std"]
        spread = {layer: std[args.neurons.span(layer)[0] + units] for layer, units in args.units.items()}
        units, controls, probes = [], [], []
        for number, one in enumerate(args.contrasts):
            files = {layer: units_file({"group": number, "layer": layer}) for layer in args.units}
            bases = read_found(store, files, Separation)
            units.append(units_table(one, bases[UNITS], args.units, spread))
            controls += control_rows(one.group, bases)
            if not self.config.no_probes:
                of_probes = {layer: probes_file({"group": number, "layer": layer}) for layer in (*args.units, None)}
                probes += probe_rows(one, read_found(store, of_probes, Scores))
        tables = {
            UNIT_TABLE: schema.table("contrast/units", pa.concat_tables(units)),
            PROBE_TABLE: schema.table("contrast/probes", probes),
            CONTROL_TABLE: schema.table("contrast/controls", controls),
        }  # fmt: skip
        for output, table in tables.items():
            output.commit(store, table, stage.fingerprint)
        drawn = contrast_figures(tables[CONTROL_TABLE], tables[PROBE_TABLE])
        figures = save_figures(store, "contrast/figures", drawn, stage.run.title)
        sentences = said_of_probes(tables[PROBE_TABLE].to_pylist())
        return {
            "contrasts": len(args.contrasts), "groups": [one.group for one in args.contrasts],
            "sentences": sum(len(one.rows) for one in args.contrasts),
            "unmatched": {one.group: Matched.of(one).unmatched for one in args.contrasts},
            "said": sentences or ["no probes: leave out --no-probes to compare units with rotated axes and words"],
            "figures": figures,
        }  # fmt: skip


def draw_texts(item: Item, facts: ModelFacts, **options: Any) -> Made:
    """Draw a sample of the distinct sentences of one group of texts, with these options of `read_text_set`."""
    return {text_set_file(item["texts"]): Noted(*read_text_set(item["source"], tokenizer=Tokenizer(facts), **options))}


@dataclass(frozen=True, kw_only=True)
class ScoreArgs(ScorerArgs):
    """The arguments of workers that score sentences."""

    model: str
    token_budget: int
    equal_lengths: bool


class BlockScorer:
    """Scores blocks of sentences: some of a shard of corpus/, or some of a group of texts."""

    def __init__(self, args: ScoreArgs) -> None:
        self.args, self.tokenizer = args, Tokenizer(args.facts)
        self.scorer = args.scorer(self.tokenizer.pad_id)

    def __call__(self, item: Item) -> Made:
        """Score one block; sentences with a non-finite activation are noted by their place in it."""
        args = self.args
        if "shard" in item:
            _, texts, n_tokens = read_shard(args.store, item["shard"], np.array(item["rows"], np.int64))
        else:
            rows = read_partial(args.store, text_set_file(item["texts"])).slice(item["first"], item["sentences"])
            texts, n_tokens = rows["text"].to_pylist(), rows["n_tokens"].to_numpy()
        places = np.arange(len(texts))
        batches = encode_batches(places, texts, n_tokens, self.tokenizer, args.token_budget, args.equal_lengths)
        values, reasons = score_batches(self.scorer, counting(batches), len(texts))
        made = {}
        for layer in args.neurons.layers:
            layer_values = values[:, slice(*args.neurons.span(layer))]
            arrays = {"values": layer_values}
            if self.scorer.sparse:
                active = csr_array(layer_values)
                arrays = {"data": active.data, "indices": active.indices, "indptr": active.indptr}
            made[layer_file(args.model, layer, item["block"])] = Noted(write_arrays(**arrays), sorted(reasons))
        return made


def units_file(item: Item) -> Output:
    """Return the file of what was measured of a layer's units for a contrast."""
    return partial_file("contrast", f"units-{item['layer']}", item["group"])


def probes_file(item: Item) -> Output:
    """Return the file of the scores of a layer's probes for a contrast; those of words have no layer."""
    name = "words" if item["layer"] is None else f"probes-{item['layer']}"
    return partial_file("contrast", name, item["group"])


def read_found(store: Store, files: Mapping[Layer, Output], kind: type[Found]) -> dict[str, dict[Layer, Found]]:
    """Return what was found in each basis and layer, given the file of each layer."""
    by_basis: dict[str, dict[Layer, Found]] = {}
    for layer, table in zip(files, read_partials(store, files.values()), strict=True):
        for basis, record in named_records(kind, read_arrays(table)).items():
            by_basis.setdefault(basis, {})[layer] = record
    return by_basis


class LayerWorker:
    """Reads the activations of a layer in the sentences of a contrast; items name both."""

    def __init__(self, args: ContrastArgs) -> None:
        self.args, self._layer = args, lru_cache(1)(args.own.layer)

    def values(self, item: Item) -> csr_array | Float32s:
        """Return the activations of the layer's units that are not silent, `[n, units]`."""
        rows, layer = self.args.contrasts[item["group"]].rows, item["layer"]
        return self._layer(layer)[rows][:, self.args.units[layer]]


class UnitMeasurer(LayerWorker):
    """Measures how well the units of a layer separate the groups of a contrast, with both controls."""

    def __call__(self, item: Item) -> Made:
        """Measure one layer for one contrast."""
        seed, one, values = self.args.seed, self.args.contrasts[item["group"]], self.values(item)
        with threadpool_limits(1):
            by_basis = {
                UNITS: separation(one, values, Permutations.of(one, seed)),
                PERMUTED: separation(with_permuted_labels(one, seed), values),
            }
            if not self.args.features:
                by_basis[ROTATED] = separation(one, rotated(values, item["layer"], seed, 0, values.shape[1]))
        return {units_file(item): write_arrays(**named_arrays(by_basis))}


class Prober(LayerWorker):
    """Fits the probes of a layer, or those of words, for a contrast."""

    def __init__(self, args: ContrastArgs, texts: pa.ChunkedArray) -> None:
        super().__init__(args)
        self.texts = texts

    def __call__(self, item: Item) -> Made:
        """Fit the probes of one layer or of words for one contrast."""
        args, one, layer = self.args, self.args.contrasts[item["group"]], item["layer"]
        with threadpool_limits(1):
            if layer is None:
                by_basis = {WORDS: word_probe(one, self.texts.take(pa.array(one.rows)).to_pylist())}
            else:
                values = self.values(item)
                by_basis = {UNITS: unit_probes(one, values), LAYER: layer_probe(one, values)}
                if not args.features:
                    by_basis[ROTATED] = rotated_probes(one, values, args.seed, layer)
                if args.random is not None and args.random.neurons.width(layer):
                    by_basis[RANDOM] = unit_probes(one, args.random.layer(layer)[one.rows])
        return {probes_file(item): write_arrays(**named_arrays(by_basis))}
