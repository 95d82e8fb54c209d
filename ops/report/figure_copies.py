"""Copies of figures for pages, with flat names and with SVG colours that follow the page's dark mode."""

import re
from collections.abc import Sequence
from pathlib import Path

_COLOUR = re.compile(r"(fill|stroke): #([0-9a-f]{6})\b")
_CAPTIONS = {
    "transfer": "How far a rule learned in one data set holds in another, next to halves of one and permuted data sets",
    "illusion": "How much less cards from other data sets gain than a data set's own card, by layer, next to controls",
    "controls": "How much of an activation is explained beyond length and source, next to random axes",
    "peaked": "How peaked the outputs of units are by layer, next to those of random directions",
    "psi_by_cluster": "How far each head stretches the vectors of each cluster of tokens",
    "top_cluster_types": "The types of the clusters that each head stretches most",
    "embedding_plane": "Word embeddings and their clusters in the plane",
    "word_position_cosines": "Cosines between word embeddings and position embeddings",
    "position_attention": "How attention depends on positions alone",
    "static_contextual": "psi of a token by itself and in context",
    "ratios": "How much of a token's new vector comes from other tokens, by layer",
    "lengths": "How the mixing ratio changes with the length of a sentence",
    "norms_attention": "The norms that attention mixes and preserves, by layer",
    "norms_residual": "The norms of the residual and of what is added to it, by layer",
    "maps": "Neurons in the plane by their activations, in groups",
    "quality": "How distinct and how stable groups are, next to shuffled activations",
    "units": "How similar the same unit is in two layers",
    "distances": "How similar layers are, by the distance between them",
    "nearest": "How similar the nearest neuron is, next to chance",
    "curves": "How diverse the winners of neurons are, next to uniform sentences",
    "distributions": "How scores are distributed in this run and in its control, by layer",
    "universal": "Share of units that have a match in the other run, next to rotated layers",
    "shares": "Share above the 95 % quantile of the control, by layer",
    "shift": "The distance between the two models, by text set",
    "effects": "How far neurons move others when they are set to their mean",
    "training": "Loss and accuracy by epoch",
    "cosine_by_layer": "How similar states remain without positions, by layer",
    "cosine_by_position": "How similar states remain without positions, by position",
    "norms": "Norms of states by layer",
    "perplexity": "Perplexity of each variant of the positions",
    "perplexity_by_position": "Perplexity by position",
    "labels": "How well a label is predicted from states of each variant",
    "analogy_accuracy": "Share of analogies answered, by space",
    "next_sentence_auc": "How often the next sentence is nearer than another, by layer",
    "masked_word_rank": "How the model ranks the word at a masked position",
    "translation_rank": "How high a sentence's translation ranks, by layer",
    "code_plane": "Short codes of sentences in the plane",
    "confusion_accuracy": "How often the right one of confused words is chosen",
}
# The grey levels of a dark page's background and text, and the minimum contrast of a line (WCAG 2 requires 3).
_PAPER, _INK = 0x17, 0xE8
_LEAST_CONTRAST = 3.2


def copy_name(name: str) -> str:
    """Return the name of a figure's copy below `figures/`.

    >>> copy_name("compare/figures/groups/map.svg")
    'compare-groups-map.svg'
    """
    job, _, rest = name.partition("/")
    return f"{job}-{rest.removeprefix('figures/')}".replace("/", "-")


def caption(name: str) -> str:
    """Return the caption of a figure; for a figure that is not known here, it is derived from the file name.

    >>> caption("mixing/figures/lengths.svg"), caption("compare/figures/groups/of_mine.svg")
    ('How the mixing ratio changes with the length of a sentence', 'Of mine')
    """
    stem = Path(name).stem
    if stem in _CAPTIONS:
        return _CAPTIONS[stem]
    if stem.startswith("offsets_"):
        return f"Offsets between the words of a pair: {stem.removeprefix('offsets_').replace('_', ' ')}"
    words = stem.replace("_", " ")
    return words[:1].upper() + words[1:]


def with_dark_colours(svg: str) -> str:
    """Return an SVG figure with a style for dark pages.

    White becomes the page's background colour, black its text colour, and greys become colours in between. Other
    colours are kept, because they distinguish the series. Only lines, with their markers and bands, become lighter if
    they could not be seen on the dark page. An element with only a fill is a cell of a heat map: its colour stands for
    a number and is kept. An element without a colour, such as a letter, is black.

    >>> with_dark_colours('<svg><path style="fill: #ffffff"/></svg>').partition("{")[2].removesuffix("</svg>")[:46]
    'svg{fill: #e8e8e8}[style*="fill: #ffffff"]{fil'
    """
    found = sorted(set(_COLOUR.findall(svg)))
    greys = [(of, colour) for of, colour in found if _is_grey(colour)]
    rules = [f'[style*="{of}: #{colour}"]{{{of}: {_inverted(colour)} !important}}' for of, colour in greys]
    others = {colour for _, colour in found if not _is_grey(colour)}
    for colour in sorted(c for c in others if _contrast(c) < _LEAST_CONTRAST):
        lighter, fill = _lightened(colour), f"fill: #{colour}; "
        rules.append(f'[style*="stroke: #{colour}"]{{stroke: {lighter} !important}}')
        rules.append(f'[style*="{fill}stroke: #{colour}"],[style*="{fill}fill-opacity"]{{fill: {lighter} !important}}')
    style = f"svg{{fill: {_inverted('000000')}}}" + "".join(rules)
    dark = f"<style>@media screen and (prefers-color-scheme: dark){{{style}}}</style>"
    return re.sub(r"(<svg\b[^>]*>)", lambda opened: opened[1] + dark, svg, count=1)


def _is_grey(colour: str) -> bool:
    parts = _parts(colour)
    return max(parts) - min(parts) <= 12


def _parts(colour: str) -> list[int]:
    """Return the red, green and blue of a colour, each from 0 to 255."""
    return [int(colour[i : i + 2], 16) for i in (0, 2, 4)]


def _inverted(colour: str) -> str:
    light = int(colour[:2], 16) / 255
    value = round(_INK + light * (_PAPER - _INK))
    return f"#{value:02x}{value:02x}{value:02x}"


def _contrast(colour: str) -> float:
    """Return the contrast of a colour with the dark page according to WCAG 2; 1 means that it is invisible.

    >>> round(_contrast("440154"), 2), round(_contrast("0072b2"), 2)
    (1.18, 3.46)
    """
    return (_luminance(_parts(colour)) + 0.05) / (_luminance([_PAPER] * 3) + 0.05)


def _luminance(parts: Sequence[float]) -> float:
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in (part / 255 for part in parts)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _lightened(colour: str) -> str:
    """Return a colour mixed with the smallest share of white that makes it visible on the dark page."""
    parts = _parts(colour)
    for share in range(1, 101):
        mixed = "".join(f"{round(part + (255 - part) * share / 100):02x}" for part in parts)
        if _contrast(mixed) >= _LEAST_CONTRAST:
            break
    return f"#{mixed}"
