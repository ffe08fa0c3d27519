"""Row ids of tables as PyIceberg reads them: read_tables.py <metadata location>...

A location is `<table>=<URL of its metadata.json>`. Prints one JSON object: ids by table.
"""

import json
import re
import sys

from pyiceberg.table import StaticTable

ROW_ID = re.compile(r"<f(\d+)\.(\d+)>")


def main():
    found = {}
    for argument in sys.argv[1:]:
        table, location = argument.split("=", 1)
        rows = StaticTable.from_metadata(location).scan(selected_fields=("raw",)).to_arrow()
        ids = found[table] = []
        for text in rows.column("raw").to_pylist():
            ids.extend(f"{request}.{row}" for request, row in ROW_ID.findall(text))
    print(json.dumps(found))


main()
