"""Work that must be done once on each machine, such as removing temporary files."""

from collections.abc import Callable
from contextlib import suppress

from jobs.engine.connect import connect, on_cluster

PATIENCE_S = 60.0  # seconds for all machines together


def on_every_machine(do: Callable[[], None]) -> None:
    """Call a function in this process and, on a cluster, once on each machine that is up; failures of Ray are ignored.

    Args:
        do: a function that Ray can send to other processes.
    """
    do()
    if not on_cluster():
        return
    connect(1)
    import ray
    from ray.exceptions import RayError
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    def work() -> None:
        do()

    with suppress(RayError):
        task = ray.remote(num_cpus=0, max_retries=0)(work)
        machines = [node["NodeID"] for node in ray.nodes() if node["Alive"]]
        begun = [
            task.options(scheduling_strategy=NodeAffinitySchedulingStrategy(machine, soft=False)).remote()
            for machine in machines
        ]
        ray.wait(begun, num_returns=len(begun), timeout=PATIENCE_S)
