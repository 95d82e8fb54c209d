"""The machines that a cluster has and may start, short work on them, and a message while no suitable one is up."""

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import psutil
import yaml

from jobs.engine.connect import connect, on_cluster
from jobs.engine.progress import say
from ops.clock import duration

FIRST_S = 10.0
EVERY_S = 60.0
PATIENCE_S = 60.0  # seconds for something short on all machines together

Resources = dict[str, float]
Result = TypeVar("Result")


def machines_up() -> list[Resources]:
    """Return the resources of each machine of the cluster."""
    import ray

    return [node["Resources"] for node in ray.nodes() if node["Alive"]]


@contextmanager
def asked_for_gpus(number: int) -> Iterator[None]:
    """Request `number` more machines with a GPU and a core each from a cluster, for as long as this context lasts.

    The machines are not used here, but later work does not have to wait for them to boot. The request is a pending
    placement group, which ends with this process; `ray.autoscaler.sdk.request_resources` would outlive a killed driver.
    """
    if number < 1 or not on_cluster():
        yield
        return
    connect(1)
    from ray.util import placement_group, remove_placement_group

    group = placement_group([{"GPU": 1, "CPU": 1}] * number)
    try:
        yield
    finally:
        remove_placement_group(group)


def on_a_gpu(do: Callable[[], Result], name: str, others: int = 0) -> Result:
    """Run a function in a process that can use a GPU, on a cluster on the first such machine, and return its result.

    Args:
        others: the number of further machines with a GPU that will be needed; they boot in the meantime.
    """
    if not on_cluster():
        return do()
    connect(1)
    import ray

    def work() -> Result:
        return do()

    with asked_for_gpus(others), MachineWait(name, [{"GPU": 1}]):
        found: Result = ray.get(ray.remote(num_cpus=0, num_gpus=1)(work).remote())
    return found


def on_every_machine(do: Callable[[], None]) -> None:
    """Call a function in this process and, on a cluster, once on each machine that is up; ignore failures of Ray."""
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
        places = [NodeAffinitySchedulingStrategy(node["NodeID"], soft=False) for node in ray.nodes() if node["Alive"]]
        begun = [task.options(scheduling_strategy=place).remote() for place in places]
        ray.wait(begun, num_returns=len(begun), timeout=PATIENCE_S)


def gpus_to_come() -> list[str]:
    """Return the kinds of machines with GPUs that the cluster starts on demand, as far as they are known."""
    return [name for name, has in kinds_to_come().items() if has.get("GPU", 0) > 0]


def kinds_to_come() -> dict[str, Resources]:
    """Return the resources of the machines that the cluster starts on demand, by kind, as far as they are known."""
    if not on_cluster():
        return {}
    connect(1)
    import ray

    commands = [process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"])]
    return configured_kinds(ray.get_runtime_context().gcs_address, commands)


def configured_kinds(gcs_address: str, commands: Iterable[Sequence[str]]) -> dict[str, Resources]:
    """Return the kinds of machines that the autoscaler of a cluster may start; an empty dict if they are not known.

    Ray has no interface for this, but the command line of its autoscaler names its configuration file. That process
    runs on the head node, as does the driver of a submitted job. On Kubernetes it runs in a separate container and has
    no such file.

    Args:
        gcs_address: the address of the cluster. Only the port is compared, since a machine can have several names.
    """
    port = gcs_address.rpartition(":")[2]
    for command in commands:
        options = {name: value for name, _, value in (word.partition("=") for word in command)}
        file = options.get("--autoscaling-config")
        # Files that cannot be read, or are not configuration files of Ray, are ignored.
        with suppress(Exception):
            if file and options.get("--gcs-address", "").endswith(f":{port}"):
                config = yaml.safe_load(Path(file).expanduser().read_text(encoding="utf-8"))
                kinds = config["available_node_types"].items()
                return {name: dict(kind["resources"]) for name, kind in kinds if name != config["head_node_type"]}
    return {}


def cores_for(memory: int, machines: Iterable[Resources]) -> int:
    """Return the cores that each worker must hold so that no machine runs more workers than fit into its memory.

    The number is at most the number of cores of a machine.

    Args:
        machines: the resources of each machine; machines that do not state cores and memory are ignored.

    >>> cores_for(5 << 30, [{"CPU": 16, "memory": 32 << 30}, {"CPU": 2, "memory": 4 << 30}, {"GPU": 1}])
    3
    """
    stated = [(int(has.get("CPU", 0)), has.get("memory", 0)) for has in machines]
    return max([1, *(min(math.ceil(memory * cores / has), cores) for cores, has in stated if cores and has)])


class MachineWait:
    """A context that prints, from time to time, which machine is being waited for while none of its kind is up.

    Args:
        name: the name of the step that waits.
        needs: the resources of one worker and of one reader, such as `{"GPU": 1}` and `{"CPU": 1}`. One machine for
            each is enough, and one machine may serve all.
        up: returns the resources of each machine of the cluster; an exception counts as no answer.
        first, every: the seconds before the first message, and between two messages.
    """

    def __init__(
        self,
        name: str,
        needs: Sequence[Resources],
        up: Callable[[], list[Resources]] = machines_up,
        first: float = FIRST_S,
        every: float = EVERY_S,
    ) -> None:
        self.name, self.needs, self.up, self.first, self.every = name, needs, up, first, every
        self.since: float | None = None
        self.over = threading.Event()

    def __enter__(self) -> "MachineWait":
        self.since = time.monotonic()
        threading.Thread(target=self._look, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self.over.set()

    def line(self, now: float) -> str | None:
        """Return the message for a time of the monotonic clock; None if a machine is up for each need."""
        up = self.up()
        missing = [need for need in self.needs if not any(_fits(need, machine) for machine in up)]
        if not missing:
            self.since = None
            return None
        self.since = now if self.since is None else self.since
        asked = " and for one with ".join(map(_named, missing))
        return f"{self.name}: waits for a machine with {asked}; none is up ({duration(now - self.since)})"

    def _look(self) -> None:
        pause = self.first
        while not self.over.wait(pause):
            pause = self.every
            try:
                line = self.line(time.monotonic())
            except Exception:  # any exception means that there was no answer
                continue
            if line and not self.over.is_set():
                say(line)


def _fits(need: Resources, machine: Resources) -> bool:
    return all(machine.get(name, 0) >= amount for name, amount in need.items())


def _named(need: Resources) -> str:
    return " and ".join(f"{amount:g} {name if amount == 1 else name + 's'}" for name, amount in need.items())
