"""The pages of a run, rendered from its tables: an overview, chosen neurons, and side jobs."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ops.arrays import Int64s
from ops.facts.findings import LEAST_COUNT
from ops.facts.neuron_facts import read_neurons, read_sentences
from ops.facts.run_facts import POLE, Pair, RunFacts, any_of, grouped, key_of
from ops.facts.strongest import KINDS, MAX_Q
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
from ops.topk.activation_sample import LayerSample, sample_of_layer
from ops.topk.silent import heard

Row = dict[str, Any]
Sample = tuple[Int64s, LayerSample]

MOST_SAID = 4  # maximum number of words for a neuron in a row of the overview
MOST_DRAWN = 2  # maximum number of a side job's figures on the overview
EXPLAINED = 50  # maximum number of families on the overview
NEURONS_PER_READ = 64  # number of neurons whose rows are read together
LAYERS_KEPT = 2  # number of layers whose activation sample is cached; a layer of 768 units takes about 30 MB


class Site:
    """The data from which the pages of a run are rendered.

    Args:
        facts: what is known about the run; its stage ingest must be complete too.
        run: the content of run.json.
    """

    def __init__(self, facts: RunFacts, run: Row) -> None:
        self.facts, self.run = facts, run
        self.store = facts.tables.store
        self._sample = lru_cache(LAYERS_KEPT)(self._sample_of)

    def choose(self, best: int, named: Sequence[Pair]) -> list[Pair]:
        """Return the neurons that get pages: the named neurons and the `best` best ones.

        The best neurons are the leaders of explained families, followed by the neurons of the highest excess scores or,
        if the run has no scores, by the most skewed neurons.
        """
        facts = self.facts
        ranked = [(row["layer"], row["unit"]) for row in (*facts.explained, *facts.scored()[:best])]
        if not facts.scores.num_rows:
            rows = heard(facts.read("neurons", None, ["layer", "unit", "skew"]), facts.silent).to_pylist()
            ranked += [(r["layer"], r["unit"]) for r in sorted(rows, key=lambda r: -abs(r["skew"] or 0.0))[:best]]
        return list(dict.fromkeys([*named, *list(dict.fromkeys(ranked))[:best]]))

    def overview(self, best: int, chosen: list[Pair]) -> Row:
        """Return the variables for the overview's template, without those that all pages share.

        Args:
            best: the number of neurons that the list of scores has.
            chosen: the neurons that have pages.
        """
        facts, first, named = self.facts, pc.field("rank") == 1, pc.field("property")
        tables = {
            "neurons": facts.read("neurons", None, ["layer", "unit", "skew"]),
            "scores": facts.scores,
            "means": facts.read("means", named == "words_per_sentence", [*POLE, "mean"]),
            "profiles": facts.read("profiles", first & named.isin(["dataset", "tag"]), [*POLE, "property", "value"]),
            "peaks": facts.read(
                "peaks", first & (named == "peak_word") & (pc.field("count") >= LEAST_COUNT), [*POLE, "value"]
            ),
            "audit": facts.read("audit/neurons", None, [*POLE, "ported", "verdict"]),
        }
        topk = facts.stages["topk"]
        found = {name: heard(rows, facts.silent) for name, rows in tables.items()}
        across = {key_of(row): row["verdict"].replace("_", " ") for row in found["audit"].to_pylist()}
        drawn = map_data(found, facts.units.widths, facts.poles, facts.units.first)
        return {
            "map": {**drawn, "pages": [f"{layer}-{unit}" for layer, unit in chosen], "every": False},
            "all_pages": False,
            "explained": [row | {"across": across.get(key_of(row))} for row in facts.explained[:EXPLAINED]],
            "audited": bool(across),
            "families": len(facts.explained),
            "best": self._described(facts.scored()[:best]),
            "pages": chosen,
            "sides": [
                {"job": job, "title": SIDE_JOBS[job].title, "figures": figures_of(drawings(self.run, job)[:MOST_DRAWN])}
                for job in side_jobs(self.run)
            ],
            "n_neurons": len(facts.units),
            "sentences": topk["counts"]["scored"],
            "k": f"{topk['identity']['k']:,}",
            "options": topk["identity"],
            "sources": [
                source | {"source": without_folders(source["source"])}
                for source in facts.stages["ingest"]["counts"]["sources"]
            ],
            "stages": {name: entry for name, entry in facts.stages.items() if name != "report"},
        }

    def _described(self, scores: list[Row]) -> list[Row]:
        """Return rows of scores, with the first words, peaks and data sets of each."""
        if not scores:
            return []
        here = any_of((row["layer"], row["unit"]) for row in scores)
        peak = (pc.field("property") == "peak_word") & (pc.field("rank") <= MOST_SAID) & (pc.field("g2") > 0)
        peaks = self.facts.read("peaks", here & peak & (pc.field("count") >= LEAST_COUNT)).to_pylist()
        shares = self.facts.read("profiles", here & (pc.field("property") == "dataset")).to_pylist()
        words, by_peak, by_share = self.facts.words(scores), grouped(peaks, POLE), grouped(shares, POLE)
        return [
            row
            | {
                "words": words[key_of(row)][:MOST_SAID],
                "peaks": [peak["value"] for peak in by_peak.get(key_of(row), [])],
                "datasets": sorted(by_share.get(key_of(row), []), key=lambda r: -r["share"])[:3],
            }
            for row in scores
        ]

    def neurons(self, chosen: Sequence[Pair], winners: int) -> list[Row]:
        """Return the template's variables for each of these neurons."""
        samples = self._samples(chosen)
        sentences = read_sentences(self.facts, {row["sent_id"] for rows in samples.values() for row in rows})
        return [
            neuron_context(poles, [row | sentences[row["sent_id"]] for row in samples[pair]])
            for pair, poles in zip(chosen, read_neurons(self.facts, chosen, winners), strict=True)
        ]

    def _samples(self, chosen: Sequence[Pair]) -> dict[Pair, list[Row]]:
        """Return sentences at several quantiles for each neuron; a layer's activations are read once."""
        found: dict[Pair, list[Row]] = {}
        for layer in sorted({layer for layer, _ in chosen}):
            ids, values = self._sample(layer)
            found |= {(of, unit): quantile_samples(ids, values.of_unit(unit)) for of, unit in chosen if of == layer}
        return found

    def _sample_of(self, layer: int) -> Sample:
        """Return the ids of the activation sample, `[sentences]`, and a layer's activations."""
        columns = ["sent_id", *layer_columns(layer, self.facts.tables.dataset("activations").schema.names)]
        table = self.facts.read("activations", None, columns).combine_chunks()
        return table["sent_id"].to_numpy(), sample_of_layer(table, layer, self.facts.units.width(layer))

    def shared(self, written: str, served: bool) -> Row:
        """Return the variables that all pages share.

        Args:
            written: when the pages or their tables were written.
            served: whether every neuron has a page.
        """
        model: Row = self.run["model"]
        title = model_title(model["name"], model["fingerprint"], model.get("seed"))
        fingerprint = self.facts.stages["topk"]["fingerprint"]
        return {
            "model": {**model, "title": title},
            "names": self.facts.names,
            "written": written,
            "fingerprint": fingerprint,
            "served": served,
        }

    def figure(self, name: str) -> bytes:
        """Return a figure of the run."""
        with self.store.filesystem.open_input_stream(self.store.path(name), compression=None) as stream:
            content: bytes = stream.read()
        return content

    def search_index(self, chosen: list[Pair]) -> str:
        """Return the script with the index for the search field of a static site."""
        facts = self.facts
        terms = {kind: self._terms("patterns", pc.field("kind") == kind, "pattern", "support") for kind in KINDS}
        terms["mark"] = self._terms("profiles", pc.field("property") == "punctuation", "value", "count")
        if "audit/neurons" in facts.table_names:
            verdicts = facts.read("audit/neurons", pc.field("verdict") != "none", [*POLE, "verdict"])
            named = pc.binary_join_element_wise(VERDICT, verdicts["verdict"], "")
            terms["data sets"] = verdicts.append_column("term", named)
        explanations = facts.read("explanations", pc.field("verdict") != "none", [*POLE, "text"])
        pairs = [(layer, unit) for layer, width in facts.units.by_layer.items() for unit in range(width)]
        keys = [(*pair, pole) for pair in pairs if pair not in facts.silent for pole in facts.poles]
        return search_index(facts.scores.to_pylist(), explanations.to_pylist(), terms, keys, chosen)

    def _terms(self, table: str, where: pc.Expression, term: str, count: str) -> pa.Table:
        """Return the strongest findings of a table as terms."""
        sure = (pc.field("g2") > 0) & (pc.field("rank") <= STRONGEST) & (pc.field("q_value") < MAX_Q)
        found = self.facts.read(table, where & sure & (pc.field(count) >= LEAST_COUNT), [*POLE, term])
        return found.rename_columns([*POLE, "term"])

    def pages(self, best: int, chosen: list[Pair], winners: int, written: str) -> Iterator[tuple[str, str | bytes]]:
        """Yield the files of a static site, each as its name and its content.

        Args:
            best: the number of neurons that the overview's list of scores has.
            chosen: the neurons that get pages, in order.
            winners: number of winners that a neuron's page lists for each pole.
            written: when the site is written.
        """
        shared = self.shared(written, served=False)
        yield "index.html", render("overview.html", {**shared, **self.overview(best, chosen), "root": ""})
        for name in ASSETS:
            yield name, (FOLDER / name).read_text(encoding="utf-8")
        yield "search.js", self.search_index(chosen)
        shared |= {"root": "../", "pages": chosen}
        for first in range(0, len(chosen), NEURONS_PER_READ):
            for page in self.neurons(chosen[first : first + NEURONS_PER_READ], winners):
                layer, unit = page["layer"], page["unit"]
                context = {**shared, **page, "neighbours": neighbours((layer, unit), chosen)}
                yield f"neurons/{layer}-{unit}.html", render("neuron.html", context)
        for job in side_jobs(self.run):
            yield f"side/{job}.html", render("side.html", {**shared, **side_context(self.store, self.run, job)})
            for name in drawings(self.run, job):
                yield f"figures/{copy_name(name)}", self.figure(name)


def neighbours(pair: Pair, among: Sequence[Pair]) -> Row:
    """Return the closest unit before and after a neuron in its layer, among the neurons that have pages.

    >>> neighbours((1, 5), [(1, 9), (2, 6), (1, 5), (1, 2), (1, 7)])
    {'before': (1, 2), 'after': (1, 7)}
    """
    units = [other for other in among if other[0] == pair[0]]
    return {
        "before": max((other for other in units if other < pair), default=None),
        "after": min((other for other in units if other > pair), default=None),
    }
