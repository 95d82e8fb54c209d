"""The pages of a run, rendered from its tables: an overview, chosen neurons, and side jobs."""

from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache

import pyarrow.compute as pc
from scipy.sparse import csc_array

from ops.arrays import Float32s, Int64s
from ops.facts.best import best_findings, said_also, said_in_brief
from ops.facts.findings import LEAST_COUNT
from ops.facts.neuron_facts import read_neurons, read_sentences
from ops.facts.rows import POLE, Key, Pair, Row, any_of, grouped, key_of
from ops.facts.run_facts import RunFacts
from ops.facts.search import Searcher, by_verdict
from ops.facts.text import plain
from ops.model.names import model_title, without_place
from ops.report.neuron_page import neuron_context, quantile_samples
from ops.report.overview import map_data
from ops.report.pages import ASSETS, FOLDER, render
from ops.report.search_index import COLUMNS, LISTED, search_index
from ops.report.shading import with_own_winner
from ops.report.side_jobs import SIDE_JOBS
from ops.report.side_pages import figures, side_context, side_jobs
from ops.schema import layer_columns
from ops.topk.activation_sample import dense, sample_of_layer
from ops.topk.silent import heard

MOST_SAID = 4  # maximum number of words for a neuron in a row of the overview
MOST_DRAWN = 2  # maximum number of a side job's figures on the overview
RULES = 50  # maximum number of findings on the overview
NEURONS_PER_READ = 64  # number of neurons whose rows are read together
SECONDS = 3_600.0  # maximum duration of reading the index of the search
LAYERS_KEPT = 2  # number of layers whose activation sample is cached; a layer of 768 units takes about 30 MB


class Site:
    """The pages of a run, rendered from its current tables.

    Args:
        facts, run: what is known about the run, whose stage ingest must be complete too, and its run.json.
        written: when the pages or their tables were written.
        winners: number of winners that a neuron's page lists for each pole.
        served: whether pages are rendered on request, so that every neuron has one.
    """

    def __init__(self, facts: RunFacts, run: Row, *, written: str, winners: int, served: bool = False) -> None:
        self.facts, self.run, self.winners = facts, run, winners
        self.store = facts.tables.store
        self.side_jobs = side_jobs(run)
        self._figures = {figure["file"]: figure["name"] for job in self.side_jobs for figure in figures(run, job)}
        self.files = [*ASSETS, *self._figures]
        self._sample = lru_cache(LAYERS_KEPT)(self._sample_of)
        model = run["model"]
        self._shared: Row = {
            "model": {**model, "title": model_title(model["name"], model["fingerprint"], model.get("seed"))},
            "names": facts.names,
            "written": written,
            "fingerprint": facts.stages["topk"]["fingerprint"],
            "served": served,
        }

    @cached_property
    def findings(self) -> list[Row]:
        """The distinct findings of the run (`ops.facts.best`)."""
        return best_findings(self.facts)

    def render(self, template: str, context: Row, root: str) -> str:
        """Return a page; `root` is the path from the page to the overview's folder."""
        return render(template, {**self._shared, **context, "root": root})

    def choose(self, best: int, named: Sequence[Pair]) -> list[Pair]:
        """Return the neurons that get pages: the named neurons and the `best` best ones.

        The best neurons are those of distinct findings, followed by the neurons of the highest excess scores
        or, if the run knows none, by the most skewed neurons that were mined.
        """
        facts = self.facts
        ranked = [(row["layer"], row["unit"]) for row in (*self.findings, *facts.scored()[:best])]
        if not facts.scored():
            rows = heard(facts.read("neurons", None, ["layer", "unit", "skew"]), facts.silent).to_pylist()
            skewed = sorted(rows, key=lambda row: -abs(row["skew"] or 0.0))
            ranked += [pair for pair in ((row["layer"], row["unit"]) for row in skewed) if facts.is_mined(*pair)][:best]
        return list(dict.fromkeys([*named, *list(dict.fromkeys(ranked))[:best]]))

    def overview(self, best: int, chosen: list[Pair]) -> str:
        """Return the overview, which lists the `best` best scores and the pages of the chosen neurons."""
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
        heard_tables = {name: heard(rows, facts.silent) for name, rows in tables.items()}
        across = {key_of(row): plain(row["verdict"]) for row in heard_tables["audit"].to_pylist()}
        drawn = map_data(heard_tables, facts.units.widths, facts.poles, facts.units.first)
        served = self._shared["served"]
        context = {
            "map": {**drawn, "pages": [] if served else [f"{a}-{b}" for a, b in chosen], "every": served},
            "brief": said_in_brief(facts),
            "rules": [
                row | {"across": across.get(key_of(row)), "others": said_also(row)} for row in self.findings[:RULES]
            ],
            "audited": bool(across),
            "findings": len(self.findings),
            "best": self._described(facts.scored()[:best]),
            "pages": chosen,
            "sides": [
                {"job": job, "title": SIDE_JOBS[job].title, "figures": figures(self.run, job)[:MOST_DRAWN]}
                for job in self.side_jobs
            ],
            "n_neurons": len(facts.units),
            "sentences": topk["counts"]["scored"],
            "k": f"{topk['identity']['k']:,}",
            "options": topk["identity"],
            "sources": without_place(facts.stages["ingest"]["counts"]["sources"]),
            "stages": {name: entry for name, entry in facts.stages.items() if name != "report"},
        }
        return self.render("overview.html", context, "")

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

    def neurons(self, chosen: Sequence[Pair]) -> list[Row]:
        """Return the template's variables for each of these neurons."""
        samples = self._samples(chosen)
        sentences = read_sentences(self.facts, {row["sent_id"] for rows in samples.values() for row in rows})
        return [
            neuron_context(poles, [row | sentences[row["sent_id"]] for row in samples[pair]])
            for pair, poles in zip(chosen, read_neurons(self.facts, chosen, self.winners), strict=True)
        ]

    def neuron_pages(self, chosen: Sequence[Pair], among: Sequence[Pair], own: Row | None = None) -> Iterator[str]:
        """Yield the pages of some neurons, each with links to its neighbours among the neurons that have pages.

        `own` is a text of the reader's own, to be shown among the winners.
        """
        for first in range(0, len(chosen), NEURONS_PER_READ):
            for page in self.neurons(chosen[first : first + NEURONS_PER_READ]):
                around = {"neighbours": neighbours((page["layer"], page["unit"]), among), "pages": among, "own": own}
                if own is not None:
                    page["poles"] = [with_own_winner(pole, own) for pole in page["poles"]]
                yield self.render("neuron.html", page | around, "../")

    def side(self, job: str) -> str:
        """Return the page of a side job."""
        return self.render("side.html", side_context(self.store, self.run, job), "../")

    def file(self, name: str) -> bytes:
        """Return one of `files`: the style sheet, the script, or a copy of a figure of the run."""
        if name in ASSETS:
            return (FOLDER / name).read_bytes()
        path = self.store.path(self._figures[name])
        with self.store.filesystem.open_input_stream(path, compression=None) as stream:
            content: bytes = stream.read()
        return content

    def _samples(self, chosen: Sequence[Pair]) -> dict[Pair, list[Row]]:
        """Return sentences at several quantiles for each neuron; a layer's activations are read once."""
        samples: dict[Pair, list[Row]] = {}
        for layer in sorted({layer for layer, _ in chosen}):
            ids, values = self._sample(layer)
            units = [unit for of, unit in chosen if of == layer]
            samples |= {(layer, unit): quantile_samples(ids, dense(values[:, [unit]])[:, 0]) for unit in units}
        return samples

    def _sample_of(self, layer: int) -> tuple[Int64s, Float32s | csc_array]:
        """Return the ids of the activation sample, `[sentences]`, and a layer's activations."""
        columns = ["sent_id", *layer_columns(layer, self.facts.tables.dataset("activations").schema.names)]
        table = self.facts.read("activations", None, columns).combine_chunks()
        return table["sent_id"].to_numpy(), sample_of_layer(table, layer, self.facts.units.width(layer))

    def search_index(self, chosen: list[Pair]) -> str:
        """Return the script with the index for the search field of a static site."""
        facts = self.facts
        known: dict[Key, Row] = {}
        for row in facts.read("explanations", None, [*POLE, "text", "verdict", "margin_low"]).to_pylist():
            known.setdefault(key_of(row), {}).update(row)
        for row in facts.scores.to_pylist():
            known.setdefault(key_of(row), {}).update(auc=row["auc"], auc_excess=row["auc_excess"])
        for row in facts.read("audit/neurons", None, [*POLE, "verdict"]).to_pylist():
            known.setdefault(key_of(row), {}).update(across=row["verdict"])
        pairs = [(layer, unit) for layer, width in facts.units.by_layer.items() for unit in range(width)]
        keys = [(*pair, pole) for pair in pairs if pair not in facts.silent for pole in facts.poles]
        keys.sort(key=lambda key: by_verdict(key, known.get(key, {})))
        evidence = Searcher.of(facts, SECONDS).index(COLUMNS, LISTED)
        return search_index(evidence, keys, known, chosen)

    def pages(self, best: int, chosen: list[Pair]) -> Iterator[tuple[str, str | bytes]]:
        """Yield the files of a static site with pages of the chosen neurons, each as its name and its content."""
        yield "index.html", self.overview(best, chosen)
        yield "search.js", self.search_index(chosen)
        for (layer, unit), page in zip(chosen, self.neuron_pages(chosen, chosen), strict=True):
            yield f"neurons/{layer}-{unit}.html", page
        for job in self.side_jobs:
            yield f"side/{job}.html", self.side(job)
        for name in self.files:
            yield name, self.file(name)


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
