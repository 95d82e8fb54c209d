"""The card of a dataset folder: YAML with a config for each table, the folder's origin, and a query for each table."""

import yaml

from ops.export.description import Description
from ops.schema import TABLES

MAIN = "topk"  # the config that is loaded by default
LISTED, LIMIT = 6, 10  # maximum number of columns and rows in a query that lists rows
# The hub's names for numbers of rows with up to three digits, with four, and so on.
_SIZES = (
    "n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M", "100M<n<1B", "1B<n<10B", "10B<n<100B",
    "100B<n<1T", "n>1T",
)  # fmt: skip
_SQL_WORDS = frozenset({"group", "inner", "table"})
_ACTIVATIONS = "a sentence of a uniform sample, with all its activations: a list for each layer"
_QUERIES = {
    "topk": "select rank, activation, text from 'topk/*.parquet' join 'sentences/*.parquet' using (sent_id)\n"
    "where layer = {first} and unit = 0 and rank <= 10 order by pole, rank;",
    "patterns": "select layer, unit, pole, pattern, support, share, baseline_share, lift, g2, q_value\n"
    "from 'patterns/*.parquet' where kind = 'word' and rank = 1 order by g2 desc, layer, unit, pole limit 10;",
    "scores": "select layer, unit, pole, auc, auc_excess from 'scores/*.parquet'\n"
    "order by auc_excess desc nulls last limit 10;",
}


def query(table: str, first: int = 1, sparse: bool = False) -> str:
    """Return a DuckDB query of a table that runs in the folder.

    `first` is the run's first layer, and `sparse` whether the activation sample is stored as lists of active features.
    """
    if table == "activations":
        kept = f"layer_{first}_units, layer_{first}_values" if sparse else f"layer_{first}[1:4]"
        return f"select sent_id, {kept} from 'activations/*.parquet' limit 10;"
    if table in _QUERIES:
        return _QUERIES[table].format(first=first)
    spec = TABLES[table]
    plain = [c.name for c in spec.columns if not str(c.type).startswith(("list", "struct"))]
    order = map(_quoted, spec.order)
    columns = list(dict.fromkeys([*(c for c in spec.order if c in plain), *plain]))[:LISTED]
    sorted_by = f" order by {', '.join(order)}" if spec.order else ""
    return f"select {', '.join(map(_quoted, columns))} from '{table}/*.parquet'{sorted_by} limit {LIMIT};"


def _quoted(column: str) -> str:
    """Return a column's name for SQL, in quotes if it is an SQL keyword."""
    return f'"{column}"' if column in _SQL_WORDS else column


def write_card(about: Description) -> str:
    """Return the text of README.md, whose YAML has a config for each table."""
    tables, units = about.provenance["tables"], about.units
    rows = sum(held["rows"] for held in tables.values())
    head = {
        "pretty_name": about.title,
        **({"license": about.licence} if about.licence else {}),
        "tags": ["neuron-atlas", "interpretability", units.many],
        "size_categories": [_SIZES[min(max(len(str(rows)) - 3, 0), len(_SIZES) - 1)]],
        "configs": [
            {
                "config_name": table.replace("/", "-"),
                "data_files": f"{table}/*.parquet",
                **({"default": True} if table == MAIN else {}),
            }
            for table in tables
        ],
    }
    described = [
        held
        | {"config": table.replace("/", "-"), "row": TABLES[table].row if table in TABLES else _ACTIVATIONS}
        | {"query": query(table, min(units.sources, default=1), units.one == "feature")}
        for table, held in tables.items()
    ]
    yaml_head = yaml.safe_dump(head, sort_keys=False, allow_unicode=True)
    return about.render("dataset.md", head=yaml_head, tables=described)
