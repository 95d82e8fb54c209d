"""Figures as pages show them: copies with flat names, whose SVG turns dark with the page."""

import re
from pathlib import Path

_COLOUR = re.compile(r"(fill|stroke): #([0-9a-f]{6})\b")
# The page's own background and text in the dark.
_PAPER, _INK = 0x17, 0xE8


def copy_name(name: str) -> str:
    """Return the name of a figure's copy below `figures/`.

    >>> copy_name("compare/figures/groups/map.svg")
    'compare-groups-map.svg'
    """
    job, _, rest = name.partition("/")
    return f"{job}-{rest.removeprefix('figures/')}".replace("/", "-")


def caption(name: str) -> str:
    """Return what a figure's file name says, in words.

    >>> caption("mixing/figures/norms_residual.svg")
    'Norms residual'
    """
    words = Path(name).stem.replace("_", " ")
    return words[:1].upper() + words[1:]


def with_dark_colours(svg: str) -> str:
    """Return an SVG figure with a style for dark pages: white becomes the page's own, black its text's, greys between.

    Colours stay, because series are told apart by them. What has no colour of its own, such as letters, is black.

    >>> with_dark_colours('<svg><path style="fill: #ffffff"/></svg>').partition("{")[2].removesuffix("</svg>")[:46]
    'svg{fill: #e8e8e8}[style*="fill: #ffffff"]{fil'
    """
    found = sorted({(of, colour) for of, colour in _COLOUR.findall(svg) if _is_grey(colour)})
    rules = [f'[style*="{of}: #{colour}"]{{{of}: {_inverted(colour)} !important}}' for of, colour in found]
    style = f"svg{{fill: {_inverted('000000')}}}" + "".join(rules)
    dark = f"<style>@media screen and (prefers-color-scheme: dark){{{style}}}</style>"
    return re.sub(r"(<svg\b[^>]*>)", lambda opened: opened[1] + dark, svg, count=1)


def _is_grey(colour: str) -> bool:
    parts = [int(colour[i : i + 2], 16) for i in (0, 2, 4)]
    return max(parts) - min(parts) <= 12


def _inverted(colour: str) -> str:
    light = int(colour[:2], 16) / 255
    value = round(_INK + light * (_PAPER - _INK))
    return f"#{value:02x}{value:02x}{value:02x}"
