"""Spark that answers statements: spark_statements.py <jars> <rest address> <jdbc uri> <warehouse> [<property>=<value>...]

Reads lines of JSON, {"catalog": "rest" | "jdbc", "vectorized": true | false | null, "sql": "..."},
and prints for each a line, {"rows": [[...]], "files": 1} or {"error": "..."}. `files` are the data
files that its scans planned, by Iceberg's metrics. {"catalog": "rest", "deleted": "..."} deletes rows
of the first file's day by their text, and has no rows. In both sessions the catalog is `svc`, as its name
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
        if "deleted" in question:
            return delete_by_value(session, question["deleted"])
        frame = session.sql(question["sql"])
        rows = [list(row) for row in frame.collect()]
        return {"rows": rows, "files": planned_files(frame)}
    except Exception as error:  # What Spark says is what tests look at.
        return {"error": str(error)}


def delete_by_value(session, raw):
    """Commits a file of equality deletes, as Flink does and Spark does not: by Iceberg 1.12."""
    jvm = session._jvm
    iceberg = jvm.org.apache.iceberg
    table = iceberg.spark.Spark3Util.loadIcebergTable(session._jsparkSession, "svc.svc.events")
    ids = session._sc._gateway.new_array(jvm.int, 1)
    ids[0] = table.schema().findField("raw").fieldId()
    names = jvm.java.util.ArrayList()
    names.add("raw")
    schema = table.schema().select(names)
    tasks = table.newScan().planFiles().iterator()
    partition = tasks.next().file().partition()
    name = f"{jvm.java.util.UUID.randomUUID()}-deletes.parquet"
    file = table.io().newOutputFile(f"{table.location()}/data/{name}")
    factory = (
        getattr(iceberg.data, "GenericFileWriterFactory$Builder")(table)
        .deleteFileFormat(iceberg.FileFormat.PARQUET)
        .equalityFieldIds(ids)
        .equalityDeleteRowSchema(schema)
        .build()
    )
    writer = factory.newEqualityDeleteWriter(
        iceberg.encryption.EncryptedFiles.plainAsEncryptedOutput(file), table.spec(), partition
    )
    record = iceberg.data.GenericRecord.create(schema)
    record.setField("raw", raw)
    writer.write(record)
    writer.close()
    table.newRowDelta().addDeletes(writer.toDeleteFile()).commit()
    return {"rows": [], "files": 0}


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
