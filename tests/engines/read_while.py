"""Reads again and again: read_while.py <engine> <catalog address> <seconds> <where>.

Prints the texts of each read as a line of JSON, at least of one.
"""

import json
import sys
import time

from engines import ENGINES


def main():
    engine, address, seconds, where = sys.argv[1:]
    end = time.monotonic() + float(seconds)
    while True:
        _, table = ENGINES[engine](address, ["raw"], where)
        print(json.dumps(table.column("raw").to_pylist()))
        if time.monotonic() >= end:
            break


main()
