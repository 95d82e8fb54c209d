"""The run of the same model with random weights, whose units are probed as a control."""

import numpy as np

from jobs.run_folder.run import RunReader
from jobs.stage.other_run import RunPair
from ops.arrays import Int64s
from ops.compare.activation_vectors import common_rows, sampled_sentences
from ops.errors import counted
from ops.model.names import RANDOM, original_name

_SAME_OF_TOPK = ("site", "pool", "special_tokens", "dictionaries")


def open_random_run(name: str, run: RunReader) -> RunPair:
    """Return a run next to the run with random weights that `--random-run` names.

    Raises:
        InputError: the other run has another corpus, other units or another model, or trained weights.
    """
    pair = RunPair.open("--random-run", name, run, ("topk",))
    pair.check_same_corpus()
    pair.check_same_options("topk", _SAME_OF_TOPK.__contains__)
    here, there = (str(one.record["model"]["name"]) for one in pair.runs)
    if not there.startswith(RANDOM) or original_name(there) != original_name(here):
        raise pair.refused(f"is of {there}; give a run of --model {RANDOM}{original_name(here)} over the same corpus")
    return pair


def common_sample(pair: RunPair) -> Int64s:
    """Return the place in the other run's activation sample of each sentence of this run's.

    Raises:
        InputError: the other run's sample lacks some of these sentences.
    """
    stores = pair.run.store, pair.other.store
    rows, others = common_rows(*stores) if pair.same_ids else (np.zeros(0, np.int64), np.zeros(0, np.int64))
    lacking = len(sampled_sentences(stores[0])) - len(rows)
    if lacking:
        raise pair.refused(
            f"its activation sample lacks {counted(lacking, 'sentence')} of this run's; give both runs the same "
            "options of ingest, --activation-sample and --seed, or score sentences with --sentences"
        )
    return others
