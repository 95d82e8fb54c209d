import numpy as np
import pyarrow as pa

from ops.meaning.figures import analogy_figures, codes_figure, precision_figure, sentence_figures
from ops.meaning.sentence_tasks import masked_rows, next_rows, translation_rows
from tests.unit.figure_letters import check_print

RNG = np.random.default_rng(0)
N = 60
SHAPES = {"tokens": (N, 3), "cosine": (N, 3, 12), "head": (N, 3)}
SCORES = {name: RNG.normal(size=shape).astype(np.float32) for name, shape in SHAPES.items()}
FOLLOWING, _ = next_rows(SCORES, [f"d{i // 2}" for i in range(N)], 0)
MASKED = masked_rows(
    RNG.integers(1, 30, 900), RNG.random(900), RNG.choice(["NN", "IN", "-LRB-"], 900).tolist(),
    RNG.integers(0, 5, 900), RNG.integers(0, 90, 900),
)  # fmt: skip
STATES = RNG.normal(size=(2 * N, 4)).astype(np.float32)
TRANSLATED = translation_rows(
    np.repeat(STATES[:, None], 3, 1), [f"k{i % N}" for i in range(2 * N)], ["en"] * N + ["de"] * N, ["d"] * 2 * N, 0
)
HASHED = [
    {
        "label": label, "method": m, "code": c, "size": s, "classes": 4, "neighbours": 10, "precision": 0.4, "low": 0.3,
        "high": 0.5, "error": s / 100,
    }
    for label in ("topic", "dataset") for m, c, s in (
        *((m, c, s) for m in ("pca", "autoencoder") for c in ("real", "bits") for s in (2, 4, 64)),
        ("states", "real", 384), ("shuffled", "real", 384),
    )
]  # fmt: skip
PLANE = [{"method": m, "sent_id": i, "x": 0.1 * i, "y": 1.0} for m in ("autoencoder", "pca") for i in range(30)]
CLASSES = [None if i % 5 == 4 else f"class {i % 9}" for i in range(60)]


def test_figures_are_drawn_where_there_is_data_and_can_be_read() -> None:
    assert sentence_figures([], [], []) == {}
    asked = {"space": "counts", "category": "all", "rule": "add", "excluded": True, "n_known": 0, "accuracy": None}
    assert analogy_figures([asked], ["counts"]) == {}
    figures = sentence_figures(FOLLOWING, MASKED, TRANSLATED)
    assert list(figures) == ["next_sentence_auc", "masked_word_rank", "translation_rank"]
    codes = codes_figure(pa.Table.from_pylist(PLANE), CLASSES, "topic")
    for figure in (*figures.values(), precision_figure(HASHED), codes):
        check_print(figure)
    coloured = codes.axes[0].collections
    assert len(coloured) == 1 + 7, "eight classes, of which one is grey with those without a class"
