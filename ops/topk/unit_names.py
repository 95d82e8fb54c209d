"""The names of a run's units on pages and in texts, and the description of each layer's sparse dictionary."""

from pathlib import PurePosixPath
from typing import Any, NamedTuple

from ops.model.sites import HookPoint


class UnitNames(NamedTuple):
    """The names of a run's units.

    Attributes:
        one, many: the singular and the plural, such as `neuron` and `neurons`.
        sources: for each layer, a description of the dictionary that its features belong to; empty for neurons.
    """

    one: str
    many: str
    sources: dict[int, str]

    @property
    def title(self) -> str:
        """The singular as a heading shows it."""
        return self.one.capitalize()

    def counted(self, number: int) -> str:
        """Return a number of units with their name.

        >>> UnitNames("rotated axis", "rotated axes", {}).counted(2_000)
        '2,000 rotated axes'
        """
        return f"{number:,} {self.one if number == 1 else self.many}"


NEURONS = UnitNames("neuron", "neurons", {})


def unit_names(topk: dict[str, Any]) -> UnitNames:
    """Return the names of a run's units, given the entry of `topk` in run.json.

    >>> unit_names({"counts": {}})
    UnitNames(one='neuron', many='neurons', sources={})
    >>> sae = {"layer": 4, "path": "/home/me/sae", "format": "saelens", "kind": "topk", "features": 4096,
    ...        "place": "residual"}
    >>> unit_names({"counts": {"dictionaries": [sae]}}).sources
    {4: '4,096 features of sae (topk), which reads the residual stream after layer 4'}
    """
    dictionaries = topk["counts"].get("dictionaries") or []
    if not dictionaries:
        return NEURONS
    first = dictionaries[0]
    if first["format"] == "rotated":
        one, many = "rotated axis", "rotated axes"
    elif first["kind"] == "linear":
        one, many = "direction", "directions"
    else:
        one, many = "feature", "features"
    return UnitNames(one, many, {entry["layer"]: _source(entry, many) for entry in dictionaries})


def _source(entry: dict[str, Any], many: str) -> str:
    name = entry["path"] if entry["format"] == "rotated" else PurePosixPath(entry["path"].rstrip("/")).name
    kind = "" if entry["kind"] == "linear" else f" ({entry['kind']})"
    return f"{entry['features']:,} {many} of {name}{kind}, which reads {HookPoint(entry['layer'], entry['place'])}"
