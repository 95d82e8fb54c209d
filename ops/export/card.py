"""The card of a dataset folder: YAML with a config for each table, the folder's origin, and a query for each table."""

from collections.abc import Iterable
from typing import Any, cast

import yaml

from ops.errors import visible
from ops.export.licences import without_place
from ops.model.names import original_name
from ops.schema import TABLES
from ops.topk.unit_names import unit_names

Row = dict[str, Any]

MAIN = "topk"  # the config that is loaded by default
LISTED, LIMIT = 6, 10  # maximum number of columns and rows in a query that lists rows
_SIZES = ((10**3, "n<1K"), (10**4, "1K<n<10K"), (10**5, "10K<n<100K"), (10**6, "100K<n<1M"), (10**7, "1M<n<10M"))
_SIZES += ((10**8, "10M<n<100M"), (10**9, "100M<n<1B"))  # type: ignore[assignment]
_SQL_WORDS = frozenset({"group", "inner", "table"})
_ACTIVATIONS = "a sentence of a uniform sample, with all its activations: a list for each layer"
_QUERIES = {
    "topk": "select rank, activation, text from 'topk/*.parquet' join 'sentences/*.parquet' using (sent_id)\n"
    "where layer = 1 and unit = 0 and pole = 'top' order by rank limit 10;",
    "patterns": "select kind, pattern, support, share, baseline_share, lift, g2, q_value from 'patterns/*.parquet'\n"
    "where layer = 1 and unit = 0 and pole = 'top' and rank <= 5 order by kind, rank;",
    "scores": "select layer, unit, pole, auc, auc_excess from 'scores/*.parquet'\n"
    "order by auc_excess desc nulls last limit 10;",
}


def config_name(table: str) -> str:
    """Return the config's name for a table; names on the hub cannot contain a slash.

    >>> config_name("psi/tokens")
    'psi-tokens'
    """
    return table.replace("/", "-")


def query(table: str, first: int = 1, sparse: bool = False) -> str:
    """Return a DuckDB query of a table that runs in the folder.

    Args:
        table: the table's name.
        first: the run's first layer.
        sparse: whether the activation sample is stored as lists of active features.
    """
    if table == "activations":
        kept = f"layer_{first}_units, layer_{first}_values" if sparse else f"layer_{first}[1:4]"
        return f"select sent_id, {kept} from 'activations/*.parquet' limit 10;"
    if table in _QUERIES:
        return _QUERIES[table]
    spec = TABLES[table]
    plain = [c.name for c in spec.columns if not str(c.type).startswith(("list", "struct"))]
    order = [_quoted(c) for c in spec.order]
    columns = list(dict.fromkeys([*(c for c in spec.order if c in plain), *plain]))[:LISTED]
    sorted_by = f" order by {', '.join(order)}" if order else ""
    return f"select {', '.join(map(_quoted, columns))} from '{table}/*.parquet'{sorted_by} limit {LIMIT};"


def _quoted(column: str) -> str:
    """Return a column's name for SQL, in quotes if it is an SQL keyword."""
    return f'"{column}"' if column in _SQL_WORDS else column


def named_model(model: Row) -> str:
    """Return a model's name as a card shows it; for random weights this includes the seed."""
    name = original_name(model["name"])
    return f"{name} with random weights (seed {model['seed']})" if "seed" in model else name


def provenance_of(run: Row, stages: Iterable[str], tables: Iterable[str]) -> Row:
    """Return an export's description of its run: versions, model, stages and tables, without paths of the machine.

    Args:
        run: the content of run.json.
        stages: the stages to describe, all of them complete.
        tables: the tables of these stages; figures and tables that the run does not have are left out.
    """
    kept = ("started", "finished", "seconds", "fingerprint", "identity", "counts")
    files = {name: run["tables"].get(name) for name in tables if name in TABLES or name == "activations"}
    described: Row = {
        **{name: run[name] for name in ("tool", "schema_version", "versions", "model")},
        "stages": {name: {key: run["stages"][name][key] for key in kept} for name in stages},
        "tables": {
            name: {
                "rows": sum(file["rows"] for file in own),
                "bytes": sum(file["bytes"] for file in own),
                "fingerprint": own[0]["fingerprint"],
            }
            for name, own in files.items()
            if own
        },
    }
    return cast(Row, without_place(described))


def write_card(provenance: Row, terms: list[dict[str, str]], licence: str) -> str:
    """Return the text of README.md.

    Args:
        provenance: `model`, `stages` and `tables` as in run.json, where each table has its `rows`, `bytes` and
            `fingerprint`.
        terms: the terms of each source (`ops.export.licences`).
        licence: the licence of the complete data set, as the hub names it; empty for none.
    """
    model, tables = provenance["model"], provenance["tables"]
    names = list(dict.fromkeys(t["dataset"] for t in terms))
    units = unit_names(provenance["stages"]["topk"])
    named = named_model(model)
    title = f"{units.many.capitalize()} of {named} over {', '.join(names)}"
    head = {
        "pretty_name": title,
        **({"license": licence} if licence else {}),
        "tags": ["neuron-atlas", "interpretability", units.many],
        "size_categories": [next((name for most, name in _SIZES if _rows(tables) < most), "n>1T")],
        "configs": [
            {
                "config_name": config_name(table),
                "data_files": f"{table}/*.parquet",
                **({"default": True} if table == MAIN else {}),
            }
            for table in tables
        ],
    }
    lines = [
        "---",
        yaml.safe_dump(head, sort_keys=False, allow_unicode=True).rstrip(),
        "---",
        "",
        f"# {plain(title)}",
        "",
        f"What every {units.one} of {plain(named)} ({model['type']}, {model['layers']} layers of "
        f"{model['width']} units) responds to, found by Neuron Atlas: its most and least activating sentences, what "
        "they have in common, and how that compares with the rest of the corpus (the method of Oba, Yoshinaga and "
        "Toyoda, BlackboxNLP 2021). Layers count from 1, units from 0, ranks from 1.",
        "",
        "```python",
        "import datasets",
        "",
        'topk = datasets.load_dataset("THIS FOLDER OR ITS NAME ON THE HUB", "topk", split="train")',
        "```",
        "",
        *origin(provenance),
        "",
        *owners(terms),
        "",
        "The columns `text`, `words`, `tags` and `tree` of `corpus`, `sentences` and `rejects`, and patterns of words, "
        "hold these sentences or follow from them.",
        "",
        "## Tables",
        "",
        "Each is a config of its name, and a folder of Parquet files; the queries are for DuckDB, run in this folder.",
    ]
    for table, held in tables.items():
        row = TABLES[table].row if table in TABLES else _ACTIVATIONS
        lines += [
            "",
            f"### {config_name(table)}",
            "",
            f"A row is {row}. {held['rows']:,} rows, {held['bytes']:,} bytes, "
            f"fingerprint `{held['fingerprint'][:16]}`.",
            "",
            "```sql",
            query(table, min(units.sources, default=1), units.one == "feature"),
            "```",
        ]
    return "\n".join(lines) + "\n"


def origin(provenance: Row) -> list[str]:
    """Return the lines that say from what an export was made.

    Args:
        provenance: the provenance that `write_card` takes.
    """
    model, topk = provenance["model"], provenance["stages"]["topk"]["identity"]
    units = unit_names(provenance["stages"]["topk"])
    return [
        "## Where it comes from",
        "",
        "| | |",
        "|---|---|",
        f"| model | {plain(named_model(model))}, fingerprint `{model['fingerprint']}` |",
        *(
            [f"| weights | drawn at random with seed {model['seed']}, never trained: a control for a trained model |"]
            if "seed" in model
            else []
        ),
        *(f"| layer {layer} | {plain(source)} |" for layer, source in units.sources.items()),
        f"| activation | site {topk['site']}, pool {topk['pool']}, special tokens {topk['special_tokens']}, "
        f"{topk['dtype']} |",
        f"| sentences kept | {topk['k']:,} of each {units.one}, poles: {topk['poles']} |",
        *(
            f"| stage {name} | {entry['finished']}, fingerprint `{entry['fingerprint']}` |"
            for name, entry in provenance["stages"].items()
        ),
        "",
        "`provenance.json` has all options, counts and versions. The fingerprint of a stage is in the footer of each "
        "of its files (`atlas.fingerprint`).",
    ]


def owners(terms: list[dict[str, str]]) -> list[str]:
    """Return the lines that list the source and the terms of an export's sentences.

    Args:
        terms: the terms that `write_card` takes.
    """
    return [
        "## Whose the sentences are",
        "",
        "| data set | source | terms |",
        "|---|---|---|",
        *(f"| {plain(t['dataset'])} | {plain(t['source'])} | {plain(t['terms'])} |" for t in terms),
    ]


def _rows(tables: dict[str, Row]) -> int:
    return sum(held["rows"] for held in tables.values())


def plain(text: str) -> str:
    """Return a text escaped so that a Markdown table shows it unchanged."""
    escaped = visible(text).replace("\\", "\\\\")
    for mark in "|`*_[]<>":
        escaped = escaped.replace(mark, f"\\{mark}" if mark not in "<>" else {"<": "&lt;", ">": "&gt;"}[mark])
    return escaped
