"""A table as of a snapshot: read_state.py <engine> <catalog address> <snapshot|current> <column>...

Prints each row as a line of JSON, its values as text. The engine `slow` is PyIceberg that has
loaded the table's metadata, says so by the line "planned", and reads once its input ends.
"""

import json
import sys

from engines import duckdb_catalog, pyiceberg_sql_table, pyiceberg_table, quoted


def arrow_of(table, snapshot, columns):
    number = None if snapshot == "current" else int(snapshot)
    return table.scan(snapshot_id=number, selected_fields=tuple(columns)).to_arrow()


def by_duckdb(address, snapshot, columns):
    at = "" if snapshot == "current" else f" AT (VERSION => {snapshot})"
    sql = f"SELECT {quoted(columns)} FROM logs.svc.events{at}"
    return duckdb_catalog(address).execute(sql).to_arrow_table()


def by_slow(address, snapshot, columns):
    table = pyiceberg_table(address)
    print("planned", flush=True)
    sys.stdin.read()
    return arrow_of(table, snapshot, columns)


READERS = {
    "pyiceberg": lambda address, *rest: arrow_of(pyiceberg_table(address), *rest),
    "pyiceberg_sql": lambda address, *rest: arrow_of(pyiceberg_sql_table(address), *rest),
    "duckdb": by_duckdb,
    "slow": by_slow,
}


def text(value):
    if value is None or isinstance(value, str):
        return value
    return repr(value).lower() if isinstance(value, (bool, float)) else str(value)


def main():
    import pyarrow

    engine, address, snapshot, *columns = sys.argv[1:]
    table = READERS[engine](address, snapshot, columns)
    at = columns.index("timestamp")
    times = table.column("timestamp").cast(pyarrow.timestamp("us", "UTC")).cast(pyarrow.int64())
    table = table.set_column(at, "timestamp", times)
    for row in zip(*(table.column(name).to_pylist() for name in columns)):
        print(json.dumps([text(value) for value in row]))


main()
