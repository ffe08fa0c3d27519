"""Runs the blocks of docs/engines.md as they are written: run_page.py <page> <address>.

Blocks of Python share their names, as in one session. DuckDB's extensions come from packages, and
ClickHouse is chdb.
"""

import os
import re
import sys

from engines import duckdb_catalog

PAGE_ADDRESS = "http://127.0.0.1:8089/iceberg"


def main():
    page, address = sys.argv[1:]
    text = open(page, encoding="utf-8").read().replace(PAGE_ADDRESS, address)
    session = {}
    ran = 0
    for language, block in re.findall(r"^```(python|sql)\n(.*?)^```$", text, re.M | re.S):
        statements = [one for one in block.split(";") if one.strip()]
        if language == "python":
            exec(compile(block, page, "exec"), session)
        elif "DataLakeCatalog" in block:
            from chdb.session import Session

            # It reads files below the working directory alone.
            os.chdir("/")
            lake = Session()
            for one in statements:
                print(lake.query(one))
        else:
            database = duckdb_catalog(address)
            database.execute("DETACH logs")
            for one in statements:
                if "INSTALL" not in one and "LOAD" not in one:
                    print(database.execute(one).fetchall())
        ran += 1
    print(f"blocks: {ran}")


main()
