"""Compares a PDH-CSV log and a SQL log with values calculated from a table of raw counters.

Usage: log_values.py LOG.csv RAW.tsv.gz LOG.db

Written from the public descriptions of three counter types, not after the Rust code:
PERF_100NSEC_TIMER_INV, PERF_AVERAGE_BULK, PERF_COUNTER_100NS_QUEUELEN_TYPE.
"""
import csv
import gzip
import sqlite3
import sys


def value(kind, before, now):
    first, second = now[0] - before[0], now[1] - before[1]
    if kind == 0x21510500:
        return max(0.0, 100.0 * (1.0 - first / second))
    if kind == 0x40020500:
        return first / second if second else 0.0
    if kind == 0x00550500:
        return first / second
    raise SystemExit(f"a counter of type {kind:#010x} is not expected")


raw = {}
with gzip.open(sys.argv[2], "rt", encoding="utf-8") as table:
    for line in table:
        sample, _, path, kind, _, first, second, _ = line.rstrip("\n").split("\t")
        raw.setdefault(path, (int(kind, 16), []))[1].append((int(first), int(second)))

with open(sys.argv[1], newline="", encoding="utf-8") as log:
    lines = csv.reader(log)
    head = next(lines)
    rows = list(lines)
if sorted(head[1:]) != sorted(raw):
    raise SystemExit("the columns are not the counters of the table")
compared = 0
for number, row in enumerate(rows):
    for path, text in zip(head[1:], row[1:], strict=True):
        kind, values = raw[path]
        if number == 0:
            if text != " ":
                raise SystemExit(f"{path} has a value in the first sample: {text}")
            continue
        want = value(kind, values[number - 1], values[number])
        if abs(float(text) - want) > 1e-9 * max(1.0, abs(want)):
            raise SystemExit(f"{path}, sample {number}: {text}, not {want}")
        compared += 1

def whole(low, high):
    number = ((high & 0xFFFFFFFF) << 32) | (low & 0xFFFFFFFF)
    return number - (1 << 64) if number >> 63 else number


query = """
SELECT MachineName, ObjectName, InstanceName, CounterName, CounterType, RecordIndex, CounterValue,
       FirstValueA, FirstValueB, SecondValueA, SecondValueB
FROM CounterData NATURAL JOIN CounterDetails ORDER BY RecordIndex
"""
in_sql = 0
for machine, thing, instance, counter, kind, record, got, *halves in sqlite3.connect(sys.argv[3]).execute(query):
    path = f"{machine}\\{thing}({instance})\\{counter}"
    known_kind, values = raw[path]
    number = record - 1
    if kind & 0xFFFFFFFF != known_kind or (whole(*halves[:2]), whole(*halves[2:])) != values[number]:
        raise SystemExit(f"{path}, record {record}: {kind}, {halves}, not {values[number]}")
    want = value(known_kind, values[number - 1], values[number]) if number else None
    if (got is None) != (want is None) or (want is not None and abs(got - want) > 1e-9 * max(1.0, abs(want))):
        raise SystemExit(f"{path}, record {record}: {got}, not {want}")
    in_sql += 1
if in_sql != sum(len(values) for _, values in raw.values()):
    raise SystemExit(f"{in_sql} rows")
print(f"{compared} values in CSV, {in_sql} in SQL")
