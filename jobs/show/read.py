"""Reads what `show` prints of side jobs, after checking that they are complete and their files in place."""

from typing import Any

from jobs.run_folder.again import command
from jobs.run_folder.run import Run
from jobs.run_folder.stages import STAGES
from ops.errors import InputError
from ops.facts.audit_findings import read_audit_findings
from ops.facts.comparison import comparisons, read_findings
from ops.facts.listing import Listing
from ops.show.head import head_listings, read_head
from ops.show.mixing import mixing_ratios
from ops.show.positions import position_listings, read_positions
from ops.show.word import read_word
from ops.storage.tables import read_table
from ops.topk.neuron_names import parse_pair

HEAD = "LAYER:HEAD, such as 4:2 (layers from 1, heads from 0)"


def word_facts(run: Run, word: str, rows: int) -> dict[str, Any]:
    """Return the facts of a word (see `read_word`).

    Raises:
        InputError: the tables are missing, or the word was not counted.
    """
    counted = run.require("meaning/counts")
    compared = run.stage("meaning/offsets") if run.complete("meaning/offsets") else None
    run.check_files("meaning/counts", *(["meaning/offsets"] if compared else []))
    spaces = compared["counts"]["spaces"] if compared else []
    return read_word(run.store, counted["config"], spaces, word, rows)


def head_lists(run: Run, which: str, rows: int) -> list[Listing]:
    """Return the findings about the head LAYER:HEAD.

    Raises:
        InputError: the tables are missing, or there is no such head.
    """
    layer, head = parse_pair("--psi", which, HEAD)
    counts = run.require("psi")["counts"]
    has_contextual = run.complete("psi/contextual")
    run.check_files("psi", *(["psi/contextual"] if has_contextual else []))
    if not (1 <= layer <= counts["layers"] and head < counts["heads"]):
        raise InputError(
            f"--psi {which}: there is no such head; layers run from 1 to {counts['layers']}, "
            f"heads from 0 to {counts['heads'] - 1}"
        )
    clusters, contextual = read_head(run.store, layer, head, rows, has_contextual)
    return head_listings(layer, head, clusters, contextual, rows)


def mixing_lists(run: Run) -> list[Listing]:
    """Return the mean ratios of `mixing`.

    Raises:
        InputError: the tables are missing.
    """
    run.require("mixing")
    run.check_files("mixing", only=("mixing/ratios",))
    return [mixing_ratios(read_table(run.store, "mixing/ratios").to_pylist())]


def audit_findings(run: Run) -> dict[str, Any]:
    """Return the findings of the job audit (see `read_audit_findings`).

    Raises:
        InputError: the tables are missing.
    """
    run.require("explain")
    run.require("audit")
    run.check_files("explain", "audit")
    return read_audit_findings(run.store)


def position_lists(run: Run) -> list[Listing]:
    """Return the findings of `positions`.

    Raises:
        InputError: the tables are missing.
    """
    from ops.positions.variants import VARIANTS  # imports torch, which nothing else here needs

    run.require("positions")
    run.check_files("positions")
    return position_listings(*read_positions(run.store), list(VARIANTS))


def comparison_lists(run: Run, rows: int) -> list[Listing]:
    """Return the findings of `compare`, and the names of the parts that have not run.

    Raises:
        InputError: no part of `compare` has run.
    """
    parts = [name for name in STAGES if name.startswith("compare/")]
    done = [part for part in parts if run.complete(part)]
    if not done:
        raise InputError(f"--out {run.store.uri}: nothing was compared yet; run", command(run.store.uri, "compare", {}))
    run.check_files(*done)
    missing = [part.partition("/")[2] for part in parts if part not in done]
    findings = comparisons(read_findings(run.store, run.record["tables"]), rows)
    return [*findings, *([Listing(f"Not compared: {', '.join(missing)}")] if missing else [])]
