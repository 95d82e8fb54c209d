"""Ranges of neurons and blocks of sentences as items of a step, and the part of a table that belongs to a range."""

from jobs.engine.item import Item
from jobs.stage.outputs import TablePart, table_part
from ops.shards import spans
from ops.topk.neurons import parts

# winners of one pole in a range; the fewest and most neurons in a range
WINNERS_PER_RANGE, NEURONS_PER_RANGE = 160_000, (16, 64)


def neuron_ranges(neurons: int, k: int, extra: int = 0) -> list[Item]:
    """Return ranges of neurons as items, by position; if neurons have many winners (`k`), ranges are shorter.

    Otherwise a range would take minutes, and so would the last round of the workers. `extra` sets that belong to no
    neuron follow in ranges of their own, numbered as if they belonged to further neurons.
    """
    size = min(max(WINNERS_PER_RANGE // max(k, 1), NEURONS_PER_RANGE[0]), NEURONS_PER_RANGE[1])
    every = [*spans(neurons, size), *((neurons + first, neurons + stop) for first, stop in spans(extra, size))]
    return [{"range": i, "first": first, "stop": stop} for i, (first, stop) in enumerate(every)]


def table_ranges(neurons: int) -> list[Item]:
    """Return the ranges of neurons that have a part of topk/ and neurons/ each, as items."""
    return [{"range": part, "first": first, "stop": stop} for part, first, stop in parts(neurons)]


def sentence_blocks(sentences: int, size: int) -> list[Item]:
    """Return blocks of `size` consecutive sentences as items."""
    return [{"block": i, "first": first, "stop": stop} for i, (first, stop) in enumerate(spans(sentences, size))]


def range_name(item: Item) -> str:
    """Return a name for a range that states its neurons, so that ranges of different sizes are never confused."""
    return f"neurons-{item['first']}-{item['stop']}"


def range_part(table: str, item: Item) -> TablePart:
    """Return the part of a table for a range of neurons."""
    return table_part(table, item["range"], range_name(item))
