"""Print one neuron (its sentences, what they have in common, against the corpus) or one attention head.

    python -m jobs.show --out runs/small --neuron 3:17
    python -m jobs.show --out s3://bucket/run --neuron 11:309 --pole bottom --rows 20
    python -m jobs.show --out runs/psi --psi 4:2

Reads the tables of a finished run; starts no Ray.
"""

import shutil
import sys
from typing import Literal

import pyarrow.compute as pc
from pydantic import Field

from jobs._config import JobConfig, main
from jobs._record import Run
from jobs._show import parse_pair, read
from jobs._show_head import show_head
from ops.errors import InputError
from ops.show import lay_out_neuron
from ops.storage.store import Store


class ShowConfig(JobConfig):
    """Options of `show`."""

    neuron: str = Field("", description="LAYER:UNIT, layers from 1, units from 0")
    psi: str = Field("", description="LAYER:HEAD, layers from 1, heads from 0: the tokens that a head stretches most")
    pole: Literal["top", "bottom"] = Field("top", description="highest or lowest activations")
    rows: int = Field(10, ge=1, description="lines of each list")


def run(config: ShowConfig) -> None:
    """Print the neuron or the head."""
    width = max(shutil.get_terminal_size((110, 24)).columns, 60)
    if config.psi:
        if config.neuron:
            raise InputError("--psi with --neuron: shows one thing at a time; give one of the two")
        print(show_head(Run(config.out, create=False), config.psi, config.rows, width))
        return
    layer, unit = parse_pair("--neuron", config.neuron, "LAYER:UNIT, such as 3:17 (layers from 1, units from 0)")
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
    print(lay_out_neuron(neuron[0], config.pole, winners, patterns, profiles, means, config.rows, width))


def known(store: Store) -> str:
    """Say which neurons a run has."""
    rows = read(store, "neurons", pc.scalar(True), ["layer", "unit"])
    layers = sorted({r["layer"] for r in rows})
    return f"layers run from 1 to {layers[-1]}, units from 0 to {max(r['unit'] for r in rows)}"


if __name__ == "__main__":
    sys.exit(main(ShowConfig, "show", str(__doc__).splitlines()[0], run))
