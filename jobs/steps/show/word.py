"""What `show --word` prints, read from the tables of `meaning`."""

from typing import Any

import pyarrow.compute as pc

from jobs.stage.run import Run
from ops.errors import InputError, one_line
from ops.meaning.words import fold, split_words
from ops.storage.tables import read_rows

COUNTS, OFFSETS = "meaning/counts", "meaning/offsets"


def read_word(record: Run, word: str, rows: int) -> dict[str, Any]:
    """Return what is known of a word.

    Args:
        record: the run.
        word: the word, folded as the run folded its words.
        rows: contexts, and neighbours of each space.

    Returns:
        `word`, `count`, `n_contexts`; `contexts`, the highest PPMI first; `neighbours` by space, the nearest first,
        where the words were compared.

    Raises:
        InputError: the tables are missing, or the word is not among those that were counted.
    """
    entry = record.require(COUNTS)
    compared = record.complete(OFFSETS)
    record.check_files(COUNTS, *([OFFSETS] if compared else []))
    options = entry["config"]
    folded = fold(word, options["word_case"])
    here = pc.field("word") == folded
    found = read_rows(record.store, "meaning/words", here, ["word", "count"])
    if not found:
        shown = one_line(word, 60)
        if split_words(folded) != [folded]:
            raise InputError(f"--word {shown}: is not one word; name one, without punctuation")
        cased = read_rows(
            record.store, "meaning/words", pc.utf8_lower(pc.field("word")) == folded.lower(), ["word", "count"]
        )
        other = f"; there is {max(cased, key=lambda c: c['count'])['word']}" if cased else ""
        least = options["min_count"]
        raise InputError(
            f"--word {shown}: does not occur {least} times in the corpus (--min-count of jobs.meaning){other}"
            if least > 1
            else f"--word {shown}: does not occur in the corpus{other}"
        )
    contexts = read_rows(record.store, "meaning/contexts", here, ["context", "count", "ppmi"])
    n_contexts = len(contexts)
    contexts.sort(key=lambda c: (-c["ppmi"], -c["count"], c["context"]))
    neighbours: dict[str, list[dict[str, Any]]] = {}
    if compared:
        near = read_rows(record.store, "meaning/neighbours", here & (pc.field("rank") <= rows))
        for space in record.require(OFFSETS)["counts"]["spaces"]:
            own = [{n: row[n] for n in ("rank", "other", "cosine", "inner")} for row in near if row["space"] == space]
            if own:
                neighbours[space] = sorted(own, key=lambda row: row["rank"])
    return {**found[0], "n_contexts": n_contexts, "contexts": contexts[:rows], "neighbours": neighbours}
