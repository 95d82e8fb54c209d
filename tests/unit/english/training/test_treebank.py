import gzip

import pytest

from ops.english.training.treebank import read_tags, read_trees
from ops.errors import InputError
from ops.penn import write


def test_trees_are_read_and_put_under_a_root(tmp_path):
    path = tmp_path / "a.mrg.gz"
    with gzip.open(path, "wt") as file:
        file.write("(S (NP (PRP I)) (-LRB- -LRB-))\n\n(ROOT (NN a))\n")
    first, second = read_trees(path)
    assert (first.words, first.tags) == (["I", "("], ["PRP", "-LRB-"])
    assert write(first.tree) == "(ROOT (S (NP (PRP I)) (-LRB- -LRB-)))"
    assert write(second.tree) == "(ROOT (NN a))"


def test_tags_are_read_by_sentence(tmp_path):
    path = tmp_path / "a.tags"
    path.write_text("I\tPRP\nsleep\tVBP\n\n\nyes\tUH", encoding="utf-8")
    first, second = read_tags(path)
    assert (first.words, first.tags, first.tree) == (["I", "sleep"], ["PRP", "VBP"], None)
    assert second.words == ["yes"]


def test_what_cannot_be_read_is_named(tmp_path):
    path = tmp_path / "bad"
    for reader, content, named in (
        (read_trees, "(NN a)\n(NN a", "line 2"),
        (read_tags, "a\tNN\na NN", "line 2"),
        (read_trees, "\n", "no sentence"),
    ):
        path.write_text(content)
        with pytest.raises(InputError, match=rf"bad.*{named}"):
            reader(path)
    with pytest.raises(InputError, match="no such treebank"):
        read_trees(tmp_path / "none")
