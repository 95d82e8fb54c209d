"""The tokens that a unit promotes and suppresses: reading them, and their line."""

from pathlib import Path
from typing import Any

from ops.facts.outputs import lay_out_outputs, read_outputs
from tests.unit.facts.made_up_rows import write_tables
from tests.unit.show.test_neuron import shown


def rows() -> list[dict[str, Any]]:
    return [
        {"layer": layer, "unit": 4, "side": side, "rank": rank, "token_id": rank, "token": f"\u0120{side[0]}{rank}",
         "logit": 1.0 / rank}
        for layer in (1, 2)
        for side in ("promoted", "suppressed")
        for rank in range(1, 21)
    ]  # fmt: skip


def test_the_first_tokens_of_both_sides_are_a_line(tmp_path: Path) -> None:
    store = write_tables(tmp_path, {"outputs/tokens": rows()})
    found = read_outputs(store, 2, 4)
    assert found is not None
    assert [len(found[side]) for side in ("promoted", "suppressed")] == [20, 20]
    assert {row["layer"] for row in found["promoted"]} == {2}
    assert read_outputs(store, 2, 5) is None
    (line,) = lay_out_outputs(found, "top", 400)
    assert line.startswith('Promotes: " p1", " p2", " p3"')
    assert '" p8"; suppresses: " s1"' in line
    assert shown(outputs=found, width=400)[1] == line
    assert lay_out_outputs(found, "bottom", 400)[0].startswith(f"{line} (")
    assert lay_out_outputs(None, "top", 80) == []
    assert shown(outputs=None) == shown()
