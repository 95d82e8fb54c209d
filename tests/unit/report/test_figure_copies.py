"""How figures look on dark pages."""

import re

from ops.figures import COLOURS, ON_DARK, ON_PALE
from ops.report.figure_copies import _contrast, with_dark_colours


def rules(*styles: str) -> dict[str, str]:
    """The rules for a dark page of a figure whose parts have these styles: selector to declaration."""
    svg = with_dark_colours("<svg>" + "".join(f'<path style="{style}"/>' for style in styles) + "</svg>")
    dark = re.search(r"\(prefers-color-scheme: dark\)\{(.*)\}</style>", svg)
    assert dark is not None
    return dict(re.findall(r"([^{}]+)\{([^{}]+)\}", dark[1]))


def test_lines_markers_and_bands_that_would_be_lost_are_lighter() -> None:
    own = "440154"  # where viridis begins
    found = rules(f"fill: none; stroke: #{own}", f"fill: #{own}; stroke: #{own}", f"fill: #{own}; fill-opacity: 0.18")
    line = found[f'[style*="stroke: #{own}"]']
    [filled] = {held for name, held in found.items() if f"fill: #{own}; stroke" in name and "fill-opacity" in name}
    assert line.removeprefix("stroke") == filled.removeprefix("fill")
    assert _contrast(line[len("stroke: #") : len("stroke: #") + 6]) >= 3
    assert not any(name.endswith(f'[style*="fill: #{own}"]') for name in found), "a cell's colour is a number"


def test_colours_of_series_and_letters_on_cells_stay_and_others_turn() -> None:
    for colour in set(COLOURS) - {"#000000"}:
        assert list(rules(f"fill: none; stroke: {colour.lower()}")) == ["svg"]
    found = rules(f"fill: {ON_PALE.lower()}", f"fill: {ON_DARK.lower()}")
    # Letters have neither a stroke nor an opacity.
    assert all("stroke" in name or name == "svg" for name in found)
    assert rules("fill: #ffffff")['[style*="fill: #ffffff"]'] == "fill: #171717 !important"
