"""What a table's metadata tables say: look_back.py <pyiceberg|duckdb|clickhouse> <address>.

Prints JSON: the ids of snapshots as text, and the rows of the files of the current one where the
engine tells.
"""

import json
import sys

from engines import clickhouse, duckdb_catalog, pyiceberg_table


def pyiceberg(address):
    inspect = pyiceberg_table(address).inspect
    snapshots = inspect.snapshots().column("snapshot_id").to_pylist()
    [main] = [one for one in inspect.refs().to_pylist() if one["name"] == "main"]
    assert main["snapshot_id"] in snapshots
    assert inspect.history().num_rows > 0 and inspect.partitions().num_rows > 0
    assert inspect.manifests().num_rows > 0 and inspect.entries().num_rows > 0
    return snapshots, sum(inspect.data_files().column("record_count").to_pylist())


def duckdb(address):
    database = duckdb_catalog(address)

    def column(sql):
        return [value for (value,) in database.execute(sql).fetchall()]

    # Of each manifest entry it tells the rows.
    files = "iceberg_metadata(logs.svc.events) WHERE status <> 'DELETED'"
    return (
        column("SELECT snapshot_id FROM iceberg_snapshots(logs.svc.events)"),
        column(f"SELECT sum(record_count)::BIGINT FROM {files}")[0],
    )


def by_clickhouse(address):
    sql = """SELECT snapshot_id FROM system.iceberg_history WHERE table = 'svc.events'
        SETTINGS show_data_lake_catalogs_in_system_tables = 1"""
    return str(clickhouse(address).query(sql)).split(), None


def main():
    engine, address = sys.argv[1:]
    looks = {"pyiceberg": pyiceberg, "duckdb": duckdb, "clickhouse": by_clickhouse}
    snapshots, rows = looks[engine](address)
    print(json.dumps({"snapshots": [str(one) for one in snapshots], "rows": rows}))


main()
