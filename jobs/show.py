"""Print one neuron (its sentences, what they have in common, against the corpus) or one attention head.

    python -m jobs.show --out runs/small --neuron 3:17
    python -m jobs.show --out s3://bucket/run --neuron 11:309 --pole bottom --rows 20
    python -m jobs.show --out runs/psi --psi 4:2

Reads the tables of a finished run; starts no Ray.
"""

import shutil
import sys
from typing import ClassVar, Literal

from pydantic import Field

from jobs.stage.command_line import main
from jobs.stage.config import JobConfig


class ShowConfig(JobConfig):
    """Options of `show`."""

    heading: ClassVar[tuple[int, str]] = (10, "What to show")

    neuron: str = Field("", description="LAYER:UNIT, layers from 1, units from 0")
    psi: str = Field("", description="LAYER:HEAD, layers from 1, heads from 0: the tokens that a head stretches most")
    pole: Literal["top", "bottom"] = Field("top", description="highest or lowest activations")
    rows: int = Field(10, ge=1, description="lines of each list")


def run(config: ShowConfig) -> None:
    """Print the neuron or the head."""
    from jobs.stage.record import Run
    from jobs.steps.show import show_head, show_neuron
    from ops.errors import InputError

    width = max(shutil.get_terminal_size((110, 24)).columns, 60)
    if config.psi:
        if config.neuron:
            raise InputError("--psi with --neuron: shows one thing at a time; give one of the two")
        print(show_head(Run(config.out, create=False), config.psi, config.rows, width))
        return
    record = Run(config.out, create=False)
    print(show_neuron(record, config.neuron, config.pole, config.rows, width))


if __name__ == "__main__":
    sys.exit(main(ShowConfig, "show", str(__doc__).splitlines()[0], run))
