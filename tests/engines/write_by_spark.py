"""Spark writes to svc.events by its REST catalog: write_by_spark.py <jar> <address>.

Prints a line of JSON for each step: its name, and what Spark says where it failed.
"""

import json
import sys

STEPS = {
    "insert": """INSERT INTO svc.svc.events (timestamp, timestamp_ns, host, source, sourcetype, `index`, raw, attributes, `attributes:severity_text`)
        SELECT TIMESTAMP '2026-11-20 14:00:00Z', 1795183200000000000 + id, 'spark', 'shop', 't', 'main',
        concat('from spark ', id), NULL, NULL FROM range(4)""",
    "merge_on_read": """ALTER TABLE svc.svc.events SET TBLPROPERTIES (
        'write.delete.mode' = 'merge-on-read', 'write.update.mode' = 'merge-on-read')""",
    "delete": "DELETE FROM svc.svc.events WHERE raw IN ('from spark 1', 'ours 1')",
    "update": "UPDATE svc.svc.events SET raw = 'updated by spark' WHERE raw = 'from spark 2'",
    "add_column": "ALTER TABLE svc.svc.events ADD COLUMN team STRING",
    "rewrite": "CALL svc.system.rewrite_data_files(table => 'svc.svc.events', options => map('rewrite-all', 'true'))",
    "expire": "CALL svc.system.expire_snapshots(table => 'svc.svc.events', older_than => TIMESTAMP '2030-01-01 00:00:00')",
    "drop_column": "ALTER TABLE svc.svc.events DROP COLUMN attributes",
    "count": "SELECT count(*) FROM svc.svc.events",
}


def main():
    from pyspark.sql import SparkSession

    jar, address = sys.argv[1:]
    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.jars", jar)
        .config("spark.sql.extensions", "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions")
        .config("spark.sql.catalog.svc", "org.apache.iceberg.spark.SparkCatalog")
        .config("spark.sql.catalog.svc.type", "rest")
        .config("spark.sql.catalog.svc.uri", address)
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    for name, sql in STEPS.items():
        try:
            rows = [list(row) for row in spark.sql(sql).collect()]
            print(json.dumps({"step": name, "rows": rows}, default=str), flush=True)
        except Exception as error:
            print(json.dumps({"step": name, "error": str(error)[:600]}), flush=True)


main()
