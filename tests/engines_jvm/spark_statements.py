"""Spark that answers statements: spark_statements.py <jars> <rest address> <jdbc uri> <warehouse> [<property>=<value>...]

Reads lines of JSON, {"catalog": "rest" | "jdbc", "vectorized": true | false | null, "sql": "..."},
and prints for each a line, {"rows": [[...]], "files": 1} or {"error": "..."}. `files` are the data
files that its scans planned, by Iceberg's metrics. In both sessions the catalog is `svc`, as its name
stands in the table of a JDBC catalog. Properties are those of the catalog `svc`.
"""

import json
import sys

VECTORIZED = "spark.sql.iceberg.vectorization.enabled"


def builder(jars):
    from pyspark.sql import SparkSession

    extensions = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
    return (
        SparkSession.builder.master("local[2]")
        .config("spark.jars", jars)
        .config("spark.sql.extensions", extensions)
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
    )


def session_of(first, catalog):
    session = first.newSession()
    for name, value in catalog.items():
        suffix = f".{name}" if name else ""
        session.conf.set(f"spark.sql.catalog.svc{suffix}", value)
    session.conf.set("spark.sql.catalog.svc.cache-enabled", "false")
    return session


def answer(sessions, question):
    session = sessions[question["catalog"]]
    if question["vectorized"] is None:
        session.conf.unset(VECTORIZED)
    else:
        session.conf.set(VECTORIZED, str(question["vectorized"]).lower())
    try:
        frame = session.sql(question["sql"])
        rows = [list(row) for row in frame.collect()]
        return {"rows": rows, "files": planned_files(frame)}
    except Exception as error:  # What Spark says is what tests look at.
        return {"error": str(error)}


def planned_files(frame):
    leaves = frame._jdf.queryExecution().executedPlan().collectLeaves()
    metrics = [leaves.apply(at).metrics().get("resultDataFiles") for at in range(leaves.length())]
    return sum(one.get().value() for one in metrics if one.isDefined())


def main():
    jars, address, jdbc, warehouse, *properties = sys.argv[1:]
    more = dict(one.split("=", 1) for one in properties)
    first = builder(jars).getOrCreate()
    first.sparkContext.setLogLevel("OFF")
    kind = "org.apache.iceberg.spark.SparkCatalog"
    rest = {"": kind, "type": "rest", "uri": address}
    by_jdbc = {"": kind, "type": "jdbc", "uri": jdbc, "warehouse": warehouse}
    by_jdbc |= {"jdbc.schema-version": "V1", "jdbc.init-catalog-tables": "false"}
    sessions = {
        "rest": session_of(first, rest | more),
        "jdbc": session_of(first, by_jdbc | more),
    }
    print(json.dumps({"spark": first.version}), flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(sessions, json.loads(line)), default=str), flush=True)


main()
