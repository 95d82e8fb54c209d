"""`--units`: the neurons that a stage processes, if these are not all neurons of the run."""

from jobs.options.configs import MOST_UNITS, UnitsConfig
from jobs.run_folder.run import Run
from jobs.stage.scored import Scored
from ops.errors import InputError
from ops.topk.neurons import Neurons, in_order


def chosen_units(config: UnitsConfig, run: Run, done: str) -> tuple[str, ...]:
    """Return the neurons that a stage must process, in order and without repeats; an empty tuple means all of the run.

    Args:
        done: what is done with them, such as `mined`.
    """
    # A dry run that plans `topk` too knows only the number of neurons.
    if not (config.units and run.is_expected("topk")):
        check_units(config.units, Scored.of(run).neurons, done)
    return in_order("--units", config.units)


def check_units(units: tuple[str, ...], neurons: Neurons, done: str) -> None:
    """Refuse neurons that do not exist, and refuse to process more than `MOST_UNITS` neurons if none is named.

    Args:
        done: what is done with them, such as `mined`.

    Raises:
        InputError: a name is not of the form LAYER:UNIT or not one of these neurons, or there are too many neurons.
    """
    neurons.named(units)
    if len(neurons) > MOST_UNITS and not units:
        few = f"the run has {len(neurons):,} neurons, and at most {MOST_UNITS:,} are {done} by default"
        raise InputError(f"--units is missing: {few}; name some, LAYER:UNIT such as 3:17, repeatable")
