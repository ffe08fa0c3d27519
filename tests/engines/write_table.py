"""Writes to svc.events by its REST catalog: write_table.py <address>

Each line of the input is an engine and a step. Prints what each step told, as a line of JSON; an
error is told by its class and message. The catalog and the table are opened anew for each step.
"""

import datetime
import json
import sys

from engines import clickhouse, clickhouse_table, duckdb_catalog, pyiceberg_table

START = datetime.datetime(2026, 11, 20, tzinfo=datetime.timezone.utc)


def rows(table, texts, **extra):
    """Rows of one day, one for each text, in the table's own columns."""
    import pyarrow

    schema = table.schema().as_arrow()
    at = [START + datetime.timedelta(hours=12, microseconds=i) for i in range(len(texts))]
    values = {
        "timestamp": at,
        "timestamp_ns": [round(one.timestamp()) * 10**9 + one.microsecond * 1000 for one in at],
        "host": ["engine"] * len(texts),
        "source": ["shop"] * len(texts),
        "sourcetype": ["t"] * len(texts),
        "index": ["main"] * len(texts),
        "raw": texts,
        **{name: [value] * len(texts) for name, value in extra.items()},
    }
    columns = [
        pyarrow.array(values.get(field.name, [None] * len(texts)), field.type) for field in schema
    ]
    return pyarrow.Table.from_arrays(columns, schema=schema)


def append(table):
    table.append(rows(table, ["appended 1", "appended 2", "appended 3 🦊"]))


def delete(table):
    table.delete("raw = 'appended 2'")


def overwrite(table):
    table.overwrite(rows(table, ["overwritten"]), overwrite_filter="raw = 'appended 1'")


def add_column(table):
    from pyiceberg.types import StringType

    with table.update_schema() as update:
        update.add_column("region", StringType())
    table.append(rows(table, ["with a region"], region="eu"))


def describe(table):
    with table.transaction() as change:
        change.set_properties({"owner": "analysts"})
    table.manage_snapshots().create_tag(table.current_snapshot().snapshot_id, "audit").commit()


def race(table):
    # Drains commit as often as each second; by default PyIceberg gives up after four of them.
    with table.transaction() as change:
        change.set_properties({"commit.retry.num-retries": "20"})
    for at in range(8):
        table.append(rows(table, [f"raced {at}"]))


def drop_column(table):
    with table.update_schema(allow_incompatible_changes=True) as update:
        update.delete_column("attributes")


def rename_column(table):
    with table.update_schema() as update:
        update.rename_column("raw", "message")


def partition(table):
    with table.update_spec() as update:
        update.add_identity("host")


def expire(table):
    oldest = table.history()[0].snapshot_id
    table.maintenance.expire_snapshots().by_id(oldest).commit()


def roll_back(table):
    oldest = table.history()[0].snapshot_id
    table.manage_snapshots().set_current_snapshot(oldest).commit()


def own_property(table):
    with table.transaction() as change:
        change.set_properties({"svc.tags": "[]"})


def run_pyiceberg(address, step):
    globals()[step](pyiceberg_table(address))


DUCKDB = {
    "append": """INSERT INTO logs.svc.events BY NAME
        SELECT TIMESTAMPTZ '2026-11-20 13:00:00+00' AS timestamp, 1795179600000000000 AS timestamp_ns,
        'engine' AS host, 'shop' AS source, 't' AS sourcetype, 'main' AS "index", 'from duckdb ' || i AS raw
        FROM range(3) AS r(i)""",
    "delete": "DELETE FROM logs.svc.events WHERE raw IN ('from duckdb 1', 'ours 2')",
    "update": "UPDATE logs.svc.events SET raw = 'updated' WHERE raw = 'from duckdb 2'",
}


def run_duckdb(address, step):
    duckdb_catalog(address).execute(DUCKDB[step])


CLICKHOUSE = {
    "append": """INSERT INTO {} (timestamp, timestamp_ns, host, source, sourcetype, `index`, raw)
        SELECT '2026-11-20 14:00:00', 1795183200000000000 + number, 'engine', 'shop', 't', 'main',
        'from clickhouse ' || number FROM numbers(3)""",
    "delete": "ALTER TABLE {} DELETE WHERE raw IN ('from clickhouse 1', 'ours 1')",
}


def run_clickhouse(address, step):
    session = clickhouse(address)
    session.query("SET allow_insert_into_iceberg = 1")
    session.query(CLICKHOUSE[step].format(clickhouse_table()))


def run_polars(address, step):
    import polars

    table = pyiceberg_table(address)
    polars.from_arrow(rows(table, ["from polars"])).write_iceberg(table, mode=step)


def run_daft(address, step):
    import daft

    table = pyiceberg_table(address)
    daft.from_arrow(rows(table, ["from daft"])).write_iceberg(table, mode=step).collect()


RUNS = {
    "pyiceberg": run_pyiceberg,
    "duckdb": run_duckdb,
    "clickhouse": run_clickhouse,
    "polars": run_polars,
    "daft": run_daft,
}


def told(run, address, step):
    try:
        run(address, step)
    except Exception as error:  # What an engine says is what the test looks at.
        return {"error": type(error).__name__, "says": str(error)}
    return {}


def main():
    [address] = sys.argv[1:]
    for line in sys.stdin:
        engine, step = line.split()
        print(json.dumps(told(RUNS[engine], address, step)), flush=True)


main()
