import numpy as np
from matplotlib.colors import to_rgb

from ops.figures.style import COLOURS, GREY, GROUND, INK, LIGHT_LETTERS_FROM, SEQUENTIAL, looks


def luminance(colour: object) -> float:
    parts = np.array(to_rgb(colour))  # type: ignore[arg-type]
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


def contrast(one: object, other: object) -> float:
    """The contrast of two colours according to WCAG 2, from 1 to 21."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def test_lines_and_letters_can_be_seen_on_the_ground_of_figures() -> None:
    ordered = [look["color"] for look in looks(24, ordered=True)]
    assert min(contrast(colour, GROUND) for colour in (*COLOURS, GREY, *ordered)) >= 3
    assert contrast(INK, GROUND) >= 7
    letters = {value: GROUND if value >= LIGHT_LETTERS_FROM else INK for value in np.linspace(0, 1, 101)}
    assert min(contrast(ink, SEQUENTIAL(value)) for value, ink in letters.items()) >= 4


def test_lines_without_an_order_are_all_different() -> None:
    assert len({(look["color"], look["linestyle"]) for look in looks(28)}) == 28
    assert len({look["color"] for look in looks(7)}) == 7
