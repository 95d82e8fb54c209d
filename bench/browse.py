"""Measures the time to render neurons' pages of a finished run, and the server's memory.

    python -m bench browse --out runs/six

The server renders the overview and the pages of randomly drawn neurons, each once. The exit status is 1 if a page lacks
winners, if the median page takes half a second or more, or if a page or the overview has 1 MB or more.
"""

import statistics

import numpy as np

from bench.harness import Result
from bench.resources import resident, timed
from jobs.browse.server import Browser
from jobs.run_folder.run import RunReader
from jobs.stage.scored import Scored

TARGET, LARGEST = 0.5, 1_000_000  # maximum seconds and bytes of a page
LISTED = 50  # number of a pole's winners on a page


def measure(out: str, pages: int = 30, seed: int = 0) -> Result:
    """Render pages.

    Args:
        out: a finished run.
        pages: number of pages.
        seed: the seed of the draw of pages.
    """
    scored = Scored.of(RunReader(out, create=False))
    ranks, before = range(1, min(LISTED, scored.k) + 1), resident()["VmHWM"]
    server = Browser(out, LISTED, 30.0).pages
    chosen = np.random.default_rng(seed + 1).choice(len(scored.neurons), pages, replace=False)
    names = [f"{layer}-{unit}" for layer, unit in zip(*scored.neurons.layer_and_unit(chosen), strict=True)]
    server.neuron(names[0])  # opens the tables
    each = [timed(server.neuron, name) for name in names]
    overview_s, overview = timed(server.overview)
    texts = [str(page.body) if page else "" for _, page in each]
    # Hard negatives have ranks too.
    whole = sum(all(text.count(f'data-rank="{rank}"') >= scored.poles for rank in ranks) for text in texts)
    clock, processor = zip(*(seconds for seconds, _ in each), strict=True)
    size, largest = len(str(overview.body).encode()), max(map(len, texts))
    return {
        "neurons": len(scored.neurons),
        "winners": scored.k,
        "sentences": scored.sentences,
        "pages": pages,
        "pages_whole": whole,
        "page_bytes": largest,
        "page_s": round(statistics.median(clock), 3),
        "slowest_s": round(max(clock), 3),
        "page_cpu_s": round(statistics.median(processor), 3),
        "overview_s": round(overview_s.clock, 3),
        "overview_bytes": size,
        "memory_gained_mb": (resident()["VmHWM"] - before) >> 20,
        "pages_right": whole == pages,
        "target_met": statistics.median(clock) < TARGET and max(largest, size) < LARGEST,
    }
