"""What `topk` left behind, which most later stages read."""

from dataclasses import dataclass
from typing import Any

from jobs.run_folder.run import RunReader
from ops.storage.store import Store
from ops.topk.neurons import POLES, Neurons, read_neurons

BOTH = 2  # poles of a run that keeps the highest activations and the lowest


@dataclass(frozen=True)
class Scored:
    """The units of a run and how they were scored.

    Attributes:
        identity, counts, options: the options that the results of `topk` depend on, its counts, and all of its options.
        neurons: the units. A dry run that plans `topk` too knows only their number, so they are in one layer.
    """

    identity: dict[str, Any]
    counts: dict[str, Any]
    options: dict[str, Any]
    neurons: Neurons

    @classmethod
    def of(cls, run: RunReader) -> "Scored":
        """Return what `topk` left behind."""
        topk = run.require("topk")
        planned = run.is_expected("topk")
        neurons = Neurons((topk["counts"]["neurons"],)) if planned else read_neurons(run.store)
        return cls(topk["identity"], topk["counts"], topk["config"], neurons)

    @property
    def sentences(self) -> int:
        """The number of scored sentences, N."""
        return int(self.counts["scored"])

    @property
    def k(self) -> int:
        """The number of winners of a neuron and pole, K; fewer than asked for in a small corpus."""
        return min(int(self.identity["k"]), self.sentences)

    @property
    def poles(self) -> int:
        """The number of poles of each neuron."""
        return BOTH if self.identity["poles"] == "both" else 1

    def common_poles(self, other: "Scored") -> tuple[str, ...]:
        """Return the poles that this run and another one keep, in the order of `POLES`."""
        kept = {str(run.identity["poles"]) for run in (self, other)} - {"both"}
        return tuple(pole for pole in POLES if kept <= {pole})

    @property
    def sets(self) -> int:
        """The number of sets of winners, one for each neuron and pole."""
        return len(self.neurons) * self.poles

    @property
    def sampled(self) -> int:
        """The number of sentences of the activation sample."""
        return int(self.counts["activation_sample"])

    @property
    def site(self) -> str:
        """Where the model was read."""
        return str(self.identity["site"])

    @property
    def of_features(self) -> bool:
        """Whether the units are features of sparse dictionaries."""
        return "dictionaries" in self.identity


@dataclass(frozen=True, kw_only=True)
class StageArgs:
    """The arguments that the workers of most stages share; the args of each stage add its options."""

    store: Store
    neurons: Neurons
    seed: int
