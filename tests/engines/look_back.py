"""What a table was and is, by its metadata: look_back.py <pyiceberg|duckdb> <address> [<snapshot>].

Prints JSON: rows of the current snapshot and of the one that is named, the current snapshot's id as
text, and, where the engine has metadata tables, what they say.
"""

import json
import sys

from engines import duckdb_catalog, pyiceberg_table


def pyiceberg(address, snapshot):
    table = pyiceberg_table(address)
    current = table.current_snapshot().snapshot_id
    files = table.inspect.data_files()
    return {
        "snapshot": str(current),
        "rows": table.scan().count(),
        "rows_then": snapshot and table.scan(snapshot_id=int(snapshot)).count(),
        "by_time": table.snapshot_as_of_timestamp(table.current_snapshot().timestamp_ms).snapshot_id
        == current,
        "rows_of_files": sum(files.column("record_count").to_pylist()),
        "is_listed": current in table.inspect.snapshots().column("snapshot_id").to_pylist(),
        "main": [
            str(one["snapshot_id"])
            for one in table.inspect.refs().to_pylist()
            if one["name"] == "main"
        ],
    }


def duckdb(address, snapshot):
    database = duckdb_catalog(address)

    def count(at=""):
        return database.execute(f"SELECT count(*) FROM logs.svc.events {at}").fetchone()[0]

    return {
        "rows": count(),
        "rows_then": snapshot and count(f"AT (VERSION => {snapshot})"),
    }


def main():
    engine, address, snapshot = [*sys.argv[1:], None][:3]
    print(json.dumps({"pyiceberg": pyiceberg, "duckdb": duckdb}[engine](address, snapshot)))


main()
