"""The figures of positions, drawn from its tables alone."""

import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure

from ops.figures.files import save_figures
from ops.figures.lines import layer_names, lines, longer, rows_where
from ops.figures.panels import logarithmic
from ops.figures.style import LEVEL
from ops.positions.labels import MAJORITY, TOKENS
from ops.positions.variants import DEFAULT, VARIANTS
from ops.storage.store import Store

FOLDER = "positions/figures"
_REFERENCES = {
    "default": "same token, default state",
    "random_pair": "a token of another text",
    "random_pair_centred": "another token, mean subtracted",
    "gaussian": "two random Gaussian vectors",
    "default_centred": "same token, mean subtracted",
}
_FEATURES = {TOKENS: "a bag of tokens", MAJORITY: "most frequent label"}
_TITLES = {
    "default": "positions as they are", "none": "no positions", "shuffled": "positions shuffled",
    "shifted": "positions shifted", "constant": "one position for all",
}  # fmt: skip
_READINGS = (
    ("", "exp of the mean loss of all tokens", "corpus"),
    ("", "mean of the texts' perplexities", "mean"),
    ("", "mean of 1/p of all tokens", "token_mean"),
)
_NORMS = (
    ("norm", "position embedding", "norm"),
    ("norm", "sum of all embeddings, mean over tokens", "input_norm"),
    ("ratio", "position embedding's norm / norm of the sum", "ratio"),
    ("ratio", "position embedding's share of the squared norm", "share"),
)
_FEWEST = 30  # minimum number of values behind a point of a line by position
_POSITION = "position in the text (tokens)"


def draw_all(store: Store, tables: dict[str, pa.Table], model: str) -> list[str]:
    """Draw every figure into `positions/figures/` and return the file names.

    Args:
        store: the run's folder.
        tables: the job's tables. Those of perplexity are empty for an encoder, and labels may be missing.
        model: name of the model, for the titles.
    """
    figures = {
        "cosine_by_layer": draw_layers(tables["positions/similarity"], model),
        "cosine_by_position": draw_positions(tables["positions/by_position"], model),
        "norms": draw_norms(tables["positions/norms"], model),
    }
    if tables["positions/perplexity"].num_rows:
        figures["perplexity"] = draw_perplexity(tables["positions/perplexity"], model)
        figures["perplexity_by_position"] = draw_perplexity_positions(tables["positions/perplexity_by_position"], model)
    if "positions/labels" in tables and tables["positions/labels"].num_rows:
        figures["labels"] = draw_labels(tables["positions/labels"], model)
    return save_figures(store, FOLDER, figures)


def draw_layers(similarity: pa.Table, model: str) -> Figure:
    """Draw the mean cosine with each reference by layer, with a panel for each variant."""
    own = similarity.filter(pc.not_equal(similarity["variant"], DEFAULT))
    spread = pc.if_else(pc.equal(own["reference"], "default"), own["std"], None)
    own = own.append_column("low", pc.subtract(own["mean"], spread))
    own = own.append_column("high", pc.min_element_wise(pc.add(own["mean"], spread), 1, skip_nulls=False))
    same = rows_where(own, "reference", "default")
    tokens = same.group_by("variant").aggregate([("n", "max")])
    counts = dict(zip(tokens["variant"].to_pylist(), tokens["n_max"].to_pylist(), strict=True))
    return lines(
        own, "layer", "mean", low="low", high="high", colour="reference", series=_REFERENCES, panel="variant",
        names={v: f"{in_words(v)}, {counts.get(v, 0):,} tokens" for v in VARIANTS}, model=model,
        title="Cosine of a token's state with a reference by layer (band: standard deviation)", x_label="layer",
        y_label="mean cosine",
    )  # fmt: skip


def draw_positions(places: pa.Table, model: str) -> Figure:
    """Draw the mean cosine with the default state by position, a panel for each variant and a line for each layer."""
    own = _enough(rows_where(places, "reference", "default"))
    return lines(
        own, "position", "mean", colour="layer", series=layer_names(own), ordered=True, panel="variant",
        names={v: in_words(v) for v in VARIANTS}, model=model, x_label=_POSITION, y_label="mean cosine",
        title=f"Cosine with the default state by position in the text ({_FEWEST} tokens or more)",
    )  # fmt: skip


def draw_perplexity(perplexity: pa.Table, model: str) -> Figure:
    """Draw the perplexity of each variant, computed in three ways, on a logarithmic axis."""
    order = pc.index_in(perplexity["variant"], pa.array(list(VARIANTS)))
    table = longer(perplexity.take(pc.sort_indices(order)), *_READINGS)
    figure = lines(
        table, "variant", "y", colour="series", points=True, x_label="variant of the positions", model=model,
        title=f"Perplexity of {perplexity['n'][0].as_py():,} texts", y_label="perplexity (lower is better)",
    )  # fmt: skip
    logarithmic(figure.axes[0], "y", *pc.min_max(table["y"]).as_py().values())
    return figure


def draw_perplexity_positions(places: pa.Table, model: str) -> Figure:
    """Draw perplexity by position in the text for each variant, and how far its loss is above the default."""
    own = _enough(places)
    default = rows_where(own, "variant", DEFAULT).select(["position", "loss"]).rename_columns(["position", "least"])
    joined = own.join(default, "position")
    table = longer(
        joined.append_column("above", pc.subtract(joined["loss"], joined["least"])), ("perplexity", "", "perplexity"),
        ("above", "", "above"),
    )  # fmt: skip
    figure = lines(
        table, "position", "y", colour="variant", series={v: v for v in VARIANTS}, panel="panel",
        names={"perplexity": "perplexity", "above": "loss above the default, nats"}, own_scales=True, model=model,
        title=f"Perplexity by position in the text ({_FEWEST} tokens or more)", y_label="",
        x_label="position of the predicted token (tokens)",
    )  # fmt: skip
    logarithmic(figure.axes[0], "y", *pc.min_max(own["perplexity"]).as_py().values())
    return figure


def draw_norms(norms: pa.Table, model: str) -> Figure:
    """Draw the norm of each position embedding, and its ratio to the norm of the model's input."""
    table = pa.concat_tables([longer(norms, _NORMS[0]), longer(_enough(norms), *_NORMS[1:])])
    figure = lines(
        table, "position", "y", colour="series", panel="panel", own_scales=True, model=model,
        names={"norm": "length of the vectors", "ratio": "what the position embedding contributes"},
        title=f"Position embeddings in the model's input (means: {_FEWEST} tokens or more)", x_label=_POSITION,
        y_label={"norm": "Euclidean norm", "ratio": "ratio, mean over tokens"},
    )  # fmt: skip
    for axes in figure.axes:
        axes.set_xscale("symlog", linthresh=1)
        axes.set_xlim(left=0)
        axes.xaxis.set_major_formatter("{x:g}")
        axes.axhline(0, **LEVEL)
    return figure


def draw_labels(labels: pa.Table, model: str) -> Figure:
    """Draw the accuracy of each classifier with its interval."""
    table = labels.sort_by([("accuracy", "descending")])
    names = [_FEATURES.get(name, name) for name in table["features"].to_pylist()]
    first = table.slice(0, 1).to_pylist()[0]
    return lines(
        table.append_column("name", pa.array(names)), "name", "accuracy", low="low", high="high", points=True,
        title=f"Linear classifiers of {first['label']}: mean of {first['splits']} splits, about {first['n']:,} texts "
        "of held-out documents", model=model, x_label="features", y_label="accuracy (bars: 95 %)",
    )  # fmt: skip


def in_words(variant: str) -> str:
    """Return the name of a variant in a panel's title.

    >>> in_words("shuffled"), in_words("none_self_only")
    ('positions shuffled', 'none self only')
    """
    return _TITLES.get(variant, variant.replace("_", " "))


def _enough(rows: pa.Table) -> pa.Table:
    return rows.filter(pc.greater_equal(rows["n"], _FEWEST))
