"""How each engine opens svc.events, and reads columns of the rows for which a condition is true.

A reader gives the number of data files that it plans, where the engine tells, and an Arrow table.

Variables say who asks: SVC_TEST_TOKEN is a bearer token. SVC_TEST_CREDENTIAL, `<client>:<secret>`,
is changed for one at SVC_TEST_TOKEN_URL. SVC_TEST_NAMESPACE is another namespace than `svc`. With
AWS_ENDPOINT_URL ClickHouse brings its own credentials of S3; SVC_TEST_VENDED=1 has it ask for more.
"""

import functools
import importlib
import io
import os
import pathlib
import re
import sys


class NoPandas:
    """Finds no pandas: PyArrow loads it where it is there, for 0.5 s, and nobody here needs it."""

    @staticmethod
    def find_spec(name, *_):
        if name == "pandas":
            raise ModuleNotFoundError(name)


sys.meta_path.insert(0, NoPandas)

TOKEN = os.environ.get("SVC_TEST_TOKEN")
CREDENTIAL = os.environ.get("SVC_TEST_CREDENTIAL")
TOKEN_URL = os.environ.get("SVC_TEST_TOKEN_URL")
NAMESPACE = os.environ.get("SVC_TEST_NAMESPACE", "svc")
S3_VARIABLES = ["ENDPOINT_URL", "ACCESS_KEY_ID", "SECRET_ACCESS_KEY"]


def pyiceberg_catalog(address):
    from pyiceberg.catalog import load_catalog

    asks = {"token": TOKEN, "credential": CREDENTIAL, "oauth2-server-uri": TOKEN_URL}
    given = {name: value for name, value in asks.items() if value is not None}
    return load_catalog("svc", type="rest", uri=address, **given)


def pyiceberg_table(address):
    return pyiceberg_catalog(address).load_table(f"{NAMESPACE}.events")


def properties_of(table):
    """What the catalog says of its files, for readers of their own."""
    return {name: text for name, text in table.io.properties.items() if isinstance(text, str)}


def by_pyiceberg(address, columns, where):
    scan = pyiceberg_table(address).scan(row_filter=where, selected_fields=tuple(columns))
    return len(list(scan.plan_files())), scan.to_arrow()


def pyiceberg_sql_table(address):
    """By the JDBC catalog in SQLite, without a server."""
    from pyiceberg.catalog.sql import SqlCatalog

    warehouse = pyiceberg_table(address).metadata_location.split("/svc/events-")[0]
    path = warehouse.removeprefix("file://")
    catalog = SqlCatalog("svc", uri=f"sqlite:///{path}/catalog.db", warehouse=warehouse)
    return catalog.load_table("svc.events")


def by_pyiceberg_sql(address, columns, where):
    scan = pyiceberg_sql_table(address).scan(row_filter=where, selected_fields=tuple(columns))
    return len(list(scan.plan_files())), scan.to_arrow()


@functools.cache
def duckdb_with_extensions():
    """Loading them takes a second of processor time."""
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
    return database


def duckdb_catalog(address):
    """A database with the catalog as `logs`, attached anew."""
    database = duckdb_with_extensions()
    database.execute("DETACH DATABASE IF EXISTS logs")
    client = CREDENTIAL and CREDENTIAL.split(":")
    if TOKEN:
        database.execute(f"CREATE SECRET (TYPE iceberg, TOKEN '{TOKEN}')")
    elif client:
        database.execute(
            f"""CREATE SECRET (TYPE iceberg, CLIENT_ID '{client[0]}', CLIENT_SECRET '{client[1]}',
            OAUTH2_SERVER_URI '{TOKEN_URL}')"""
        )
    none = "" if TOKEN or client else ", AUTHORIZATION_TYPE 'none'"
    database.execute(f"ATTACH 'svc' AS logs (TYPE iceberg, ENDPOINT '{address}'{none})")
    return database


def quoted(columns):
    return ", ".join(f'"{name}"' for name in columns)


def by_duckdb(address, columns, where):
    database = duckdb_catalog(address)
    sql = f"SELECT {quoted(columns)} FROM logs.{NAMESPACE}.events WHERE {where}"
    plan = "\n".join(map(str, database.execute(f"EXPLAIN ANALYZE {sql}").fetchall()))
    read = re.search(r"Total Files Read:\s*(\d+)", plan)
    return read and int(read[1]), database.execute(sql).to_arrow_table()


@functools.cache
def clickhouse(address):
    """ClickHouse as a library, with the catalog as its database `lake`."""
    from chdb.session import Session

    # It reads files below the working directory alone.
    os.chdir("/")
    session = Session()
    address, asks = f"'{address}/v1'", ["catalog_type = 'rest', warehouse = 'svc'"]
    endpoint, *own = [os.environ.get(f"AWS_{name}") for name in S3_VARIABLES]
    if endpoint:
        asks.append(f"storage_endpoint = '{endpoint}/warehouse'")
        address = ", ".join([address, *(f"'{one}'" for one in own)])
    asks.append(f"vended_credentials = {os.environ.get('SVC_TEST_VENDED', '0')}")
    if TOKEN:
        asks.append(f"auth_header = 'Authorization: Bearer {TOKEN}'")
    elif CREDENTIAL:
        asks.append(f"catalog_credential = '{CREDENTIAL}', oauth_server_uri = '{TOKEN_URL}'")
    session.query("SET allow_database_iceberg = 1, session_timezone = 'UTC'")
    session.query(
        f"CREATE DATABASE lake ENGINE = DataLakeCatalog({address}) SETTINGS {', '.join(asks)}"
    )
    return session


def clickhouse_table():
    return f"lake.`{NAMESPACE}.events`"


def clickhouse_files(session):
    """Data files that scans were given so far."""
    sql = "SELECT sum(value) FROM system.events WHERE event = 'IcebergMetadataReturnedObjectInfos'"
    return int(str(session.query(sql)))


def clickhouse_arrow(session, sql, **settings):
    import pyarrow.ipc

    settings["output_format_arrow_string_as_string"] = 1
    told = ", ".join(f"{name} = {value}" for name, value in settings.items())
    answer = session.query(f"{sql} SETTINGS {told}", "ArrowStream")
    return pyarrow.ipc.open_stream(answer.bytes()).read_all()


def by_clickhouse(address, columns, where):
    session = clickhouse(address)
    before = clickhouse_files(session)
    sql = f"SELECT {quoted(columns)} FROM {clickhouse_table()} WHERE {where}"
    table = clickhouse_arrow(session, sql)
    return clickhouse_files(session) - before, table


def by_polars(address, columns, where):
    import polars

    table = pyiceberg_table(address)
    events = polars.scan_iceberg(table, storage_options=properties_of(table))
    sql = f"SELECT {quoted(columns)} FROM events WHERE {where}"
    frame = polars.SQLContext(events=events).execute(sql)
    # A plan names the first file, and how many others there are.
    scan = re.search(r"Parquet SCAN \[\S+?(?:, \.\.\. (\d+) other sources?)?\]", frame.explain())
    return scan and 1 + int(scan[1] or 0), frame.collect().to_arrow()


def by_datafusion(address, columns, where):
    import datafusion
    from pyiceberg.table import StaticTable

    context = datafusion.SessionContext()
    # Its reader of Iceberg takes no table of a REST catalog, whose properties are not all texts.
    table = pyiceberg_table(address)
    static = StaticTable.from_metadata(table.metadata_location, properties_of(table))
    context.register_table("events", static)
    frame = context.sql(f"SELECT {quoted(columns)} FROM events WHERE {where}")
    return None, frame.to_arrow_table()


def by_daft(address, columns, where):
    import daft

    frame = daft.read_iceberg(pyiceberg_table(address)).where(where).select(*columns)
    plan = io.StringIO()
    frame.explain(show_all=True, file=plan)
    tasks = re.search(r"Num Scan Tasks = (\d+)", plan.getvalue())
    return tasks and int(tasks[1]), frame.to_arrow()


ENGINES = {
    "pyiceberg": by_pyiceberg,
    "pyiceberg_sql": by_pyiceberg_sql,
    "duckdb": by_duckdb,
    "clickhouse": by_clickhouse,
    "polars": by_polars,
    "datafusion": by_datafusion,
    "daft": by_daft,
}
