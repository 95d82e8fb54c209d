"""The README.md of the other formats: how much there is, its limits, and whose the texts are."""

from typing import Any

import pytest

from ops.export.description import UnitsDescription
from tests.unit.export.small_tables import SmallTables
from tests.unit.export.test_card import provenance

TERMS = [{"dataset": "d|x", "source": "a.csv", "terms": "CC0"}, {"dataset": "e", "source": "b.csv", "terms": "unknown"}]


def readme(**changed: Any) -> UnitsDescription:
    values = {"form": "delphi", "provenance": provenance(["topk"]), "terms": TERMS, "licence": "cc-by-4.0"}
    return UnitsDescription(**{**values, "exported": 2, "of": 305, "top": 20, **changed})


@pytest.mark.parametrize("form", ["neuronpedia", "delphi"])
def test_it_says_how_many_units_of_how_many_and_whose_the_texts_are(form: str, tables: SmallTables) -> None:
    side = tables.reader(units=("3:7", "3:8")).sides[0]
    text = readme(form=form).card([("some/folder", side)])
    assert "Units: 2 of 305 neurons, those named by --units.\n" in text
    assert "| `some/folder` | 3 | top | 2 | 300 | 1 | 3 |\n" in text
    assert "Licence of the whole: cc-by-4.0." in text
    assert "| d\\|x | a.csv | CC0 |\n| e | b.csv | unknown |\n" in text
    assert "the first 20 sentences of the 100" in text
    assert "times -1" in text
    whole = readme(form=form, licence="", exported=305).card([])
    assert "Units: all neurons: 305.\n" in whole
    assert "Licence" not in whole


def test_the_notes_are_one_line() -> None:
    assert readme().notes == (
        "2 of 305 neurons, those named by --units; the first 20 of the 100 strongest sentences of each neuron and "
        "pole; pooled by mean over a sentence; licence of the whole: cc-by-4.0; texts of d|x: CC0; texts of e: unknown"
    )


def test_random_weights_and_no_path_are_in_the_title() -> None:
    found = provenance(["topk"])
    found["model"] |= {"name": "random:/home/me/small", "seed": 3}
    assert readme(provenance=found).title == "Neurons of small, random weights (seed 3) over d|x, e"
