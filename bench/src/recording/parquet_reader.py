"""DuckDB as a peer: for each line of input, which is JSON, the statements of a reader in one or a new connection.

Each statement has one row: a number of values and their sum. The answer has the sums of both, the sum modulo 2^64, and
the CPU time in ns of all statements so far. One thread costs DuckDB the least CPU time.
"""

import json
import sys
import time

import duckdb


def connect():
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    connection.execute("SET TimeZone = 'UTC'")
    return connection


kept, spent = connect(), 0
for line in sys.stdin:
    question = json.loads(line)
    count, total = 0, 0
    start = time.process_time_ns()
    connection = connect() if question["is_new"] else kept
    for statement in question["statements"]:
        values, added = connection.execute(statement).fetchone()
        count, total = count + values, total + added
    if question["is_new"]:
        connection.close()
    spent += time.process_time_ns() - start
    print(spent, count, int(total) % 2**64, flush=True)
