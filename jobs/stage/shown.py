"""What `show`, `report` and `browse` read of a run: its facts, after a check that their tables are in place."""

from jobs.run_folder.run import RunReader
from ops.facts.neuron_facts import TABLES_READ
from ops.facts.run_facts import RunFacts

REQUIRED = ("topk", "annotate", "mine")
OPTIONAL = ("explain", "tokens", "outputs", "audit", "compare/neighbours", "contrast")


def read_facts(run: RunReader) -> RunFacts:
    """Return what is known about a run.

    Raises:
        InputError: a stage that every page needs is not complete, or a table is not as it was written.
    """
    for stage in REQUIRED:
        run.require(stage)
    run.check_files(*REQUIRED, *filter(run.complete, OPTIONAL), only=TABLES_READ)
    return RunFacts(run.store, run.record)
