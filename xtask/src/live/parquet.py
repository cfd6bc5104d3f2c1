"""Compares exported Parquet files and their views, read by DuckDB, with what the command prints.

Arguments: perfset, the example formula_vectors, the table of vectors, a directory for files, and the exported logs.
"""

import csv
import glob
import json
import math
import os
import subprocess
import sys
from urllib.parse import unquote

import duckdb

perfset, formula_vectors, vectors, work, *logs = sys.argv[1:]
lake = os.path.join(work, "lake")


def run(*words):
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, check=False)
    if done.returncode not in (0, 5):  # 5: a damaged log, whose intact part is used
        raise SystemExit(f"{words}: exit code {done.returncode}")
    return done.stdout.decode()


def is_equal(a, b):
    """Equal to one unit in the last place."""
    if a is None or b is None:
        return a is None and b is None
    return a == b or abs(a - b) <= math.ulp(max(abs(a), abs(b)))


def check_vectors():
    """Each vector in the view of its type: the value, or NULL for a reason."""
    root = os.path.join(work, "vectors")
    run(formula_vectors, vectors, root)
    database = duckdb.connect()
    database.execute(open(os.path.join(root, "duckdb.sql")).read())
    values = {}
    checked = 0
    for vector in csv.DictReader(open(os.path.join(root, "expected.csv"))):
        view, instance = vector["view"], vector["instance"]
        if view not in values:
            rows = database.execute(f'SELECT instance, n FROM "{view}"').fetchall()
            values[view] = {}
            for name, value in rows:
                values[view].setdefault(name, []).append(value)
        found = values[view][instance]
        # One of a type that needs one sample has a value in the older sample too.
        if vector["value"] == "ok":
            wanted = float(vector["nocap"])
            good = any(value is not None and is_equal(value, wanted) for value in found)
        else:
            wanted, good = None, all(value is None for value in found)
            # The older sample of a type that needs one sample only can have a value.
            good = good or (len(found) == 2 and None in found and "ELAPSED" in instance)
        assert good, f"{instance}: {found}, must be {wanted} ({vector['value']})"
        checked += 1
    return checked


def raw_bits(number):
    """The number whose bits a signed column has."""
    return None if number is None else number + 2**64 if number < 0 else number


def check_log(database, log, host, columns):
    """Each value of a log in the files and in the views."""
    path = "\\%s\\*"
    compared = nulls = 0
    for guid, (slug, names) in columns.items():
        printed = {}
        for star in ("(*)", ""):
            words = [perfset, "get", "--all", "\\{%s}%s\\*" % (guid, star), "--log", log, "--format", "json"]
            done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
            if done.stdout:
                break
        for line in done.stdout.decode().splitlines():
            value = json.loads(line)
            column = names.get(value["counter"])
            if column is None:
                continue
            key = (value["time"], value["instance"], value["instance_id"] or 0, column)
            # A sample without values, of the same time, separates two runs.
            if value["raw"] is not None or key not in printed:
                printed[key] = value
        shown = {column for *_, column in printed}
        found = {row[0] for row in database.execute(f'DESCRIBE "{slug}"').fetchall()}
        shown = sorted(shown & found)
        if not shown:
            continue
        files = f"{lake}/counterset={slug}/*/*/*.parquet"
        quoted = ", ".join(f'"{column}"' for column in shown)
        when = "strftime(time, '%Y-%m-%dT%H:%M:%S') || '.' || lpad((epoch_us(time) // 1000 % 1000)::VARCHAR, 3, '0') || 'Z'"
        identity = f"{when}, instance, instance_id::BIGINT & 4294967295, birth"
        query = f"SELECT {identity}, {quoted} FROM {{}} WHERE host = ? ORDER BY time, instance, instance_id, birth"
        formatted = database.execute(query.format(f'"{slug}"'), [host]).fetchall()
        options = "union_by_name = true, hive_partitioning = true, hive_types = {'host': VARCHAR, 'date': DATE}"
        raw = database.execute(query.format(f"read_parquet('{files}', {options})"), [host]).fetchall()
        assert len(raw) == len(formatted), slug
        known = set()
        for raw_row, row in zip(raw, formatted):
            time, instance, number = row[:3]
            for at, column in enumerate(shown):
                key = (time, instance, number, column)
                value = printed.get(key)
                # Instances of one name have other names in paths.
                if value is None or key in known:
                    continue
                known.add(key)
                stored, shown_value = raw_bits(raw_row[4 + at]), row[4 + at]
                assert stored == value["raw"], f"{log} {key}: raw {stored}, must be {value['raw']}"
                assert is_equal(shown_value, value["value"]), f"{log} {key}: {shown_value}, must be {value}"
                compared += 1
                nulls += shown_value is None
        lost = [key for key, value in printed.items() if key not in known and key[3] in shown]
        named = [key for key in lost if "#" not in key[1] and printed[key]["raw"] is not None]
        assert not named, f"{log} {slug}: {len(named)} values are in no file: {named[:3]}"
    return compared, nulls


def main():
    checked = check_vectors()
    hosts = {}
    for log in logs:
        before = set(glob.glob(f"{lake}/**/*.parquet", recursive=True))
        run(perfset, "log", "export", log, "--to", "parquet", "-o", lake)
        new = set(glob.glob(f"{lake}/**/*.parquet", recursive=True)) - before
        assert new, f"{log}: no file"
        hosts.setdefault(log, {unquote(path.split("host=")[1].split("/")[0]) for path in new})
        run(perfset, "log", "export", log, "--to", "parquet", "-o", lake)
        again = set(glob.glob(f"{lake}/**/*.parquet", recursive=True)) - before - new
        assert not again, f"{log}: exported twice: {again}"
    database = duckdb.connect()
    database.execute("SET TimeZone = 'UTC'")
    database.execute(run(perfset, "log", "export", "--views", "duckdb", lake))
    columns = {}
    facts = database.execute(
        "SELECT file_name, decode(key), decode(value) FROM parquet_kv_metadata(?)", [f"{lake}/**/*.parquet"]
    ).fetchall()
    by_file = {}
    for name, key, value in facts:
        by_file.setdefault(name, {})[key] = value
    for name, known in by_file.items():
        slug = name.split("counterset=")[1].split("/")[0]
        if slug.endswith(known["perfset.guid"].replace("-", "").lower()):
            continue  # of an application: it has no view
        names = {column["name"]: column["column"] for column in json.loads(known["perfset.columns"])}
        columns[known["perfset.guid"]] = (slug, names)
    compared = nulls = 0
    for log in logs:
        for host in hosts[log]:
            more, missing = check_log(database, log, host, columns)
            assert more, f"{log}: nothing was compared"
            compared, nulls = compared + more, nulls + missing
    all_hosts = set().union(*hosts.values())
    assert len(all_hosts) >= 3, f"hosts: {all_hosts}"
    print(f"{checked} vectors; {compared} values of {len(all_hosts)} hosts, {nulls} of them NULL")


main()
