"""The pages of a run, rendered from its tables: an overview, chosen neurons, and side jobs."""

from collections.abc import Iterator
from functools import lru_cache, reduce
from operator import or_
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ops.arrays import Int64s
from ops.errors import InputError
from ops.facts.audited import OWN_PAIRS
from ops.facts.best import CONTROLS, leaders, margin
from ops.facts.findings import LEAST_COUNT
from ops.facts.hub_sentences import most_wins_of_run
from ops.facts.strongest import MAX_Q
from ops.model.names import model_title
from ops.report.figure_copies import copy_name
from ops.report.neuron_page import neuron_context
from ops.report.overview import map_data, without_folders
from ops.report.pages import ASSETS, FOLDER, render
from ops.report.quantiles import quantile_samples
from ops.report.search_index import STRONGEST, VERDICT, search_index
from ops.report.side_jobs import SIDE_JOBS
from ops.report.side_pages import drawings, figures_of, side_context, side_jobs
from ops.schema import layer_columns
from ops.show.hard_negatives import has_hard_negatives
from ops.show.neuron_facts import known
from ops.storage.open_tables import OpenTables
from ops.storage.store import Store
from ops.topk.activation_sample import LayerSample, sample_of_layer
from ops.topk.neuron_names import NEURON, parse_pair
from ops.topk.neurons import read_neurons
from ops.topk.silent import COLUMNS, SAID, heard, silent_neurons
from ops.topk.unit_names import unit_names

Row = dict[str, Any]
Pair = tuple[int, int]
Sample = tuple[Int64s, LayerSample]

SENTENCE = ("sent_id", "text", "dataset", "doc_id", "meta", "words", "tags", "tree", "wins")
MOST_SAID = 4  # maximum number of words for a neuron in a row of the overview
MOST_DRAWN = 2  # maximum number of a side job's figures on the overview
EXPLAINED = 50  # maximum number of families on the overview
NEAREST = 12  # maximum number of similar neurons on a neuron's page
NEURONS_PER_READ = 64  # number of neurons whose rows are read together
LAYERS_KEPT = 2  # number of layers whose activation sample is cached; a layer of 768 units takes about 30 MB


class Site:
    """The data from which the pages of a run are rendered.

    Args:
        store: the run's folder.
        run: the content of run.json; the stages ingest, topk, annotate and mine must be complete.

    Attributes:
        tables: the run's tables, opened once.
        widths: number of units of each layer.
        options: the options of `mine`.
        poles: the poles of the run.
        names: the names of the run's units.
        most_wins: maximum number of neurons and poles that a sentence may win without being a hub.
        silent: layer and unit of the silent neurons, which lists and the map do not show.
        scores: the rows of scores/; empty if there are no scores.
        explained: the leaders of explained families, with those that most exceed their controls first. Each is a row
            of explanations/ with `members`, the number of neurons and poles in its family.
    """

    def __init__(self, store: Store, run: Row) -> None:
        self.store, self.run = store, run
        self.tables = OpenTables(store)
        self.units = read_neurons(store)
        self.widths = self.units.widths
        self.options: Row = run["stages"]["mine"]["config"]
        self.names = unit_names(run["stages"]["topk"])
        self.complete = {name: entry for name, entry in run["stages"].items() if entry["complete"]}
        self.has_tokens = "tokens" in self.complete
        self.has_nearest = "compare/neighbours" in self.complete
        self.has_explanations = "explain" in self.complete
        self.has_negatives = self.has_explanations and has_hard_negatives(store)
        self.has_negative_tokens = self.has_negatives and "tokens/negatives" in self.complete
        self.has_outputs = "outputs" in self.complete
        self.has_audit = self.has_explanations and "audit" in self.complete
        topk = self.complete["topk"]
        self.poles = ["top", "bottom"] if topk["identity"]["poles"] == "both" else [topk["identity"]["poles"]]
        self.most_wins = most_wins_of_run(topk, sum(self.widths))
        self.silent = silent_neurons(self._read("neurons", None, columns=COLUMNS))
        self.scores = heard(self._read("scores", None, not self.options["no_scores"]), self.silent)
        self.explained = self._explained()
        self._sample = lru_cache(LAYERS_KEPT)(self._sample_of)

    def _read(
        self, table: str, where: pc.Expression | None, there: bool = True, columns: list[str] | None = None
    ) -> pa.Table:
        return self.tables.read(table, where, columns) if there else pa.table({})

    def _explained(self) -> list[Row]:
        columns = ["layer", "unit", "pole", "text", "f1", "f1_low", "f1_high", *CONTROLS]
        found = self._read("explanations", pc.field("verdict") == "explained", self.has_explanations, columns)
        if not found.num_rows:
            return []
        led = leaders(found.to_pylist(), self._read("families", None).to_pylist())
        return [row for row in led if (row["layer"], row["unit"]) not in self.silent]

    def choose(self, worth: list[Row], best: int, named: tuple[str, ...]) -> list[Pair]:
        """Return the neurons that get pages: the named neurons and the `best` best ones.

        The best neurons are the leaders of explained families, followed by the neurons of `worth` or, if the run has no
        scores, by the most skewed neurons.

        Raises:
            InputError: a named neuron does not exist.
        """
        chosen = [self.parse(which) for which in named]
        ranked = [(s["layer"], s["unit"]) for s in (*self.explained, *worth)]
        if not self.scores.num_rows:
            rows = heard(self._read("neurons", None, columns=["layer", "unit", "skew"]), self.silent).to_pylist()
            ranked += [(r["layer"], r["unit"]) for r in sorted(rows, key=lambda r: -abs(r["skew"] or 0.0))[:best]]
        return list(dict.fromkeys([*chosen, *list(dict.fromkeys(ranked))[:best]]))

    def has(self, layer: int, unit: int) -> bool:
        """Return whether the run has this neuron."""
        return unit < self.units.width(layer)

    def parse(self, which: str) -> Pair:
        """Return the layer and unit of a neuron named LAYER:UNIT.

        Raises:
            InputError: the run has no such neuron.
        """
        layer, unit = parse_pair("--neurons", which, NEURON)
        if not self.has(layer, unit):
            raise InputError(f"--neurons {which}: there is no such neuron; {known(self.store)}")
        return layer, unit

    def overview(self, worth: list[Row], chosen: list[Pair]) -> Row:
        """Return the variables for the overview's template, without those that all pages share."""
        first, named = pc.field("rank") == 1, pc.field("property")
        neuron, pole = ["layer", "unit"], ["layer", "unit", "pole"]
        tables = {
            "neurons": self._read("neurons", None, columns=[*neuron, "skew"]),
            "scores": self.scores,
            "means": self._read("means", named == "words_per_sentence", columns=[*pole, "mean"]),
            "profiles": self._read(
                "profiles", first & named.isin(["dataset", "tag"]), columns=[*pole, "property", "value"]
            ),
            "peaks": self._read(
                "peaks",
                first & (named == "peak_word") & (pc.field("count") >= LEAST_COUNT),
                self.has_tokens,
                [*pole, "value"],
            ),
            "audit": self._read("audit/neurons", None, self.has_audit, [*pole, "ported", "verdict"]),
        }
        topk = self.complete["topk"]
        found = {name: heard(rows, self.silent) for name, rows in tables.items()}
        across = {_key(row): row["verdict"].replace("_", " ") for row in found["audit"].to_pylist()}
        drawn = map_data(found, self.widths, self.poles, self.units.first)
        return {
            "map": {**drawn, "pages": [f"{layer}-{unit}" for layer, unit in chosen], "every": False},
            "all_pages": False,
            "explained": [row | {"across": across.get(_key(row))} for row in self.explained[:EXPLAINED]],
            "audited": self.has_audit,
            "families": len(self.explained),
            "best": self._described(worth),
            "pages": chosen,
            "sides": [
                {"job": job, "title": SIDE_JOBS[job].title, "figures": figures_of(drawings(self.run, job)[:MOST_DRAWN])}
                for job in side_jobs(self.run)
            ],
            "n_neurons": sum(self.widths),
            "sentences": topk["counts"]["scored"],
            "k": f"{topk['identity']['k']:,}",
            "options": topk["identity"],
            "sources": [
                source | {"source": without_folders(source["source"])}
                for source in self.complete["ingest"]["counts"]["sources"]
            ],
            "stages": {name: entry for name, entry in self.complete.items() if name != "report"},
        }

    def _described(self, worth: list[Row]) -> list[Row]:
        """Return the rows of the best neurons, with the first words, peaks and data sets of each."""
        if not worth:
            return []
        here, first = _any_of([(s["layer"], s["unit"]) for s in worth]), pc.field("rank") <= MOST_SAID
        found = {
            "words": self._read("patterns", here & first & (pc.field("kind") == "word")),
            "peaks": self._read(
                "peaks",
                here & first & (pc.field("property") == "peak_word") & (pc.field("count") >= LEAST_COUNT),
                self.has_tokens,
            ),
            "datasets": self._read("profiles", here & (pc.field("property") == "dataset")),
        }
        rows = {name: _by(table.to_pylist(), ("layer", "unit", "pole")) for name, table in found.items()}
        described = []
        for score in worth:
            key = (score["layer"], score["unit"], score["pole"])
            own = {name: by.get(key, []) for name, by in rows.items()}
            described.append(
                {
                    **score,
                    "words": [r["pattern"] for r in own["words"] if r["g2"] > 0 and r["support"] >= LEAST_COUNT],
                    "peaks": [r["value"] for r in own["peaks"] if r["g2"] > 0],
                    "datasets": sorted(own["datasets"], key=lambda r: -r["share"])[:3],
                }
            )
        return described

    def neurons(self, chosen: list[Pair], winners: int) -> list[Row]:
        """Return the template's variables for each of these neurons."""
        here, listed = _any_of(chosen), pc.field("rank") <= winners
        wanted: dict[str, tuple[pc.Expression, bool]] = {
            "neurons": (here, True),
            "topk": (here & listed, True),
            "patterns": (here, True),
            "profiles": (here, True),
            "means": (here, True),
            "scores": (here, not self.options["no_scores"]),
            "peaks": (here, self.has_tokens),
            "token_activations": (here & listed, self.has_tokens),
            "explanations": (here, self.has_explanations),
            "explanation_terms": (here, self.has_explanations),
            "examples": (here & pc.field("pole").is_valid(), self.has_negatives),
            "negative_tokens": (here, self.has_negative_tokens),
            "outputs/tokens": (here, self.has_outputs),
            "audit/neurons": (here, self.has_audit),
            "audit/patterns": (here, self.has_audit),
            "audit/portability": (here & OWN_PAIRS, self.has_audit),
            "compare/neighbours": (here & (pc.field("rank") <= NEAREST), self.has_nearest),
        }
        tables = {name: _by(self._read(name, *which).to_pylist(), ("layer", "unit")) for name, which in wanted.items()}
        members = self._members({row["family"] for rows in tables["explanations"].values() for row in rows})
        samples = self._samples(chosen)
        ids = {row["sent_id"] for table in ("topk", "examples") for rows in tables[table].values() for row in rows}
        ids |= {row["sent_id"] for rows in samples.values() for row in rows}
        there = self.tables.dataset("sentences").schema.names
        read = self.tables.rows_of_keys("sentences", "sent_id", ids, [name for name in SENTENCE if name in there])
        sentences = {row["sent_id"]: row for row in read}
        return [
            neuron_context(
                {name: by.get(n, []) for name, by in tables.items()}
                | {"families": [m for row in tables["explanations"].get(n, []) for m in members[row["family"],]]},
                sentences,
                self.options,
                samples[n],
                self.most_wins,
            )
            | {"silent": SAID if n in self.silent else ""}
            for n in chosen
        ]

    def _members(self, families: set[int]) -> dict[Any, list[Row]]:
        """Return the rows of families/, grouped by family."""
        where = pc.field("family").isin(pa.array(sorted(families), pa.int32()))
        return _by(self._read("families", where, bool(families)).to_pylist(), ("family",))

    def _samples(self, chosen: list[Pair]) -> dict[Pair, list[Row]]:
        """Return sentences at several quantiles for each neuron; a layer's activations are read once."""
        found: dict[Pair, list[Row]] = {}
        for layer in sorted({layer for layer, _ in chosen}):
            ids, values = self._sample(layer)
            found |= {(of, unit): quantile_samples(ids, values.of_unit(unit)) for of, unit in chosen if of == layer}
        return found

    def _sample_of(self, layer: int) -> Sample:
        """Return the ids of the activation sample, `[sentences]`, and a layer's activations."""
        columns = ["sent_id", *layer_columns(layer, self.tables.dataset("activations").schema.names)]
        table = self._read("activations", None, columns=columns).combine_chunks()
        return table["sent_id"].to_numpy(), sample_of_layer(table, layer, self.units.width(layer))

    def model(self) -> Row:
        """Return the model's entry in run.json with an additional `title`, its name on pages."""
        model: Row = self.run["model"]
        return {**model, "title": model_title(model["name"], model["fingerprint"], model.get("seed"))}

    def figure(self, name: str) -> bytes:
        """Return a figure of the run."""
        with self.store.filesystem.open_input_stream(self.store.path(name), compression=None) as stream:
            content: bytes = stream.read()
        return content

    def search_index(self, chosen: list[Pair]) -> str:
        """Return the script with the index for the search field of a static site."""
        sure = (pc.field("g2") > 0) & (pc.field("rank") <= STRONGEST)
        pole = ["layer", "unit", "pole"]
        terms = {
            kind: self._terms("patterns", sure & (pc.field("kind") == kind), "pattern", "support")
            for kind in ("word", "tag", "subtree")
        }
        terms["mark"] = self._terms("profiles", sure & (pc.field("property") == "punctuation"), "value", "count")
        if self.has_audit:
            terms["data sets"] = self._verdicts()
        scores = [row | {"margin": margin(row)} for row in self.scores.to_pylist()]
        told = self._read("explanations", pc.field("verdict") != "none", self.has_explanations, [*pole, "text"])
        pairs = [(layer, unit) for layer, width in self.units.by_layer.items() for unit in range(width)]
        keys = [(*pair, pole) for pair in pairs if pair not in self.silent for pole in self.poles]
        return search_index(scores, told.to_pylist(), terms, keys, chosen)

    def _verdicts(self) -> pa.Table:
        """Return the audit's verdicts as terms, such as `verdict:global`, which differ from all words of sentences."""
        columns = ["layer", "unit", "pole", "verdict"]
        found = self._read("audit/neurons", pc.field("verdict") != "none", columns=columns)
        terms = pc.binary_join_element_wise(VERDICT, found["verdict"], "")
        return found.drop_columns("verdict").append_column("term", terms)

    def _terms(self, table: str, where: pc.Expression, term: str, count: str) -> pa.Table:
        own = where & (pc.field(count) >= LEAST_COUNT) & (pc.field("q_value") < MAX_Q)
        found = self._read(table, own, columns=["layer", "unit", "pole", term])
        return found.rename_columns(["layer", "unit", "pole", "term"])

    def pages(
        self, worth: list[Row], chosen: list[Pair], winners: int, shared: Row
    ) -> Iterator[tuple[str, str | bytes]]:
        """Yield the files of a static site, each as its name and its content.

        Args:
            worth: the scores of the neurons that the overview lists.
            chosen: the neurons that get pages, in order.
            winners: number of winners that a neuron's page lists for each pole.
            shared: the variables that the templates of all pages take.
        """
        yield "index.html", render("overview.html", {**shared, **self.overview(worth, chosen), "root": ""})
        for name in ASSETS:
            yield name, (FOLDER / name).read_text(encoding="utf-8")
        yield "search.js", self.search_index(chosen)
        for first in range(0, len(chosen), NEURONS_PER_READ):
            for place, page in enumerate(self.neurons(chosen[first : first + NEURONS_PER_READ], winners), first):
                around = {
                    "before": chosen[place - 1] if place else None,
                    "after": chosen[place + 1] if place + 1 < len(chosen) else None,
                }
                context = {**shared, **page, "root": "../", "pages": chosen, "neighbours": around}
                yield f"neurons/{page['layer']}-{page['unit']}.html", render("neuron.html", context)
        for job in side_jobs(self.run):
            context = {**shared, **side_context(self.store, self.run, job), "root": "../"}
            yield f"side/{job}.html", render("side.html", context)
            for name in drawings(self.run, job):
                yield f"figures/{copy_name(name)}", self.figure(name)


def _key(row: Row) -> tuple[int, int, str]:
    return row["layer"], row["unit"], row["pole"]


def _any_of(chosen: list[Pair]) -> pc.Expression:
    return reduce(or_, ((pc.field("layer") == layer) & (pc.field("unit") == unit) for layer, unit in chosen))


def _by(rows: list[Row], columns: tuple[str, ...]) -> dict[Any, list[Row]]:
    found: dict[Any, list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[c] for c in columns), []).append(row)
    return found
