"""Prints states of a table: read_state.py <engine> <catalog address> [<at>:<column>,<column>...]

<at> is the id of a snapshot, `@` and Unix milliseconds, or `current`. Without one, each line of the
input is one. For each state a line tells how many rows follow, each a line of JSON, its values as
text. The engine `slow` is PyIceberg that has loaded the table's metadata, says so by the line
"planned", and reads once its input ends.
"""

import datetime
import json
import sys

from engines import (
    by_datafusion,
    clickhouse,
    clickhouse_arrow,
    clickhouse_table,
    duckdb_catalog,
    pyiceberg_sql_table,
    pyiceberg_table,
    quoted,
)


def pyiceberg_snapshot(table, at):
    if at.startswith("@"):
        return table.snapshot_as_of_timestamp(int(at[1:])).snapshot_id
    return None if at == "current" else int(at)


def arrow_of(table, at, columns):
    snapshot = pyiceberg_snapshot(table, at)
    return table.scan(snapshot_id=snapshot, selected_fields=tuple(columns)).to_arrow()


def by_duckdb(address, at, columns):
    when = f" AT (VERSION => {at})"
    if at.startswith("@"):
        time = datetime.datetime.fromtimestamp(int(at[1:]) / 1000, datetime.timezone.utc)
        when = f" AT (TIMESTAMP => TIMESTAMPTZ '{time.isoformat()}')"
    sql = f"SELECT {quoted(columns)} FROM logs.svc.events{'' if at == 'current' else when}"
    return duckdb_catalog(address).execute(sql).to_arrow_table()


def by_clickhouse(address, at, columns):
    settings = {"iceberg_snapshot_id": at}
    if at.startswith("@"):
        settings = {"iceberg_timestamp_ms": at[1:]}
    if at == "current":
        settings = {}
    sql = f"SELECT {quoted(columns)} FROM {clickhouse_table()}"
    return clickhouse_arrow(clickhouse(address), sql, **settings)


def by_polars(address, at, columns):
    import polars

    table = pyiceberg_table(address)
    frame = polars.scan_iceberg(table, snapshot_id=pyiceberg_snapshot(table, at))
    return frame.select(columns).collect().to_arrow()


def by_daft(address, at, columns):
    import daft

    table = pyiceberg_table(address)
    frame = daft.read_iceberg(table, snapshot_id=pyiceberg_snapshot(table, at))
    return frame.select(*columns).to_arrow()


def current_by_datafusion(address, at, columns):
    """It has no snapshots but the current one."""
    assert at == "current"
    return by_datafusion(address, columns, "true")[1]


def by_slow(address, at, columns):
    table = pyiceberg_table(address)
    print("planned", flush=True)
    sys.stdin.read()
    return arrow_of(table, at, columns)


READERS = {
    "pyiceberg": lambda address, *rest: arrow_of(pyiceberg_table(address), *rest),
    "pyiceberg_sql": lambda address, *rest: arrow_of(pyiceberg_sql_table(address), *rest),
    "duckdb": by_duckdb,
    "clickhouse": by_clickhouse,
    "polars": by_polars,
    "daft": by_daft,
    "datafusion": current_by_datafusion,
    "slow": by_slow,
}


def text(value):
    if value is None or isinstance(value, str):
        return value
    return repr(value).lower() if isinstance(value, (bool, float)) else str(value)


def print_state(table, columns):
    import pyarrow

    at = columns.index("timestamp")
    times = table.column("timestamp").cast(pyarrow.timestamp("us", "UTC")).cast(pyarrow.int64())
    table = table.set_column(at, "timestamp", times)
    print(table.num_rows)
    for row in zip(*(table.column(name).to_pylist() for name in columns)):
        print(json.dumps([text(value) for value in row]))
    sys.stdout.flush()


def main():
    engine, address, *states = sys.argv[1:]
    for state in states or sys.stdin:
        at, _, names = state.strip().partition(":")
        columns = names.split(",")
        print_state(READERS[engine](address, at, columns), columns)


main()
