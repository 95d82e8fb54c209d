"""The step of `tokens` that writes: all pieces' winners by neuron become the tables."""

from typing import Any

import pyarrow as pa

from jobs.engine.item import Item
from jobs.stage.layout import Output, shard_file, table_part
from jobs.stage.runner import Step
from jobs.steps.tokens.read import TokensArgs
from ops.mine.row_groups import row_groups
from ops.schema import group_rows, schema
from ops.storage.range_file import read_each_between
from ops.storage.tables import write_part
from ops.tokens.partial_file import token_rows
from ops.tokens.peaks import peak_rows
from ops.topk.neurons import POLES, parts, set_number

LITTLE = 100_000  # winners that are written sooner than a pool of workers is there


def write_step(args: TokensArgs, piece_numbers: list[int], winners: int) -> Step:
    """Return the step that writes the tables, a part for each range of neurons.

    Args:
        args: what the workers are made from.
        piece_numbers: all that were read.
        winners: how many there are.
    """
    items = [{"part": part, "first": first, "stop": stop} for part, first, stop in parts(len(args.neurons))]
    made = {"args": args, "piece_numbers": piece_numbers}
    here = winners < LITTLE
    return Step("tokens: write", items, written_outputs, RangeWriter, made, "ranges of neurons", here=here)


def written_outputs(item: Item) -> list[Output]:
    """Return the parts of a range of neurons."""
    name = f"neurons-{item['first']}-{item['stop']}"
    return [table_part(table, item["part"], name) for table in ("peaks", "token_activations")]


class RangeWriter:
    """Writes the rows of one range of neurons, all pieces together."""

    def __init__(self, args: TokensArgs, piece_numbers: list[int]) -> None:
        self.args, self.piece_numbers = args, piece_numbers

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Write one range."""
        args, ends = self.args, (0, len(POLES) - 1)
        first, last = (set_number(n, pole) for n, pole in zip((item["first"], item["stop"] - 1), ends, strict=True))
        names = (shard_file("tokens", piece).path for piece in self.piece_numbers)
        found = read_each_between(args.store, names, "set", first, last)
        rows = pa.concat_tables(found).sort_by([("set", "ascending"), ("rank", "ascending")]).combine_chunks()
        peak = rows["peak"].to_numpy()
        peaks = peak_rows(args.neurons, rows["set"].to_numpy(), rows["words"], rows["tags"], peak)
        written = {"peaks": peaks, "token_activations": token_rows(rows, args.neurons)}
        for (name, table), output in zip(written.items(), written_outputs(item), strict=True):
            neuron = args.neurons.number(table["layer"].to_numpy(), table["unit"].to_numpy())
            groups = row_groups(table, neuron, group_rows(name))
            footer = output.footer(args.fingerprint, table.num_rows)
            write_part(args.store, name, item["part"], schema(name), groups, args.fingerprint, footer)
        return {}
