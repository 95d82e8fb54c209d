"""The end of `positions`: the shards together become the tables and figures."""

import json
from typing import Any

import pyarrow as pa

from jobs.stage.corpus_pass import CorpusPass
from jobs.stage.layout import pilot_file
from jobs.steps.positions.measure import PositionsArgs
from ops.positions.figures import draw_all
from ops.positions.labels import Labelled, label_rows
from ops.positions.partial_file import NOTES, merge_partials
from ops.positions.pilot import read_pilot
from ops.positions.tables import (
    class_rows,
    norm_rows,
    perplexity_position_rows,
    perplexity_rows,
    position_rows,
    similarity_rows,
)
from ops.schema import schema
from ops.storage.tables import write_part


def publish(job: CorpusPass, args: PositionsArgs, label: str | None, texts: Labelled | None) -> None:
    """Merge the shards in their order, write the tables, draw the figures from them, and record the counts."""
    store, facts = job.stage.store, args.facts
    totals, features, notes = merge_partials(store, [output.path for output in job.partials])
    with store.parquet(pilot_file("positions").path) as file:
        pilot = file.schema_arrow.metadata[NOTES]
        _, norms = read_pilot(file.read())
    lost = sorted(i for note in notes for i in note["unscored"])
    scored = sum(note["scored"] for note in notes)
    counts: dict[str, Any] = {n: sum(note[n] for note in notes) for n in ("tokens", "truncated", "unpredicted")}
    counts |= {"variants": list(args.variants), "pilot_texts": json.loads(pilot)["texts"], "unscored_texts": lost[:100]}
    counts["without_a_position"] = {v: n for v in args.variants if (n := sum(note["beyond"][v] for note in notes))}
    if scored:
        tables = {
            "positions/similarity": similarity_rows(totals, facts, args.seed),
            "positions/by_class": class_rows(totals, facts),
            "positions/by_position": position_rows(totals, facts),
            "positions/perplexity": perplexity_rows(totals, facts),
            "positions/perplexity_by_position": perplexity_position_rows(totals, facts),
            "positions/norms": norm_rows(totals, facts, norms),
        }
        if label is not None and texts is not None:
            rows = label_rows(facts.name, label, texts, features, args.seed)
            tables["positions/labels"] = pa.Table.from_pylist(rows, schema("positions/labels"))
        for name, table in tables.items():
            # An encoder predicts nothing: it has no tables of perplexities, rather than empty ones.
            if table.num_rows or "perplexity" not in name:
                write_part(store, name, 0, schema(name), [table], job.stage.fingerprint)
        counts["figures"] = draw_all(store, tables, facts.title)
    job.finish(scored, len(lost), counts)
