"""Changes a SQLite catalog by PyIceberg's SQL catalog: write_sql_catalog.py <catalog.db> <warehouse>

Makes a namespace with properties, a table with two appends, renames it, and drops another one.
"""

import sys

import pyarrow
from pyiceberg.catalog.sql import SqlCatalog

path, warehouse = sys.argv[1:]
catalog = SqlCatalog("svc", uri=f"sqlite:///{path}", warehouse=f"file://{warehouse}")
catalog.create_namespace("guests", {"owner": "analysts"})
catalog.update_namespace_properties("guests", removals={"owner"}, updates={"team": "a"})
rows = pyarrow.table({"a": [1, 2, 3]})
table = catalog.create_table("guests.first", schema=rows.schema)
table.append(rows)
table.append(rows)
catalog.rename_table("guests.first", "guests.renamed")
catalog.create_table("guests.second", schema=rows.schema)
catalog.drop_table("guests.second")
print(catalog.load_table("guests.renamed").metadata_location)
