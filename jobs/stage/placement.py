"""Where a pass of the model over the corpus runs: the device, the number of workers, and the resources of each."""

import sys
from dataclasses import dataclass
from typing import Any

from jobs.engine.connect import gpu_pool_size, has_gpus, on_cluster, pool_size
from jobs.engine.machines import gpus_to_come, on_a_gpu
from jobs.options.configs import DeviceConfig, PlacementConfig
from jobs.run_folder.run import RunReader
from ops.errors import InputError
from ops.model.activations import ScoreOptions
from ops.model.batches import token_budget
from ops.model.numerics import gpu_bytes, gpu_kind


@dataclass(frozen=True)
class Placement:
    """Where the model runs, and the resources that its workers hold.

    Attributes:
        threads: the number of threads of a worker; None on a GPU.
        workers: the maximum number of workers; None for as many as a cluster brings up.
        holds: the resources of a machine that each worker holds, `cpus` or `gpus`.
        gpu: this machine's GPU, as `ops.model.numerics.gpu_kind` names it; None on a CPU and on a cluster.
    """

    device: str
    token_budget: int
    threads: int | None
    workers: int | None
    holds: dict[str, Any]
    gpu: str | None = None

    @property
    def identity(self) -> dict[str, Any]:
        """The parts of the placement that results depend on."""
        own = {"device": self.device, "threads": self.threads, "token_budget": self.token_budget}
        return own | ({"gpu": self.gpu} if self.gpu else {})

    @property
    def reads_ahead(self) -> bool:
        """Whether shards are read and tokenized on separate cores, ahead of workers that hold GPUs."""
        return "gpus" in self.holds

    @property
    def spread(self) -> dict[str, Any]:
        """How a step's items are spread over workers that load the model, as attributes of the step."""
        return {"holds": self.holds, "workers": self.workers, "actors": True, "reads_ahead": self.reads_ahead}


def choose_placement(config: PlacementConfig, run: RunReader, stage: str) -> Placement:
    """Choose the device, the batch size and the number of workers of a stage.

    Results depend on the batch size. So if the option is `auto`, a stage that was begun keeps its batch size, and a new
    stage uses a size that fits its GPU's memory. On a cluster it waits for that GPU, which it needs anyway.

    Raises:
        InputError: a GPU was requested, but none is available.
    """
    check_device(config)
    gpu = on_gpus(config)
    device = "cuda" if gpu else "cpu"
    budget = config.token_budget if config.token_budget != "auto" else begun_with(run, stage, config.redo, device)
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
    # On a cluster the driver may have no GPU, or another kind: the workers of topk compare their GPU with the pilot's.
    kind = None if on_cluster() else gpu_kind()
    return Placement(device, budget, None, workers, {"gpus": 1}, kind)


def begun_with(run: RunReader, stage: str, redo: bool, device: str) -> int | None:
    """Return the batch size in tokens with which a stage was begun on such a device; None if it begins now.

    Args:
        redo: whether the stage is done again; then only the unfinished work of an earlier `--redo` counts.
    """
    entry = run.stage(stage) or {}
    at_work = entry.get("redo", {} if redo and not entry.get("redone") else entry)
    identity = at_work.get("identity", {})
    return identity.get("token_budget") if identity.get("device") == device else None


def _memory(stage: str, workers: int, dry_run: bool) -> int:
    """Return the memory of a worker's GPU in bytes; a dry run requests no machine and assumes its own GPU or 1 TiB."""
    if dry_run:
        return gpu_bytes() or 1 << 40
    found = on_a_gpu(gpu_bytes, stage, workers - 1)
    if found is None:
        raise InputError(f"--device cuda: {stage} ran on a machine whose GPU PyTorch cannot use; check its driver")
    return found


def check_device(config: DeviceConfig) -> None:
    """Refuse GPUs on a single machine without GPUs, where a worker would wait for its GPU forever."""
    gpus = getattr(config, "gpus", None) if config.device == "auto" else None
    if (config.device == "cuda" or gpus) and not on_cluster() and not has_gpus():
        asked, instead = (f"--gpus {gpus}", "leave it out") if gpus else ("--device cuda", "use --device auto or cpu")
        raise InputError(f"{asked}: there is no GPU here; {instead}")


def on_gpus(config: PlacementConfig) -> bool:
    """Tell whether the model runs on GPUs.

    Raises:
        InputError: no GPU is up, but the cluster would start machines with GPUs, so the user must choose. Results
            depend on the device, so after a wrong choice everything must be computed again.
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
    """Return the options with which a run's activations were computed, in order to compute them again.

    Args:
        dtype: the dtype of the arithmetic now; None for the dtype of the run.
    """
    how = topk_identity
    return ScoreOptions(
        how["site"], how["pool"], how["special_tokens"], place.device, dtype or how["dtype"], place.threads or 1
    )
