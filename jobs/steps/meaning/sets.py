"""The confusion sets of `meaning`: every set's classifiers are trained and tested, and their outcomes published."""

import json
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from jobs.engine.item import Item
from jobs.stage.corpus_pass import CorpusPass
from jobs.stage.layout import Output, shard_file
from jobs.stage.runner import Step
from jobs.stage.stages import STAGES
from jobs.steps.meaning.confusion import CONFUSION, ConfusionArgs
from ops.errors import InputError, counted
from ops.meaning.confusion import Examples, from_which_layer, measure_set
from ops.meaning.confusion_figure import draw_confusion
from ops.schema import schema
from ops.storage.side_by_side import LARGE_FILES_AT_ONCE, side_by_side
from ops.storage.tables import write_part


def sets_step(args: ConfusionArgs) -> Step:
    """Return the step that trains and tests the classifiers of every set."""
    items = [{"set": i} for i in range(len(args.sets))]
    return Step("meaning: confusion", items, lambda item: [set_file(item["set"])], SetMeasurer, {"args": args}, "sets")


def set_file(number: int) -> Output:
    """Return the file of the outcomes of a set."""
    return Output(f"{STAGES[CONFUSION].partials}/union-{number:05d}.parquet", f"set-{number}")


class SetMeasurer:
    """Measures one confusion set after another."""

    def __init__(self, args: ConfusionArgs) -> None:
        self.args, self.store = args, args.store

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Train and test the classifiers of one set and commit their outcomes."""
        args, number = self.args, item["set"]

        def own(shard: int) -> pa.Table:
            with self.store.parquet(shard_file(CONFUSION, shard).path) as file:
                table = file.read()
            return table.filter(pc.equal(table["set"], number)).replace_schema_metadata(None)

        parts = list(side_by_side(own, range(args.shards), LARGE_FILES_AT_ONCE))
        # By their seeded order; the shards come in theirs, so that of equal ones the first stays first.
        table = pa.concat_tables(parts).combine_chunks()
        table = table.take(pa.array(np.argsort(table["order"].to_numpy(), kind="stable")))
        has_state = table["state"].is_valid().to_numpy()
        states = np.array([s for s in table["state"].to_pylist() if s is not None], np.float32)
        examples = Examples(
            table["label"].to_numpy(), table["tested"].to_numpy(), table["words"].to_pylist(),
            states.reshape(-1, args.facts.layers, args.facts.width), has_state,
        )  # fmt: skip
        rows, not_converged = measure_set(" ".join(args.sets[number]), examples, args.seed)
        output = set_file(number)
        found = pa.Table.from_pylist(rows, schema(CONFUSION))
        notes = {b"atlas.notes": json.dumps({"not_converged": not_converged}).encode()}
        described = found.replace_schema_metadata(output.footer(args.fingerprint, len(rows)) | notes)
        self.store.commit(output.path, lambda path: pq.write_table(described, path, compression="zstd"))
        return {"set": number}


def publish(job: CorpusPass, args: ConfusionArgs, asked: bool) -> list[str]:
    """Write meaning/confusion and its figure, record the counts, and return the sets that were left out.

    Args:
        job, args: the pass, and what its workers were made from.
        asked: whether the sets were named by the user.

    Raises:
        InputError: they were, and none of them has examples of two words in enough documents.
    """
    store, names = job.stage.store, [" ".join(words) for words in args.sets]
    tables, not_converged = [], 0
    for item in sets_step(args).items:
        with store.parquet(set_file(item["set"]).path) as file:
            # A file of an earlier version has no notes.
            not_converged += json.loads(file.schema_arrow.metadata.get(b"atlas.notes", b"{}")).get("not_converged", 0)
            tables.append(file.read().replace_schema_metadata(None))
    table = pa.concat_tables(tables).cast(schema(CONFUSION))
    rows = table.to_pylist()

    def of_shard(shard: int) -> dict[str, Any]:
        with store.parquet(shard_file(CONFUSION, shard).path) as file:
            said: dict[str, Any] = json.loads(file.schema_arrow.metadata[b"atlas.notes"])
        return said

    notes = list(side_by_side(of_shard, range(args.shards)))
    found = np.sum([note["found"] for note in notes], 0).tolist()
    left_out = [name for name in names if not any(row["set"] == name for row in rows)]
    if asked and len(left_out) == len(names):
        raise InputError(
            f"--confusion: {names[0]!r} occurs {found[0]} times: too few, of one of its words alone, or in too few "
            "documents to train and to test on; name other sets, or leave the part out by --parts"
        )
    if not_converged:
        few = f"{counted(not_converged, 'classifier')} of the confusion sets did not converge"
        print(f"meaning: {few}; with more steps they might be right more often", file=sys.stderr)
    ordered = table.sort_by([(column, "ascending") for column in ("set", "features", "n")])
    write_part(store, CONFUSION, 0, schema(CONFUSION), [ordered], args.fingerprint)
    own = {name: [r for r in rows if r["set"] == name] for name in names}
    layers, alike = ({n: from_which_layer(r, args.facts.layers, a) for n, r in own.items()} for a in (False, True))
    counts = {
        "sentences": args.sentences, "scored": args.sentences, "found": dict(zip(names, found, strict=True)),
        "left_out": left_out, "state_beats_words_from": layers,
        "state_beats_words_from_at_equal_n": alike,
        "not_finite": sum(note["not_finite"] for note in notes), "not_converged": not_converged,
        "figures": draw_confusion(store, rows, args.facts.title) if rows else [],
    }  # fmt: skip
    job.stage.finish(counts)
    return left_out
