"""Reads what `show` prints, after checking that the required stages are complete and their files in place."""

from typing import Any

from jobs.run_folder.again import command
from jobs.run_folder.run import Run
from jobs.run_folder.stages import STAGES
from ops.errors import InputError
from ops.facts.audit_findings import read_audit_findings
from ops.facts.audited import TABLES_READ as AUDITED_BY
from ops.facts.best import read_best
from ops.facts.explanation import TABLES_READ as EXPLAINED_BY
from ops.facts.hub_sentences import most_wins_of_run
from ops.facts.outputs import TABLES_READ as OUTPUTS_READ
from ops.show.comparison import lay_out_comparison, read_findings
from ops.show.head import lay_out_head, read_head
from ops.show.neuron_facts import TABLES_READ, ShownRun, read_neuron
from ops.show.positions import lay_out_positions, read_positions
from ops.show.word import read_word
from ops.topk.neuron_names import NEURON, parse_pair
from ops.topk.unit_names import unit_names

HEAD = "LAYER:HEAD, such as 4:2 (layers from 1, heads from 0)"


def best_neurons(run: Run) -> list[dict[str, Any]]:
    """Return the neurons that a run explains best (see `read_best`).

    Raises:
        InputError: the tables are missing.
    """
    stages = ("topk", "mine", *(["explain"] if run.complete("explain") else []))
    options = run.require("mine")["config"]
    run.check_files(*stages, only=(*TABLES_READ, *EXPLAINED_BY))
    return read_best(run.store, run.complete("explain"), not options["no_scores"])


def neuron_facts(run: Run, which: str, pole: str | None, rows: int | None, everything: bool) -> dict[str, Any]:
    """Return the facts of the neuron LAYER:UNIT at a pole; None for the better explained pole (see `read_neuron`).

    Raises:
        InputError: the tables are missing, or there is no such neuron.
    """
    layer, unit = parse_pair("--neuron", which, NEURON)
    stages = ("topk", "annotate", "mine")
    for stage in stages:
        run.require(stage)
    run.check_files(*stages, only=TABLES_READ)
    has_tokens = run.complete("tokens")
    run.check_files(*(["tokens"] if has_tokens else []))
    has_explanations = run.complete("explain")
    run.check_files(*(["explain"] if has_explanations else []), only=EXPLAINED_BY)
    has_outputs = run.complete("outputs")
    run.check_files(*(["outputs"] if has_outputs else []), only=OUTPUTS_READ)
    has_audit = has_explanations and run.complete("audit")
    run.check_files(*(["audit"] if has_audit else []), only=AUDITED_BY)
    topk = run.require("topk")
    most = most_wins_of_run(topk, topk["counts"]["neurons"])
    mine, names = run.require("mine")["config"], unit_names(topk)
    shown = ShownRun(mine, most, has_tokens, has_explanations, has_outputs, has_audit, names)
    return read_neuron(run.store, shown, layer, unit, pole, rows, everything)


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


def head_text(run: Run, which: str, rows: int, width: int) -> str:
    """Format the head LAYER:HEAD as text.

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
    return lay_out_head(layer, head, clusters, contextual, rows, width)


def audit_findings(run: Run) -> dict[str, Any]:
    """Return the findings of the job audit (see `read_audit_findings`).

    Raises:
        InputError: the tables are missing.
    """
    run.require("explain")
    run.require("audit")
    run.check_files("explain", only=EXPLAINED_BY)
    run.check_files("audit")
    return read_audit_findings(run.store)


def positions_text(run: Run) -> str:
    """Format the tables of `positions` as text.

    Raises:
        InputError: the tables are missing.
    """
    from ops.positions.variants import VARIANTS  # imports torch, which nothing else here needs

    run.require("positions")
    run.check_files("positions")
    return lay_out_positions(*read_positions(run.store), list(VARIANTS))


def comparison_text(run: Run, rows: int, width: int) -> str:
    """Format the findings of `compare` as text, and name the parts that have not run.

    Raises:
        InputError: no part of `compare` has run.
    """
    parts = [name for name in STAGES if name.startswith("compare/")]
    done = [part for part in parts if run.complete(part)]
    if not done:
        raise InputError(f"--out {run.store.uri}: nothing was compared yet; run", command(run.store.uri, "compare", {}))
    run.check_files(*done)
    text = lay_out_comparison(read_findings(run.store, run.record["tables"]), rows, width)
    missing = [part.partition("/")[2] for part in parts if part not in done]
    return text + (f"\n\nNot compared: {', '.join(missing)}" if missing else "")
