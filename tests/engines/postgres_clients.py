"""Asks a query server by PostgreSQL's protocol: `postgres_clients.py CLIENT PORT`, prints JSON."""

import asyncio
import datetime
import decimal
import json
import sys

EPOCH = datetime.datetime(2023, 11, 14, 22, 13, 20, tzinfo=datetime.timezone.utc)
TYPED = (
    "SELECT true AS b, 1::SMALLINT AS i2, 2 AS i4, 3::BIGINT AS i8, 1.50::DECIMAL(10,2) AS n, "
    "0.5::FLOAT AS f4, 0.25::DOUBLE AS f8, 'x' AS t, '\\x01\\xFF'::BLOB AS y, "
    "DATE '2024-02-29' AS d, TIME '01:02:03.5' AS c, "
    "TIMESTAMP '2024-02-29 01:02:03.000004' AS s, "
    "TIMESTAMPTZ '2024-02-29 01:02:03+00' AS z, INTERVAL '1 day 2 seconds' AS v, "
    "'00112233-4455-6677-8899-aabbccddeeff'::UUID AS u, "
    "170141183460469231731687303715884105727::HUGEINT AS h"
)


def shown(value):
    if isinstance(value, dict):
        return {key: shown(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [shown(inner) for inner in value]
    if isinstance(value, (bytes, memoryview)):
        return bytes(value).hex()
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


def ask_psycopg(port):
    import psycopg

    address = f"host=127.0.0.1 port={port} user=u dbname=svc"
    with psycopg.connect(address) as connection:
        told = {}
        for binary in (False, True):
            with connection.cursor(binary=binary) as cursor:
                row = cursor.execute(TYPED).fetchone()
                told["binary" if binary else "text"] = shown(row)
        found = connection.execute(
            "SELECT raw FROM events WHERE timestamp >= %s AND raw = ANY(%s) AND length(raw) > %s",
            (EPOCH, ["row 1", "row 3", "other"], 2),
        ).fetchall()
        told["found"] = sorted(row[0] for row in found)
        with connection.cursor() as cursor:
            with cursor.copy("COPY (SELECT raw FROM events ORDER BY raw) TO STDOUT") as copy:
                told["copied"] = [row[0] for row in copy.rows()]
        told["list"] = connection.execute("SELECT [1, NULL, 3] AS l").fetchone()[0]
        prepared = [
            connection.execute("SELECT %s::int + 1", (n,), prepare=True).fetchone()[0]
            for n in range(3)
        ]
        told["prepared"] = prepared
        try:
            connection.execute("SELECT nope FROM events")
        except psycopg.errors.UndefinedColumn as error:
            told["error"] = error.sqlstate
        connection.rollback()
        told["after"] = connection.execute("SELECT 1").fetchone()[0]
        return told


async def ask_asyncpg(port):
    import asyncpg

    connection = await asyncpg.connect(host="127.0.0.1", port=port, user="u", database="svc")
    try:
        told = {"binary": shown(list((await connection.fetchrow(TYPED)).values()))}
        rows = await connection.fetch(
            "SELECT raw FROM events WHERE timestamp >= $1 AND raw <> $2 AND length(raw) > $3",
            EPOCH,
            "row 0",
            2,
        )
        told["found"] = sorted(row["raw"] for row in rows)
        back = await connection.fetchrow(
            "SELECT $1::numeric(10,2) AS n, $2::interval AS v, $3::uuid AS u, $4::bytea AS y, "
            "$5::date AS d, $6::timestamp AS s",
            decimal.Decimal("1.25"),
            datetime.timedelta(days=1, seconds=2),
            "00112233-4455-6677-8899-aabbccddeeff",
            b"\x00\xff",
            datetime.date(2024, 2, 29),
            datetime.datetime(2024, 2, 29, 1, 2, 3),
        )
        told["back"] = shown(list(back.values()))
        # It asks the catalog for a type of arrays before it reads the first.
        told["lists"] = shown(
            list(
                await connection.fetchrow(
                    "SELECT [1, NULL] AS i4, [2::BIGINT] AS i8, [1.50] AS n, [0.5::DOUBLE] AS f8, "
                    "[true] AS b, [DATE '2024-02-29'] AS d, [INTERVAL 1 DAY] AS v, ['x'] AS t, "
                    "[[1], []] AS nested, $1::smallint[] AS i2, $2::uuid[] AS u",
                    [3],
                    ["00112233-4455-6677-8899-aabbccddeeff"],
                )
            )
        )
        told["sum"] = str(await connection.fetchval("SELECT $1 + 1.5", 2))
        async with connection.transaction():
            cursor = await connection.cursor("SELECT i FROM range(7) r(i) ORDER BY i")
            told["cursor"] = [
                [row["i"] for row in await cursor.fetch(3)] for _ in range(3)
            ]
        try:
            await connection.fetch("SELECT nope FROM events")
        except asyncpg.exceptions.UndefinedColumnError as error:
            told["error"] = error.sqlstate
        return told
    finally:
        await connection.close()


def ask_sqlalchemy(port, driver):
    import sqlalchemy as sa

    engine = sa.create_engine(f"postgresql+{driver}://u@127.0.0.1:{port}/svc")
    told = {}
    with engine.connect() as connection:
        inspector = sa.inspect(connection)
        schema = inspector.default_schema_name
        told["schema"] = schema
        told["has"] = [inspector.has_table(name) for name in ("events", "nothing")]
        told["tables"] = "events" in inspector.get_table_names()
        told["columns"] = [
            [column["name"], str(column["type"]), column["nullable"], column["comment"]]
            for column in inspector.get_columns("events")
        ]
        told["keys"] = [
            inspector.get_pk_constraint("events")["constrained_columns"],
            inspector.get_foreign_keys("events"),
            inspector.get_indexes("events"),
            inspector.get_unique_constraints("events"),
            inspector.get_check_constraints("events"),
        ]
        # What a table reflects of itself is enough to ask it.
        events = sa.Table("events", sa.MetaData(), autoload_with=connection)
        found = (
            sa.select(events.c.raw)
            .where(events.c.timestamp >= EPOCH, events.c.raw.in_(["row 1", "row 3", "other"]))
            .order_by(events.c.raw)
        )
        told["found"] = [row.raw for row in connection.execute(found)]
        counted = sa.select(sa.func.count().label("n"), sa.func.max(events.c.timestamp).label("t"))
        told["counted"] = shown(list(connection.execute(counted).one()))
        # A cursor of SQL, whose rows come in parts.
        streaming = connection.execution_options(stream_results=True, max_row_buffer=2)
        rows = streaming.execute(sa.text("SELECT i FROM range(7) r(i) ORDER BY i"))
        told["streamed"] = [row.i for row in rows]
        rows.close()
        try:
            connection.execute(sa.text("SELECT nope FROM events"))
        except sa.exc.DBAPIError as error:
            told["error"] = getattr(error.orig, "sqlstate", None) or error.orig.args[0]["C"]
        connection.rollback()
        told["after"] = connection.scalar(sa.text("SELECT :n + 1"), {"n": 1})
    engine.dispose()
    return told


client, port = sys.argv[1], int(sys.argv[2])
if client == "asyncpg":
    answer = asyncio.run(ask_asyncpg(port))
elif client in ("sqlalchemy", "pg8000"):
    answer = ask_sqlalchemy(port, "psycopg" if client == "sqlalchemy" else client)
else:
    answer = ask_psycopg(port)
print(json.dumps(answer))
