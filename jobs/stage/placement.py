"""Where a pass of the model over the corpus runs: on which device, with how many workers, and what each holds."""

import sys
from dataclasses import dataclass
from typing import Any

from jobs.engine.connect import has_gpus, on_cluster, pool_size
from jobs.stage.config import CorpusPassConfig


@dataclass(frozen=True)
class Placement:
    """Device, tokens of a batch, threads of a worker (None on a GPU), workers, what each of them holds."""

    device: str
    token_budget: int
    threads: int | None
    workers: int
    holds: dict[str, Any]

    @property
    def identity(self) -> dict[str, Any]:
        """What of it results depend on."""
        return {"device": self.device, "threads": self.threads, "token_budget": self.token_budget}


def choose_placement(config: CorpusPassConfig) -> Placement:
    """Choose device, size of a batch and number of workers."""
    gpu = config.device == "cuda" or (config.device == "auto" and has_gpus())
    budget = config.token_budget or (32_768 if gpu else 2_048)
    workers = pool_size(config.workers, config.threads, gpu)
    if on_cluster() and not has_gpus():
        # Machines with GPUs may come up only when a GPU is asked for.
        if gpu and config.workers == "auto":
            print("no GPU is up on the cluster yet: one is asked for; --workers N asks for N", file=sys.stderr)
        elif config.device == "auto":
            print("no GPU is up on the cluster: on CPUs; --device cuda --workers N asks for N GPUs", file=sys.stderr)
    if gpu:
        return Placement("cuda", budget, None, workers, {"gpus": 1})
    return Placement("cpu", budget, config.threads, workers, {"cpus": config.threads})
