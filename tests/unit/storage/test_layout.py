from pathlib import Path

import pytest

from ops.errors import InputError
from ops.schema import activations_schema, schema
from ops.storage.open_tables import OpenTables
from ops.storage.store import Store, is_whole
from ops.storage.tables import part_name, read_parts, read_table, write_part
from ops.topk.neurons import read_neurons


def swapped(store: Store, table: str, by: str) -> str:
    """Put a part of one table in the place of another's."""
    write_part(store, by, 0, schema(by), [], "f")
    Path(store.path(table)).mkdir(parents=True)
    Path(store.path(part_name(by, 0))).rename(store.path(part_name(table, 0)))
    return store.path(part_name(table, 0))


def test_a_part_of_another_table_is_named_by_every_reader(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    path = swapped(store, "topk", "examples")
    for read in (
        lambda: list(read_parts(store, "topk")),
        lambda: read_table(store, "topk", columns=["layer"]),
        lambda: OpenTables(store).read("topk"),
    ):
        with pytest.raises(InputError) as refused:
            read()
        assert path in str(refused.value)
    assert not is_whole(store, part_name("topk", 0), "f", "x")


def test_a_file_without_the_keys_of_its_table_is_not_a_part_of_it(tmp_path: Path) -> None:
    swapped(Store(str(tmp_path)), "topk_by_dataset", "topk")
    with pytest.raises(InputError, match="topk_by_dataset"):
        read_table(Store(str(tmp_path)), "topk_by_dataset")


@pytest.mark.parametrize("by", ["neurons", "unscored"])
def test_other_tables_are_not_taken_for_activations(tmp_path: Path, by: str) -> None:
    store = Store(str(tmp_path))
    path = swapped(store, "activations", by)
    with pytest.raises(InputError, match="not a part of activations/") as refused:
        read_neurons(store)
    assert path in str(refused.value)


def test_activations_have_sentences_and_layers(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    write_part(store, "activations", 0, activations_schema({1: 3}), [], "f")
    assert len(read_neurons(store)) == 3
