"""The figures of positions, drawn from its tables alone."""

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure

from ops.figures.lines import layer_names, lines, longer, rows_where, with_deviation
from ops.positions.labels import MAJORITY, TOKENS
from ops.positions.variants import DEFAULT, VARIANTS

_REFERENCES = {
    "default": "same token, default state",
    "random_pair": "a token of another text",
    "random_pair_centred": "another token, mean subtracted",
    "gaussian": "two random Gaussian vectors",
    "default_centred": "same token, mean subtracted",
}
_FEATURES = {TOKENS: "a bag of tokens", MAJORITY: "most frequent label"}
TITLES = {name: name.replace("_", " ") for name in VARIANTS} | {
    "default": "positions as they are", "none": "no positions", "shuffled": "positions shuffled",
    "shifted": "positions shifted", "constant": "one position for all",
}  # fmt: skip
_READINGS = (
    ("", "exp of the mean loss of all tokens", "corpus"),
    ("", "mean of the texts' perplexities", "mean"),
    ("", "mean of 1/p of all tokens", "token_mean"),
)
_BY_POSITION = (("perplexity", "", "perplexity"), ("loss above the default, nats", "", "above"))
_LENGTH, _CONTRIBUTION = "length of the vectors", "what the position embedding contributes"
_NORMS = (
    (_LENGTH, "position embedding", "norm"),
    (_LENGTH, "sum of all embeddings, mean over tokens", "input_norm"),
    (_CONTRIBUTION, "position embedding's norm / norm of the sum", "ratio"),
    (_CONTRIBUTION, "position embedding's share of the squared norm", "share"),
)
_FEWEST = 30  # minimum number of values behind a point of a line by position
_POSITION = "position in the text (tokens)"


def position_figures(tables: Mapping[str, pa.Table]) -> dict[str, Figure]:
    """Return the figures of the job's tables.

    The tables of perplexity are empty for an encoder, and `positions/labels` may be missing.
    """
    places, norms = _enough(tables["positions/by_position"]), tables["positions/norms"]
    figures = {
        "cosine_by_layer": layers_figure(tables["positions/similarity"]),
        "cosine_by_position": lines(
            rows_where(places, "reference", "default"), "position", "mean", colour="layer", series=layer_names(places),
            ordered=True, panel="variant", names=TITLES, x_label=_POSITION, y_label="mean cosine",
            title=f"Cosine with the default state by position in the text ({_FEWEST} tokens or more)",
        ),
        "norms": lines(
            pa.concat_tables([longer(norms, _NORMS[0]), longer(_enough(norms), *_NORMS[1:])]), "position",
            own_scales=True, levels={0: ""}, x_label=_POSITION,
            title=f"Position embeddings in the model's input (means: {_FEWEST} tokens or more)",
            y_label={_LENGTH: "Euclidean norm", _CONTRIBUTION: "ratio, mean over tokens"},
        ),
    }  # fmt: skip
    for axes in figures["norms"].axes:
        axes.set_xscale("symlog", linthresh=1)
        axes.set_xlim(left=0)
        axes.xaxis.set_major_formatter("{x:g}")
    if tables["positions/perplexity"].num_rows:
        by_position = tables["positions/perplexity_by_position"]
        figures |= _perplexity(tables["positions/perplexity"], by_position)
    if "positions/labels" in tables and tables["positions/labels"].num_rows:
        figures["labels"] = _labels(tables["positions/labels"])
    return figures


def layers_figure(similarity: pa.Table) -> Figure:
    """Draw the mean cosine with each reference by layer, with a panel for each variant."""
    same = pc.equal(similarity["reference"], "default")
    tokens = similarity.filter(same).group_by("variant").aggregate([("n", "max")]).to_pydict()
    counts = dict(zip(tokens["variant"], tokens["n_max"], strict=True))
    return lines(
        with_deviation(similarity, same, most=1), "layer", "mean", colour="reference", series=_REFERENCES,
        panel="variant", y_label="mean cosine",
        names={v: f"{title}, {counts.get(v, 0):,} tokens" for v, title in TITLES.items() if v != DEFAULT},
        title="Cosine of a token's state with a reference by layer (band: standard deviation)",
    )  # fmt: skip


def _perplexity(perplexity: pa.Table, places: pa.Table) -> dict[str, Figure]:
    """Draw the perplexity of each variant, and by position how far its loss is above that of the default."""
    order = pc.sort_indices(pc.index_in(perplexity["variant"], pa.array(list(VARIANTS))))
    enough = _enough(places)
    least = rows_where(enough, "variant", DEFAULT).select(["position", "loss"]).rename_columns(["position", "least"])
    joined = enough.join(least, "position")
    above = joined.append_column("above", pc.subtract(joined["loss"], joined["least"]))
    return {
        "perplexity": lines(
            longer(perplexity.take(order), *_READINGS), "variant", points=True, y_scale="log",
            x_label="variant of the positions", y_label="perplexity (lower is better)",
            title=f"Perplexity of {perplexity['n'][0].as_py():,} texts",
        ),
        "perplexity_by_position": lines(
            longer(above, *_BY_POSITION), "position", colour="variant", series={v: v for v in VARIANTS},
            own_scales=True, y_scale={"perplexity": "log"}, y_label="",
            x_label="position of the predicted token (tokens)",
            title=f"Perplexity by position in the text ({_FEWEST} tokens or more)",
        ),
    }  # fmt: skip


def _labels(labels: pa.Table) -> Figure:
    """Draw the accuracy of each classifier with its interval."""
    table = labels.sort_by([("accuracy", "descending")])
    names = [_FEATURES.get(name, name) for name in table["features"].to_pylist()]
    label, splits, texts = (table[name][0].as_py() for name in ("label", "splits", "n"))
    return lines(
        table.append_column("name", pa.array(names)), "name", "accuracy", points=True,
        title=f"Linear classifiers of {label}: mean of {splits} splits, about {texts:,} texts of held-out documents",
        x_label="features", y_label="accuracy (bars: 95 %)",
    )  # fmt: skip


def _enough(rows: pa.Table) -> pa.Table:
    return rows.filter(pc.greater_equal(rows["n"], _FEWEST))
