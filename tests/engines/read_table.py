"""Prints a table's rows as lines of JSON: read_table.py <pyiceberg|duckdb> <catalog address> <where>.

<where> is a condition that both understand. The first line tells how many data files were planned,
or null where the engine does not say.
"""

import importlib
import json
import pathlib
import sys

COLUMNS = ["timestamp", "timestamp_ns", "source", "raw", "attributes"]


def by_pyiceberg(address, where):
    from pyiceberg.catalog import load_catalog

    table = load_catalog("svc", type="rest", uri=address).load_table("svc.events")
    scan = table.scan(row_filter=where, selected_fields=tuple(COLUMNS))
    return len(list(scan.plan_files())), scan.to_arrow()


def by_duckdb(address, where):
    import duckdb

    database = duckdb.connect(config={"autoinstall_known_extensions": False})
    for name in ["httpfs", "avro", "iceberg"]:
        package = pathlib.Path(importlib.import_module(f"duckdb_extension_{name}").__file__).parent
        file = next(package.rglob("*.duckdb_extension"))
        database.execute(f"INSTALL '{file}'")
        database.execute(f"LOAD {name}")
    database.execute("SET TimeZone = 'UTC'")
    database.execute(
        f"ATTACH 'svc' AS logs (TYPE iceberg, ENDPOINT '{address}', AUTHORIZATION_TYPE 'none')"
    )
    columns = ", ".join(f'"{name}"' for name in COLUMNS)
    rows = database.execute(f"SELECT {columns} FROM logs.svc.events WHERE {where}")
    return None, rows.to_arrow_table()


def main():
    import pyarrow

    engine, address, where = sys.argv[1:]
    files, table = {"pyiceberg": by_pyiceberg, "duckdb": by_duckdb}[engine](address, where)
    micros = table.column("timestamp").cast(pyarrow.timestamp("us", "UTC")).cast(pyarrow.int64())
    columns = [micros.to_pylist()] + [table.column(name).to_pylist() for name in COLUMNS[1:]]
    print(json.dumps(files))
    for at, ns, *texts in zip(*columns):
        print(json.dumps([str(at), str(ns), *texts], ensure_ascii=False))


main()
