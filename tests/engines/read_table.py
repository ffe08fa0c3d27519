"""Prints a table's rows as lines of JSON: read_table.py <engine> <catalog address>

Each line of the input is a condition that all engines understand. For each, the catalog and the
table are opened anew. A line before its rows tells how many rows follow, and how many data files
were planned, or null where the engine does not say.
"""

import json
import sys

from engines import ENGINES

COLUMNS = ["timestamp", "timestamp_ns", "source", "raw", "attributes"]


def main():
    import pyarrow

    engine, address = sys.argv[1:]
    for line in sys.stdin:
        files, table = ENGINES[engine](address, COLUMNS, line.strip())
        times = table.column("timestamp").cast(pyarrow.timestamp("us", "UTC"))
        micros = times.cast(pyarrow.int64()).to_pylist()
        columns = [micros] + [table.column(name).to_pylist() for name in COLUMNS[1:]]
        print(json.dumps({"rows": table.num_rows, "files": files}))
        for at, ns, *texts in zip(*columns):
            print(json.dumps([str(at), str(ns), *texts], ensure_ascii=False))
        sys.stdout.flush()


main()
