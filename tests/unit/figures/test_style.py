from ops.figures.style import COLOURS, GREY, GROUND, INK, contrast, ink_on, looks


def test_lines_and_letters_can_be_seen_on_the_ground_of_figures() -> None:
    ordered = [look["color"] for look in looks(24, ordered=True)]
    assert min(contrast(colour, GROUND) for colour in (*COLOURS, GREY, *ordered)) >= 3
    assert contrast(INK, GROUND) >= 7
    assert min(contrast(ink_on((r, g, b)), (r, g, b)) for r in (0, 0.5, 1) for g in (0, 0.5, 1) for b in (0, 1)) >= 4


def test_lines_without_an_order_are_all_different() -> None:
    assert len({(look["color"], look["linestyle"]) for look in looks(28)}) == 28
    assert len({look["color"] for look in looks(7)}) == 7
