"""Opens another run for `compare` without changing it, and checks that it is finished and has the same corpus."""

from typing import Any

from jobs.compare.compared_run import title_of
from jobs.stage.dictionaries import is_of_dictionaries
from jobs.stage.publish import check_tables
from jobs.stage.run import RunReader
from ops.errors import InputError
from ops.storage.fingerprint import differences

# The parts of a corpus's identity that may differ. Other tokenizers and shard sizes leave the sentences the same,
# except the sentences that are too short for a model.
_MAY_DIFFER = ("tokenizer", "shard_size")


def open_other(flag: str, named: str, record: RunReader, stages: tuple[str, ...]) -> RunReader:
    """Return the run that an option names.

    Args:
        flag: the option, such as `--with`.
        named: the run's directory.
        record: the run that it is compared with.
        stages: the stages whose results are read.

    Raises:
        InputError: there is no run, one of these stages is not finished, files are not as they were written, or the run
            has another corpus.
    """
    try:
        other = RunReader(named, create=False)
        if "publishing" in other.record:
            stage = other.record["publishing"]["stage"]
            raise InputError(f"--out {named}: a job was killed while it put {stage} in place; give its command again")
        for stage in ("ingest", *stages):
            other.require(stage)
        check_tables(other.store, [stage for stage in stages if stage != "ingest"], other.record, footers=False)
    except InputError as error:
        # The command that repairs it, if there is one, keeps its --out.
        raise InputError(error.args[0].replace("--out", flag, 1), *error.args[1:]) from error
    check_same_corpus(flag, named, record, other)
    return other


def check_same_corpus(flag: str, named: str, record: RunReader, other: RunReader) -> None:
    """Refuse a run with another corpus; the sentences are the same if the sources and options of ingest are the same.

    Raises:
        InputError: the run has another corpus.
    """
    own, others = (run.require("ingest") for run in (record, other))
    kept = [{k: v for k, v in entry["identity"].items() if k not in _MAY_DIFFER} for entry in (own, others)]
    if kept[0] != kept[1]:
        changed = _here_and_there(differences(kept[0], kept[1], own["config"], others["config"]))
        raise InputError(
            f"{flag} {named}: has another corpus: {changed}; give a run with the same sources and options of ingest"
        )


def check_same_options(flag: str, named: str, stage: str, own: dict[str, Any], others: dict[str, Any]) -> None:
    """Refuse a run in which a stage was done with other options.

    Args:
        flag, named: the option, and the run that it names.
        stage: the name of the stage.
        own, others: the parts of the stage's identity in each run that must agree.

    Raises:
        InputError: options differ; the message names each of them.
    """
    if own != others:
        changed = _here_and_there(differences(own, others))
        raise InputError(
            f"{flag} {named}: its {stage} was run with other options: {changed}; give a run with the same options"
        )


def _here_and_there(changed: str) -> str:
    """Rewrite a description of how a run has changed as a description of how two runs differ."""
    for was, now in (("(was ", "(here "), (", is ", ", there "), (" has changed)", " differs there)")):
        changed = changed.replace(was, now)
    return changed


def title_of_other(other: RunReader) -> str:
    """Return the title of another run for figures: its model and, if its units are not neurons, what they are."""
    topk = other.require("topk")
    if not is_of_dictionaries(topk):
        return title_of(other)
    formats = sorted({found["format"] for found in topk["counts"].get("dictionaries", [])})
    units = "rotated directions" if formats == ["rotated"] else "features of dictionaries"
    return f"{units} of {title_of(other)}"
