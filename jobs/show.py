"""Print one neuron: its sentences, what they have in common, and how that differs from the corpus.

    python -m jobs.show --out runs/small --neuron 3:17
    python -m jobs.show --out s3://bucket/run --neuron 11:309 --pole bottom --rows 20

Reads the tables of a finished run; starts no Ray.
"""

import shutil
import sys
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pydantic import Field

from jobs._config import JobConfig, main
from jobs._record import Run
from ops.errors import InputError
from ops.show_neuron import lay_out
from ops.storage import Store


class ShowConfig(JobConfig):
    """Options of `show`."""

    neuron: str = Field("", description="LAYER:UNIT, layers from 1, units from 0")
    pole: Literal["top", "bottom"] = Field("top", description="highest or lowest activations")
    rows: int = Field(10, ge=1, description="lines of each list")


def run(config: ShowConfig) -> None:
    """Print the neuron."""
    layer, unit = parse_neuron(config.neuron)
    record = Run(config.out, create=False)
    for stage in ("topk", "annotate", "mine"):
        record.require(stage)
    store = record.store
    here = (pc.field("layer") == layer) & (pc.field("unit") == unit)
    neuron = read(store, "neurons", here)
    if not neuron:
        raise InputError(f"--neuron {config.neuron}: there is no such neuron; {known(store)}")
    own = here & (pc.field("pole") == config.pole)
    winners = read(store, "topk", own)
    if not winners:
        raise InputError(f"--pole {config.pole}: this run kept only the other pole")
    shown = {w["sent_id"] for w in winners[: config.rows]}
    texts = {
        s["sent_id"]: s
        for s in read(store, "sentences", pc.field("sent_id").isin(shown), ["sent_id", "text", "dataset"])
    }
    winners = [{**w, **texts.get(w["sent_id"], {})} for w in winners]
    patterns, profiles, means = (read(store, table, own) for table in ("patterns", "profiles", "means"))
    width = max(shutil.get_terminal_size((110, 24)).columns, 60)
    print(lay_out(neuron[0], config.pole, winners, patterns, profiles, means, config.rows, width))


def parse_neuron(text: str) -> tuple[int, int]:
    """Read LAYER:UNIT.

    Raises:
        InputError: it is not two whole numbers.
    """
    layer, colon, unit = text.partition(":")
    if not (colon and layer.isdigit() and unit.isdigit()):
        raise InputError(f"--neuron {text!r}: expected LAYER:UNIT, such as 3:17 (layers from 1, units from 0)")
    return int(layer), int(unit)


def read(store: Store, table: str, where: pc.Expression, columns: list[str] | None = None) -> list[dict[str, Any]]:
    """Give a table's rows for which `where` holds, in the table's order."""
    files = [store.path(f"{table}/{name}") for name in store.files(table, ".parquet")]
    found: pa.Table = ds.dataset(files, filesystem=store.filesystem, format="parquet").to_table(
        filter=where, columns=columns
    )
    rows: list[dict[str, Any]] = found.to_pylist()
    return rows


def known(store: Store) -> str:
    """Say which neurons a run has."""
    rows = read(store, "neurons", pc.scalar(True), ["layer", "unit"])
    layers = sorted({r["layer"] for r in rows})
    return f"layers run from 1 to {layers[-1]}, units from 0 to {max(r['unit'] for r in rows)}"


if __name__ == "__main__":
    sys.exit(main(ShowConfig, "show", str(__doc__).splitlines()[0], run))
