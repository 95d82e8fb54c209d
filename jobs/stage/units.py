"""`--units`: the neurons that a stage is done for, where these are not all of the run's."""

from jobs.stage.options import MOST_UNITS, UnitsConfig
from jobs.stage.run import Run
from ops.errors import InputError
from ops.topk.neuron_names import in_order
from ops.topk.neurons import Neurons, read_neurons


def chosen_units(config: UnitsConfig, record: Run, done: str) -> tuple[str, ...]:
    """Return the neurons that a stage is to be done for, in order and each once; none: all of the run's.

    Args:
        config: the options.
        record: the run, whose `topk` is complete.
        done: what is done with them, such as `mined`.

    Raises:
        InputError: as `check_units` raises it.
    """
    if record.is_expected("topk"):
        # How many layers there will be is not known yet.
        check_number(config.units, record.require("topk")["counts"]["neurons"], done)
    else:
        check_units(config.units, read_neurons(record.store), done)
    return in_order("--units", config.units)


def check_units(units: tuple[str, ...], neurons: Neurons, done: str) -> None:
    """Refuse neurons that there are not, and to do too many without being asked to.

    Args:
        units: as they were given.
        neurons: those of the run.
        done: what is done with them, such as `mined`.

    Raises:
        InputError: one of them is not a LAYER:UNIT or not one of these neurons, or there are too many.
    """
    neurons.named(units)
    check_number(units, len(neurons), done)


def check_number(units: tuple[str, ...], neurons: int, done: str) -> None:
    """Refuse to do all of more than `MOST_UNITS` neurons.

    Raises:
        InputError: there are so many, and none is named.
    """
    if neurons > MOST_UNITS and not units:
        few = f"the run has {neurons:,} neurons, and at most {MOST_UNITS:,} are {done} by default"
        raise InputError(f"--units is missing: {few}; name some, LAYER:UNIT such as 3:17, repeatable")
