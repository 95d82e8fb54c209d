"""The main table of positions, laid out as text."""

from ops.show.listing import lay_out_listings
from ops.show.side_jobs import position_listings


def row(variant: str, layer: int, reference: str, mean: float, n: int = 1_234) -> dict[str, object]:
    return {"model": "m", "variant": variant, "layer": layer, "reference": reference, "mean": mean, "n": n}


def test_a_line_has_its_variant_s_references() -> None:
    similarity = [
        row("none", 2, "default", 0.77025),
        row("none", 2, "default_centred", 0.5),
        row("none", 2, "random_pair", 0.25, 99),
        row("none", 2, "gaussian", -0.00125),
        row("default", 2, "random_pair", 0.3),
    ]
    perplexity = [{"variant": "none", "corpus": 712_014.0, "mean": 5.0, "token_mean": 6.0, "n": 817}]
    labels = [
        {"label": "mood", "features": f, "accuracy": a, "low": 0.1, "high": 0.9, "n": 30, "splits": 20, "std": 0.05}
        | {"difference": d, "difference_low": d and -0.2, "difference_high": d and 0.1}
        for f, a, d in (("tokens", 0.25, -0.05), ("default", 0.5, None))
    ]
    said = lay_out_listings(position_listings(similarity, perplexity, labels, ["default", "none"]), 120)
    lines = [line.split() for line in said.splitlines()]
    assert ["none", "2", "0.7702", "0.5000", "0.2500", "-", "-0.0013", "1,234"] in lines
    assert ["default", "2", "-", "-", "0.3000", "-", "-", "-"] in lines
    assert ["none", "7.12e+05", "5", "6", "817"] in lines
    assert lines[-2:] == [
        ["default", "50.0", "(10.0", "to", "90.0)", "5.0", "-", "-"],
        ["tokens", "25.0", "(10.0", "to", "90.0)", "5.0", "-5.0", "(-20.0", "to", "10.0)"],
    ]
    assert all(len(line) <= 120 for line in said.splitlines())
    # An encoder has neither perplexities nor labels.
    said = lay_out_listings(position_listings([row("none", 1, "default", 0.5)], [], [], ["default", "none"]), 120)
    assert "Perplexity" not in said
    assert "Accuracy" not in said
