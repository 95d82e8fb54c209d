from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from ops.meaning.confusion_figure import draw_confusion
from ops.meaning.figures import draw_accuracy, draw_all
from ops.meaning.hashing_figures import draw_hashing, draw_plane, draw_precision
from ops.meaning.masked_words import masked_rows
from ops.meaning.next_sentences import next_rows
from ops.meaning.sentence_figures import draw_masked, draw_next, draw_sentences, draw_translations
from ops.meaning.translations import translation_rows
from ops.storage.store import Store
from tests.unit.figure_letters import check_print

RNG = np.random.default_rng(0)
N = 60
MODEL = "all-MiniLM-L6-v2"
SCORES = {
    f: RNG.normal(size=(N, 3)).astype(np.float32) for f in ("tokens", *(f"layer:{i}" for i in range(1, 13)), "head")
}
FOLLOWING = next_rows(SCORES, [f"d{i // 2}" for i in range(N)], 0)
MASKED = masked_rows(
    RNG.integers(1, 30, 900), RNG.random(900), RNG.choice(["NN", "IN", "-LRB-"], 900).tolist(), RNG.integers(0, 5, 900)
)
STATES = RNG.normal(size=(2 * N, 4)).astype(np.float32)
TRANSLATED = translation_rows(lambda _: STATES, 3, [f"k{i % N}" for i in range(2 * N)], ["en"] * N + ["de"] * N, 0)
SPACES = ["counts", "embedding", *(f"layer:{i}" for i in range(1, 13))]
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


ACCURACY = [
    {"space": s, "category": "all", "rule": r, "excluded": True, "accuracy": 0.5, "low": 0.4, "high": 0.6}
    for s in SPACES for r in ("add", "mul", "nearest_c")
]  # fmt: skip


def test_figures_can_be_printed() -> None:
    for figure in (
        draw_next(FOLLOWING, MODEL),
        draw_masked(MASKED, MODEL),
        draw_translations(TRANSLATED, MODEL),
        draw_precision(HASHED, MODEL),
        draw_plane(PLANE, CLASSES, "topic", MODEL),
        draw_accuracy(ACCURACY, SPACES, f"Analogies by space, {MODEL}"),
    ):
        check_print(figure, MODEL)


def test_figures_are_drawn_where_there_is_data_and_named_apart(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    assert draw_sentences(store, [], [], [], MODEL) == []
    asked = {"space": "counts", "category": "all", "rule": "add", "excluded": True, "n_known": 0, "accuracy": None}
    assert draw_all(store, {}, [asked], ["counts"], MODEL) == []
    found = [
        *draw_sentences(store, FOLLOWING, MASKED, TRANSLATED, MODEL),
        *draw_hashing(store, HASHED, PLANE, CLASSES, "topic", MODEL),
    ]
    names = [Path(name).name for name in found]
    assert len(set(names)) == len(names) == 15
    assert not any(name.startswith("accuracy") for name in names)


def test_the_areas_shown_are_the_table_s() -> None:
    axes = draw_next(FOLLOWING, MODEL).axes[0]
    shown = sorted(float(y) for c in axes.containers for y in c[0].get_ydata())
    assert shown == pytest.approx(sorted(r["auc"] for r in FOLLOWING))


def test_the_ticks_of_confusion_do_not_overlap_and_the_legend_covers_no_line(tmp_path: Path) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    from ops.meaning import confusion_figure

    sets = [f"{a} {a}b" for a in "uvwxyz"]
    features = ("majority", "words", *(f"layer:{i}" for i in range(1, 7)))
    rows = [
        {"set": s, "features": f, "n": n, "accuracy": 0.8, "low": 0.7, "high": 0.9}
        for s in sets for f in features for n in (100, 300, 1_000, 30_000, 98_765)
    ]  # fmt: skip
    assert len(draw_confusion(Store(str(tmp_path)), rows, MODEL)) == 3
    figure = confusion_figure.draw_sets(rows, MODEL)
    check_print(figure, MODEL)
    FigureCanvasAgg(figure).draw()
    for axes in figure.axes[3:]:
        boxes = [t.get_window_extent() for t in axes.get_xticklabels() if t.get_visible() and t.get_text()]
        boxes = sorted((b for b in boxes if b.width), key=lambda b: b.x0)
        assert all(a.x1 <= b.x0 for a, b in pairwise(boxes))
