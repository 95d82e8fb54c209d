"""Where a pass of the model over the corpus runs: on which device, with how many workers, and what each holds."""

import sys
from dataclasses import dataclass
from typing import Any

from jobs.engine.connect import gpu_pool_size, has_gpus, on_cluster, pool_size
from jobs.engine.machines import gpus_to_come, on_a_gpu
from jobs.stage.options import DeviceConfig, PlacementConfig
from jobs.stage.run import RunReader
from ops.errors import InputError
from ops.model.activations import ScoreOptions
from ops.model.numerics import gpu_bytes, gpu_kind
from ops.model.token_budget import token_budget


@dataclass(frozen=True)
class Placement:
    """Where the model runs, and what its workers hold.

    Attributes:
        device: where torch computes.
        token_budget: tokens of a batch.
        threads: of a worker; None on a GPU.
        workers: most workers; None for as many as a cluster brings up.
        holds: what each worker holds of a machine, `cpus` or `gpus`.
        gpu: this machine's GPU, as `ops.model.numerics.gpu_kind` names it; None on a CPU, and on a cluster.
    """

    device: str
    token_budget: int
    threads: int | None
    workers: int | None
    holds: dict[str, Any]
    gpu: str | None = None

    @property
    def identity(self) -> dict[str, Any]:
        """What of it results depend on."""
        own = {"device": self.device, "threads": self.threads, "token_budget": self.token_budget}
        return own | ({"gpu": self.gpu} if self.gpu else {})

    @property
    def reads_ahead(self) -> bool:
        """Whether shards are read and tokenized on cores of their own, ahead of workers that hold GPUs."""
        return "gpus" in self.holds


def choose_placement(config: PlacementConfig, record: RunReader, stage: str) -> Placement:
    """Choose for a stage device, size of a batch and number of workers.

    Results depend on the size of a batch. So where the option leaves it open, a stage that was begun keeps its own, and
    a new one has what its GPU's memory is good for; on a cluster it waits for that GPU, which it needs anyway.

    Raises:
        InputError: no GPU is to be seen where one was asked for.
    """
    check_device(config)
    gpu = on_gpus(config)
    device = "cuda" if gpu else "cpu"
    budget = config.token_budget if config.token_budget != "auto" else begun_with(record, stage, config.redo, device)
    if not gpu:
        if on_cluster() and config.device == "auto":
            print(
                "no GPU is up on the cluster, so CPUs are used; ask for GPUs with --device cuda or --gpus N",
                file=sys.stderr,
            )
        workers = pool_size(config.workers, config.threads)
        return Placement(device, budget or token_budget(None), config.threads, workers, {"cpus": config.threads})
    limits = [
        n for n in (gpu_pool_size(config.gpus), pool_size(config.workers) if config.workers != "auto" else None) if n
    ]
    workers = min(limits, default=None)
    if budget is None:
        budget = token_budget(_memory(stage, workers or 1, config.dry_run))
    # On a cluster the driver may see none, or another: topk's workers compare theirs with the pilot's.
    own = None if on_cluster() else gpu_kind()
    return Placement(device, budget, None, workers, {"gpus": 1}, own)


def begun_with(record: RunReader, stage: str, redo: bool, device: str) -> int | None:
    """Return the tokens of a batch with which a stage was begun on such a device; None where it begins now.

    Args:
        record: the run.
        stage: the stage.
        redo: whether it is to be done again, so that only what an earlier `--redo` left unfinished counts.
        device: the kind of device that it is to run on now.
    """
    entry = record.stage(stage) or {}
    at_work = entry.get("redo", {} if redo and not entry.get("redone") else entry)
    identity = at_work.get("identity", {})
    return identity.get("token_budget") if identity.get("device") == device else None


def _memory(stage: str, workers: int, dry_run: bool) -> int:
    """Return the bytes of memory of a worker's GPU; a dry run, which asks for no machine, takes its own or the largest.

    Raises:
        InputError: torch sees none where it should.
    """
    if dry_run:
        return gpu_bytes() or 1 << 40
    found = on_a_gpu(gpu_bytes, stage, workers - 1)
    if found is None:
        raise InputError(f"--device cuda: {stage} ran on a machine whose GPU PyTorch cannot use; check its driver")
    return found


def check_device(config: DeviceConfig) -> None:
    """Refuse GPUs where there are none: on one machine a worker would wait for its own without end.

    Raises:
        InputError: they were asked for by --device or --gpus.
    """
    gpus = getattr(config, "gpus", None) if config.device == "auto" else None
    if (config.device == "cuda" or gpus) and not on_cluster() and not has_gpus():
        asked, instead = (f"--gpus {gpus}", "leave it out") if gpus else ("--device cuda", "use --device auto or cpu")
        raise InputError(f"{asked}: there is no GPU here; {instead}")


def on_gpus(config: PlacementConfig) -> bool:
    """Tell whether the model runs on GPUs.

    Raises:
        InputError: the user is to choose: no GPU is up, but the cluster would start machines with GPUs. Results depend
            on the device, so that the way back from a wrong choice is to do all of it again.
    """
    if config.device != "auto":
        return config.device == "cuda"
    if config.gpus is not None or has_gpus():
        return True
    if kinds := gpus_to_come():
        raise InputError(
            f"--device auto: no GPU is up, but the cluster starts machines with GPUs ({', '.join(kinds)}) on request; "
            "choose: --device cuda or --gpus N waits for them, --device cpu uses none"
        )
    return False


def run_scoring(topk_identity: dict[str, Any], place: Placement, dtype: str | None = None) -> ScoreOptions:
    """Return how a run's activations were taken, where they are to be computed again.

    Args:
        topk_identity: what the results of `topk` depend on, from run.json.
        place: where the model runs now.
        dtype: of its arithmetic now; None: the run's.
    """
    how = topk_identity
    return ScoreOptions(
        how["site"], how["pool"], how["special_tokens"], place.device, dtype or how["dtype"], place.threads or 1
    )
