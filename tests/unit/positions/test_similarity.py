"""Pairs of tokens of different texts: who is paired with whom depends on the texts and the seed alone."""

import numpy as np
import torch

from ops.positions.similarity import PANEL_TOKENS, PanelDraw, draw_partners

TOKENS = 4_000
SENT_IDS, PLACES = np.repeat(np.arange(400), 10), np.tile(np.arange(10), 400)
STATES = torch.from_numpy(np.stack([SENT_IDS, PLACES], 1).astype(np.float32))[None]


def draw(order: list[np.ndarray], seed: int = 0) -> np.ndarray:
    drawn = PanelDraw(seed)
    for rows in order:
        drawn.add(SENT_IDS[rows], PLACES[rows], STATES[:, rows.copy()])
    panel = drawn.result()
    assert np.array_equal(panel.states[0, :, 0], panel.sent_ids)
    assert len(panel.sent_ids) == PANEL_TOKENS
    return panel.states[0]


def test_the_panel_is_the_same_however_the_texts_come() -> None:
    every = np.arange(TOKENS)
    whole = draw([every])
    assert np.array_equal(draw([rows[::-1] for rows in np.array_split(every, 90)][::-1]), whole)
    assert not np.array_equal(draw([every], seed=1), whole)
    assert len(np.unique(whole, axis=0)) == PANEL_TOKENS


def test_the_panel_is_uniform_over_tokens() -> None:
    places = np.concatenate([draw([np.arange(TOKENS)], seed)[:, 1] for seed in range(20)])
    expected = len(places) / 10
    assert (np.abs(np.bincount(places.astype(int), minlength=10) - expected) < 4 * np.sqrt(expected)).all()


def test_no_text_gives_no_panel() -> None:
    assert len(PanelDraw(0).result().sent_ids) == 0


def test_partners_are_of_other_texts_and_any_of_the_panel() -> None:
    panel = np.arange(0, 400, 4)
    partners, apart = draw_partners(panel, SENT_IDS, PLACES, 0)
    assert np.array_equal(apart, panel[partners] != SENT_IDS)
    assert 0 < (~apart).sum() < 40
    expected = TOKENS / len(panel)
    assert (np.abs(np.bincount(partners, minlength=100) - expected) < 5 * np.sqrt(expected)).all()
    some = np.arange(7, TOKENS, 13)
    assert np.array_equal(draw_partners(panel, SENT_IDS[some], PLACES[some], 0)[0], partners[some])
    assert not draw_partners(SENT_IDS[:1], SENT_IDS[:9], PLACES[:9], 0)[1].any()
