"""What other programs call the places of our units."""

from ops.export.places import module_name, places_of, source_name
from ops.model.sites import PLACES, SITES

NEURONS = {"counts": {}, "identity": {"site": "mlp"}}
FEATURES = {
    "counts": {"dictionaries": [{"layer": 0, "place": "residual"}, {"layer": 4, "place": "heads"}]},
    "identity": {"site": "dictionary"},
}


def test_the_place_is_the_site_or_what_the_dictionary_reads() -> None:
    assert places_of(NEURONS, (1, 2)) == {1: "mlp", 2: "mlp"}
    assert places_of(FEATURES, (0, 4)) == {0: "residual", 4: "heads"}


def test_every_place_has_names_of_its_own() -> None:
    """A site and a place of a dictionary that share a name are never in one run."""
    for places in (SITES, PLACES):
        keys = [(place, layer, pole) for place in places for layer in (1, 2) for pole in ("top", "bottom")]
        assert len({source_name("a", *key) for key in keys}) == len(keys)
        assert len({module_name(*key) for key in keys}) == len(keys)
