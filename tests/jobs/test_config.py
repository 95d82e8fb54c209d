"""Flags win over the YAML file, the file over the preset, the preset over the defaults."""

from pathlib import Path

import pytest

from jobs.run import RunConfig
from jobs.stage.command_line import parse
from ops.errors import InputError


def read(*argv: str) -> RunConfig:
    return parse(RunConfig, "run", "About.", list(argv))


def test_presets_set_sizes_and_never_cap_the_corpus() -> None:
    small, paper, plain = read("--preset", "small"), read("--preset=paper"), read()
    assert (small.k, small.shard_size, small.activation_sample, small.baseline_size) == (100, 2_000, 1_000, None)
    assert (paper.k, paper.shard_size, paper.baseline_size) == (10_000, 100_000, 1_000_000)
    assert (paper.subtree_root, small.subtree_root) == ("collapse", "keep")
    assert (plain.shard_size, plain.activation_sample, plain.poles, plain.seed) == (100_000, 10_000, "both", 0)
    assert small.limit is paper.limit is plain.limit is None


def test_what_wins_over_what(tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    file.write_text("preset: small\nk: 7\nshard-size: 11\ncorpus: a.txt\nredo: true\n")
    found = read("--config", str(file), "--k", "9", "--corpus", "b, c.txt", "--corpus", "d.txt")
    assert (found.k, found.shard_size, found.activation_sample, found.redo) == (9, 11, 1_000, True)
    assert found.corpus == ("b, c.txt", "d.txt")
    assert read("--config", str(file)).corpus == ("a.txt",)


@pytest.mark.parametrize(
    ("argv", "named"),
    [
        (["--k", "0"], "--k '0'"),
        (["--word-min-support", "2"], "--word-min-support '2'"),
        (["--nothing", "1"], "--nothing"),
        (["stray"], "stray"),
        (["--corpus"], "--corpus"),
        (["--k", "1", "--k", "2"], "--k"),
    ],
)
def test_wrong_values_are_named(argv: list[str], named: str) -> None:
    with pytest.raises(InputError) as found:
        read(*argv)
    assert named in str(found.value)
    assert "\n" not in str(found.value)


def test_every_option_has_a_line_of_help() -> None:
    assert all(field.description for field in RunConfig.model_fields.values())
