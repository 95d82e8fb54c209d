"""Where a pass of the model over the corpus runs: on which device, with how many workers, and what each holds."""

import sys
from dataclasses import dataclass
from typing import Any

from jobs.engine.connect import gpu_pool_size, has_gpus, on_cluster, pool_size
from jobs.stage.config import PlacementConfig


@dataclass(frozen=True)
class Placement:
    """Where the model runs, and what its workers hold.

    Attributes:
        device: where torch computes.
        token_budget: tokens of a batch.
        threads: of a worker; None on a GPU.
        workers: most workers; None for as many as a cluster brings up.
        holds: what each worker holds of a machine, `cpus` or `gpus`.
    """

    device: str
    token_budget: int
    threads: int | None
    workers: int | None
    holds: dict[str, Any]

    @property
    def identity(self) -> dict[str, Any]:
        """What of it results depend on."""
        return {"device": self.device, "threads": self.threads, "token_budget": self.token_budget}

    @property
    def reads_ahead(self) -> bool:
        """Whether shards are read and tokenized on cores of their own, ahead of workers that hold GPUs."""
        return "gpus" in self.holds


def choose_placement(config: PlacementConfig) -> Placement:
    """Choose device, size of a batch and number of workers."""
    gpu = config.device == "cuda" or (config.device == "auto" and (config.gpus is not None or has_gpus()))
    budget = config.token_budget or (32_768 if gpu else 2_048)
    if not gpu:
        if on_cluster() and config.device == "auto":
            print("no GPU is up on the cluster: on CPUs; --device cuda, or --gpus N, asks for GPUs", file=sys.stderr)
        return Placement(
            "cpu", budget, config.threads, pool_size(config.workers, config.threads), {"cpus": config.threads}
        )
    limits = [
        n for n in (gpu_pool_size(config.gpus), pool_size(config.workers) if config.workers != "auto" else None) if n
    ]
    return Placement("cuda", budget, None, min(limits, default=None), {"gpus": 1})
