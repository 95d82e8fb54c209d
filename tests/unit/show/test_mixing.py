from ops.show.listing import lay_out_listings
from ops.show.side_jobs import mixing_ratios


def test_a_row_has_the_ratios_of_a_stage_and_layer_by_class_of_tokens() -> None:
    rows = [("attn", 1, "all", 0.875), ("attn", 1, "sep", 0.75), ("attn_res", 1, "all", 0.25), ("attn", 2, "all", 0.5)]
    names = ("stage", "layer", "token_class", "mean")
    ratios = mixing_ratios([dict(zip(names, row, strict=True)) | {"n": 1_200} for row in rows])
    lines = lay_out_listings([ratios], 110).splitlines()
    assert lines[1].split() == ["stage", "layer", "all", "sep"]
    assert [line.split()[-3:] for line in lines[2:5]] == [
        ["1", "0.875", "0.750"],
        ["2", "0.500", "-"],
        ["1", "0.250", "-"],
    ]
    assert "Tokens: all 1,200, sep 1,200." in lines[5]
