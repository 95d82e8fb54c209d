"""Checks of the metadata columns that options name."""

from jobs.options.configs import CorpusConfig
from jobs.run_folder.run import Run
from ops.errors import InputError, counted
from ops.schema import meta_keys
from ops.sources.pieces import missing_column
from ops.sources.spec import parse_source
from ops.storage.tables import part_name


def check_source_column(config: CorpusConfig, flag: str, column: str | None) -> None:
    """Refuse a metadata column that no source can have, as far as this can be known before the files are read."""
    if column is None or not config.corpus:
        return
    columns = missing_column([parse_source(spec, config.reading) for spec in config.corpus], column, config.text_column)
    if columns is not None:
        raise no_such_column(flag, column, columns)


def check_column(run: Run, flag: str, column: str | None) -> None:
    """Refuse a column that corpus/ does not have."""
    if column is None or run.is_expected("ingest"):
        return
    run.check_files("ingest", footers=True, only=("corpus",))
    with run.store.parquet(part_name("corpus", 0)) as file:
        keys = meta_keys(file.schema_arrow)
    if column not in keys:
        sentences = counted(run.require("ingest")["counts"]["sentences"], "sentence")
        raise no_such_column(flag, column, keys, f"no such column, or no value in it ({sentences})")


def no_such_column(flag: str, column: str, columns: list[str], lacks: str = "no such column") -> InputError:
    """Return the error for a flag that names a metadata column that the corpus does not have and will not have."""
    others = f"it has {', '.join(columns)}" if columns else "its sources have no column other than the text"
    return InputError(f"{flag} {column}: the corpus has {lacks}; {others}")
