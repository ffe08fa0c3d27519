"""How each engine opens svc.events, and reads columns of the rows for which a condition is true.

A reader gives the number of data files that it plans, where the engine tells, and an Arrow table.
"""

import importlib
import io
import json
import os
import pathlib
import re
import urllib.request


def pyiceberg_table(address):
    from pyiceberg.catalog import load_catalog

    return load_catalog("svc", type="rest", uri=address).load_table("svc.events")


def by_pyiceberg(address, columns, where):
    scan = pyiceberg_table(address).scan(row_filter=where, selected_fields=tuple(columns))
    return len(list(scan.plan_files())), scan.to_arrow()


def pyiceberg_sql_table(address):
    """By the JDBC catalog in SQLite, without a server."""
    from pyiceberg.catalog.sql import SqlCatalog

    warehouse = metadata_location(address).split("/svc/events-")[0]
    path = warehouse.removeprefix("file://")
    catalog = SqlCatalog("svc", uri=f"sqlite:///{path}/catalog.db", warehouse=warehouse)
    return catalog.load_table("svc.events")


def by_pyiceberg_sql(address, columns, where):
    scan = pyiceberg_sql_table(address).scan(row_filter=where, selected_fields=tuple(columns))
    return len(list(scan.plan_files())), scan.to_arrow()


def duckdb_catalog(address):
    import duckdb

    database = duckdb.connect(config={"autoinstall_known_extensions": False})
    for name in ["httpfs", "avro", "iceberg"]:
        package = pathlib.Path(importlib.import_module(f"duckdb_extension_{name}").__file__).parent
        file = next(package.rglob("*.duckdb_extension"))
        database.execute(f"INSTALL '{file}'")
        database.execute(f"LOAD {name}")
    database.execute("SET TimeZone = 'UTC'")
    # For writes: the tables are sorted, and DuckDB's files say that they are not.
    database.execute("SET unsafe_iceberg_ignore_sort_order = true")
    database.execute(
        f"ATTACH 'svc' AS logs (TYPE iceberg, ENDPOINT '{address}', AUTHORIZATION_TYPE 'none')"
    )
    return database


def quoted(columns):
    return ", ".join(f'"{name}"' for name in columns)


def by_duckdb(address, columns, where):
    database = duckdb_catalog(address)
    sql = f"SELECT {quoted(columns)} FROM logs.svc.events WHERE {where}"
    plan = "\n".join(map(str, database.execute(f"EXPLAIN ANALYZE {sql}").fetchall()))
    read = re.search(r"Total Files Read:\s*(\d+)", plan)
    return read and int(read[1]), database.execute(sql).to_arrow_table()


def by_clickhouse(address, columns, where):
    """By chdb, ClickHouse as a library, from the table's folder."""
    import chdb
    import pyarrow.ipc

    location = metadata_location(address).removeprefix("file://")
    folder, _, name = location.rpartition("/metadata/")
    sql = f"""SELECT {quoted(columns)}
        FROM icebergLocal('{folder}', SETTINGS iceberg_metadata_file_path = 'metadata/{name}')
        WHERE {where} SETTINGS output_format_arrow_string_as_string = 1, session_timezone = 'UTC'"""
    # It reads files below the working directory alone.
    os.chdir("/")
    answer = chdb.query(sql, "ArrowStream")
    return None, pyarrow.ipc.open_stream(answer.bytes()).read_all()


def by_polars(address, columns, where):
    import polars

    table = polars.scan_iceberg(pyiceberg_table(address))
    frame = polars.SQLContext(events=table).execute(
        f"SELECT {quoted(columns)} FROM events WHERE {where}"
    )
    # A plan names the first file, and how many others there are.
    scan = re.search(r"Parquet SCAN \[\S+?(?:, \.\.\. (\d+) other sources?)?\]", frame.explain())
    return scan and 1 + int(scan[1] or 0), frame.collect().to_arrow()


def by_datafusion(address, columns, where):
    import datafusion
    from pyiceberg.table import StaticTable

    context = datafusion.SessionContext()
    # Its reader of Iceberg takes no properties that are objects, as those of a REST catalog are.
    table = StaticTable.from_metadata(metadata_location(address))
    context.register_table("events", table)
    frame = context.sql(f"SELECT {quoted(columns)} FROM events WHERE {where}")
    return None, frame.to_arrow_table()


def by_daft(address, columns, where):
    import daft

    frame = daft.read_iceberg(pyiceberg_table(address)).where(where).select(*columns)
    plan = io.StringIO()
    frame.explain(show_all=True, file=plan)
    tasks = re.search(r"Num Scan Tasks = (\d+)", plan.getvalue())
    return tasks and int(tasks[1]), frame.to_arrow()


def metadata_location(address):
    """Where the table's metadata file is now."""
    with urllib.request.urlopen(f"{address}/v1/namespaces/svc/tables/events") as answer:
        return json.load(answer)["metadata-location"]


ENGINES = {
    "pyiceberg": by_pyiceberg,
    "pyiceberg_sql": by_pyiceberg_sql,
    "duckdb": by_duckdb,
    "clickhouse": by_clickhouse,
    "polars": by_polars,
    "datafusion": by_datafusion,
    "daft": by_daft,
}
