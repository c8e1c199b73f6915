#!/usr/bin/env python3
"""rows.py FILE: the rows of a Parquet file as JSON lines, read by pyarrow."""

import json
import sys

import pyarrow.parquet

for row in pyarrow.parquet.read_table(sys.argv[1]).to_pylist():
    print(json.dumps(row, default=lambda value: value.hex()))
