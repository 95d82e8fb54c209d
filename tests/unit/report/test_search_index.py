"""The index of a static site's search: what its script reads back is what the tables have."""

import json
import random
from itertools import accumulate

import duckdb
import pyarrow as pa

from ops.facts.search import ORDER
from ops.report.search_index import search_index


def test_the_terms_of_each_neuron_can_be_read_back() -> None:
    rng = random.Random(1)
    keys = [(layer, unit, pole) for layer in (1, 2) for unit in range(60) for pole in ("bottom", "top")]
    rows = [
        dict(zip(("layer", "unit", "pole"), key, strict=True)) | {"term": f"word {rng.randint(0, 9)}"}
        for key in rng.choices(keys, k=300)
    ]
    told = [{"layer": 2, "unit": 5, "pole": "top", "text": "With *a*: 9 %. Explains 3 % of its activation."}]
    scores = [{"layer": 1, "unit": 0, "pole": "bottom", "auc_excess": 0.12345}, {**rows[0], "auc_excess": None}]
    script = search_index(scores, told, {"word": pa.Table.from_pylist(rows)}, keys, [(2, 5)])
    assert script.startswith("atlasIndex = {")
    index = json.loads(script.splitlines()[0].removeprefix("atlasIndex = ").removesuffix(";"))
    found = {
        (index["layer"][at - 1], index["unit"][at - 1], index["pole"][at - 1], term)
        for term, gaps in index["terms"]["word"].items()
        for at in accumulate(int(gap, 36) for gap in gaps.split())
    }
    assert found == {tuple(row.values()) for row in rows}
    order = list(zip(index["layer"], index["unit"], index["pole"], strict=True))
    at = order.index((2, 5, "top"))
    texts = [index["texts"][own] for own in index["text"]]
    assert texts[at] == "With *a*: 9 %."
    assert sum(map(bool, texts)) == 1
    assert index["excess"][0] == 0.123
    assert index["pages"] == ["2-5"]
    # Neurons that are left out are not found.
    assert '"terms":{"word":{}}' in search_index(scores, told, {"word": pa.Table.from_pylist(rows)}, [], [])


def test_the_highest_excess_comes_first_as_in_browse() -> None:
    """The order is that of the exact values, not of those that the index shows."""
    keys = [(1, unit, "top") for unit in range(5)]
    margins = [0.1, None, 0.20001, 0.20004, 0.1]
    scores = [{"layer": 1, "unit": unit, "pole": "top", "auc_excess": margin} for unit, margin in enumerate(margins)]
    script = search_index(scores, [], {}, keys, []).splitlines()[0]
    index = json.loads(script.removeprefix("atlasIndex = ").removesuffix(";"))
    assert index["unit"] == [3, 2, 0, 4, 1]
    table = pa.table({"layer": [1] * 5, "unit": range(5), "pole": ["top"] * 5, "auc_excess": margins})
    con = duckdb.connect()
    con.register("scores", table)
    assert [row[0] for row in con.execute(f"select unit from scores order by {ORDER}").fetchall()] == index["unit"]
