"""What machines a cluster has and may start, and a word each minute as long as none is up that the work fits on."""

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import TypeVar

import yaml

from jobs.engine.connect import connect, on_cluster
from jobs.engine.progress import say
from ops.clock import duration

FIRST_S = 10.0
EVERY_S = 60.0

Resources = dict[str, float]
Result = TypeVar("Result")


def machines_up() -> list[Resources]:
    """Return what each machine of the cluster has."""
    import ray

    return [node["Resources"] for node in ray.nodes() if node["Alive"]]


@contextmanager
def asked_for_gpus(number: int) -> Iterator[None]:
    """While entered, ask a cluster for this many machines with a GPU and a core each, in addition to those in use.

    What comes is not used: whoever needs it later does not wait for its boot. The request goes with this process, and
    it is a pending placement group, since `ray.autoscaler.sdk.request_resources` would outlive a killed driver.
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
    """Return what a function returns where a worker with a GPU runs it; on a cluster the first such machine does.

    Args:
        do: what Ray can carry to other processes; a moment's work.
        name: who asks, for the line that says that a machine is waited for.
        others: further machines with a GPU that will be needed, and boot meanwhile.
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


def gpus_to_come() -> list[str]:
    """Return the kinds of machines with GPUs that the cluster starts when work asks for them, as far as is known."""
    return [name for name, has in kinds_to_come().items() if has.get("GPU", 0) > 0]


def kinds_to_come() -> dict[str, Resources]:
    """Return what the machines have that the cluster starts when work asks for them, by kind, as far as is known."""
    if not on_cluster():
        return {}
    connect(1)
    import ray

    return configured_kinds(ray.get_runtime_context().gcs_address)


def configured_kinds(gcs_address: str, processes: Path = Path("/proc")) -> dict[str, Resources]:
    """Return the kinds of machines that the autoscaler of a cluster may start; none where it is not known.

    Ray tells this to nobody, but the command line of its autoscaler names the file of its configuration. That process
    is on the head, as is the driver of a submitted job. On Kubernetes it is in a container of its own, and has no file.

    Args:
        gcs_address: the cluster's. The port alone is compared, since a machine has several names.
        processes: the folder in which Linux shows the processes of this machine.
    """
    port = gcs_address.rpartition(":")[2]
    for path in processes.glob("[0-9]*/cmdline"):
        # Whatever cannot be read, or is no configuration as Ray writes it, says nothing.
        with suppress(Exception):
            words = (word.partition("=") for word in path.read_text(errors="replace").split("\0"))
            options = {name: value for name, _, value in words}
            file = options.get("--autoscaling-config")
            if file and options.get("--gcs-address", "").endswith(f":{port}"):
                config = yaml.safe_load(Path(file).expanduser().read_text(encoding="utf-8"))
                kinds = config["available_node_types"].items()
                return {name: dict(kind["resources"]) for name, kind in kinds if name != config["head_node_type"]}
    return {}


def cores_for(memory: int, machines: Iterable[Resources]) -> int:
    """Return how many cores a worker is to hold so that as many as a machine has room for run there, at most all.

    Args:
        memory: bytes of a worker.
        machines: what each has; those that do not state cores and memory are ignored.

    >>> cores_for(5 << 30, [{"CPU": 16, "memory": 32 << 30}, {"CPU": 2, "memory": 4 << 30}, {"GPU": 1}])
    3
    """
    stated = [(int(has.get("CPU", 0)), has.get("memory", 0)) for has in machines]
    return max([1, *(min(math.ceil(memory * cores / has), cores) for cores, has in stated if cores and has)])


class MachineWait:
    """Says, as long as it is entered, what machine is waited for where none of its kind is up.

    Args:
        name: the step that waits.
        needs: what one worker holds, and what one reader holds, such as `{"GPU": 1}` and `{"CPU": 1}`; a machine for
            each is enough, and the same one may do for all.
        up: asks the cluster what each of its machines has; what it raises counts as no answer.
        first, every: seconds before the first line, and between two.
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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.over.set()

    def line(self, now: float) -> str | None:
        """Return what there is to say at a time of the monotonic clock: None where a machine is up for each need."""
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
            except Exception:  # whatever it is, there was no answer
                continue
            if line and not self.over.is_set():
                say(line)


def _fits(need: Resources, machine: Resources) -> bool:
    return all(machine.get(name, 0) >= amount for name, amount in need.items())


def _named(need: Resources) -> str:
    return " and ".join(f"{amount:g} {name if amount == 1 else name + 's'}" for name, amount in need.items())
