"""Compares SQL engines over the exported files of a fleet with what the command prints, for each value.

Arguments: perfset, a directory for files, the directory of exported files, and recordings with the names of their hosts
as NAME=PATH.
"""

import glob
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from datetime import datetime, timezone

import engines

perfset, work, lake, *recordings = sys.argv[1:]

# Longest time of the whole check, in seconds; a program that hangs fails it.
LIMIT = 2_400


def run(*words, codes=(0, 5)):
    """Runs a program to its end; 5 is the code of a damaged log, whose intact part is used."""
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, check=False, timeout=600)
    if done.returncode not in codes:
        raise SystemExit(f"{words}: exit code {done.returncode}")
    return done.stdout.decode()


def is_equal(a, b):
    """Equal to one unit in the last place."""
    if a is None or b is None:
        return a is None and b is None
    return a == b or abs(a - b) <= math.ulp(max(abs(a), abs(b)))


def file_facts(path):
    """Metadata of an exported file."""
    import pyarrow.parquet

    metadata = pyarrow.parquet.read_metadata(path).metadata
    return {key.decode(): value.decode() for key, value in metadata.items() if key.startswith(b"perfset.")}


def countersets():
    """GUID and columns by counter of each built-in counterset, by the name of its view."""
    found = {}
    for folder in sorted(glob.glob(f"{lake}/counterset=*")):
        slug = folder.rsplit("=", 1)[1]
        facts = file_facts(glob.glob(f"{folder}/*/*/*.parquet")[0])
        guid = facts["perfset.guid"]
        if slug.endswith(guid.replace("-", "").lower()):
            continue  # of an application: it has no view
        found[slug] = (guid, {c["name"]: c["column"] for c in json.loads(facts["perfset.columns"]) if c["name"]})
    return found


def printed_values(guid, names, recording):
    """Values that the command prints, by time, instance, id and column."""
    for star in ("(*)", ""):
        words = [perfset, "get", "--all", "\\{%s}%s\\*" % (guid, star), "--log", recording, "--format", "json"]
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, timeout=600)
        if done.stdout:
            break
    printed = {}
    for line in done.stdout.splitlines():
        value = json.loads(line)
        column = names.get(value["counter"])
        if column is None:
            continue
        key = (value["time"], value["instance"], value["instance_id"] or 0, column)
        # A sample without values, of the same time, separates two runs.
        if value["raw"] is not None or key not in printed:
            has_reason = value["status"] != "ok"
            assert has_reason == (value["value"] is None), value
            printed[key] = (value["value"], value["raw"] is not None)
    return printed


def instant(micros, known={}):
    """Time as the command prints it."""
    if micros not in known:
        at = datetime.fromtimestamp(micros // 1_000_000, timezone.utc)
        known[micros] = at.strftime("%Y-%m-%dT%H:%M:%S") + f".{micros // 1_000 % 1_000:03}Z"
    return known[micros]


def by_host(engine, slug, columns):
    """Rows of a view, by host."""
    quote = '"' if engine.dialect == "duckdb" else "`"
    shown = ", ".join(f"{quote}{column}{quote}" for column in columns)
    rows = engine.rows(
        f"SELECT host, {engine.micros} AS t, instance, instance_id, birth, {shown} FROM {quote}{slug}{quote} "
        "ORDER BY host, t, instance, instance_id, birth"
    )
    hosts = {}
    for row in rows:
        hosts.setdefault(row[0], []).append(row[1:])
    return hosts


def shown_columns(engine, slug):
    quoted = f'DESCRIBE "{slug}"' if engine.dialect == "duckdb" else f"DESCRIBE `{slug}`"
    return {row[0] for row in engine.rows(quoted)}


def check_values(started, hosts):
    """Each value of each recording in the views of each engine."""
    counts = {engine.name: 0 for engine in started}
    nulls, views = 0, set()
    for slug, (guid, names) in countersets().items():
        columns = sorted(set(names.values()) & shown_columns(started[0], slug))
        if not columns:
            continue
        tables = [(engine, by_host(engine, slug, columns)) for engine in started]
        for host, recording in hosts.items():
            printed = printed_values(guid, names, recording)
            if not printed:
                continue
            for engine, table in tables:
                known = set()
                for micros, instance, number, _, *values in table.get(host, []):
                    at, number = instant(micros), number & 0xFFFFFFFF
                    for column, value in zip(columns, values):
                        key = (at, instance, number, column)
                        wanted = printed.get(key)
                        # Instances of one name have other names in paths.
                        if wanted is None or key in known:
                            continue
                        known.add(key)
                        assert is_equal(value, wanted[0]), f"{engine.name}: {host} {key}: {value}, not {wanted[0]}"
                        nulls += value is None and engine is started[0]
                counts[engine.name] += len(known)
                lost = [
                    key
                    for key, (_, has_raw) in printed.items()
                    if has_raw and key not in known and key[3] in columns and "#" not in key[1]
                ]
                assert not lost, f"{engine.name}: {host} {slug}: {len(lost)} values are in no row: {lost[:3]}"
                if known:
                    views.add(slug)
    assert len(set(counts.values())) == 1, counts
    assert len(views) >= 12, views
    return f"{counts[started[0].name]} values of {len(views)} views and {len(hosts)} hosts in each engine, {nulls} NULL"


def check_dask(database):
    """Aggregates by two processes, of which one is killed while it computes."""
    from dask.distributed import Client, as_completed

    files = sorted(glob.glob(f"{lake}/*/*/*/*.parquet"))
    port = engines.free_port()
    folder = os.path.dirname(sys.executable)
    log = open(os.path.join(work, "dask.log"), "ab")
    started = []

    def start(*words):
        words = [os.path.join(folder, "dask"), *words]
        started.append(subprocess.Popen(words, stdout=log, stderr=log, cwd=work))
        return started[-1]

    try:
        scheduler = start("scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
        engines.wait_for(port, scheduler)
        address = f"tcp://127.0.0.1:{port}"
        for number in (1, 2):
            words = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--name", str(number)]
            start("worker", address, *words, "--local-directory", os.path.join(work, f"dask{number}"))
        with Client(address, timeout=60) as client:
            client.wait_for_workers(2, timeout=60)
            client.upload_file(os.path.join(os.path.dirname(__file__), "dask_aggregate.py"))
            from dask_aggregate import aggregate

            asked = client.map(aggregate, files, retries=3, pure=False)
            done = 0
            for _ in as_completed(asked, timeout=600):
                done += 1
                if done == len(files) // 4:
                    holders = client.who_has(asked)
                    started[1].kill()  # SIGKILL
                    break
            left = sum(not future.done() for future in asked)
            assert left > 0, "no file was left when the worker was killed"
            by_worker = {worker for workers in holders.values() for worker in workers}
            assert len(by_worker) == 2, f"one worker had done everything: {by_worker}"
            results = client.gather(asked)
            assert len(client.scheduler_info()["workers"]) == 1, "both workers are still there"
        rows, values, total = (sum(column) for column in zip(*results))
    finally:
        for process in reversed(started):
            engines.end(process)
        log.close()
    wanted = (0, 0, 0)
    for slug in sorted(name.rsplit("=", 1)[1] for name in glob.glob(f"{lake}/counterset=*")):
        path = f"{lake}/counterset={slug}/*/*/*.parquet"
        fixed = database.rows(f"DESCRIBE SELECT * FROM read_parquet('{path}', hive_partitioning = false)")
        names = [f'"{row[0]}"' for row in fixed[11:] if row[1] == "BIGINT"]
        count = " + ".join(f"count({name})" for name in names)
        sums = " + ".join(f"coalesce(sum({name}::HUGEINT), 0)" for name in names)
        source = f"read_parquet('{path}', hive_partitioning = false, union_by_name = true)"
        (found,) = database.rows(f"SELECT count(*), {count}, {sums} FROM {source}")
        wanted = tuple(a + b for a, b in zip(wanted, found))
    assert (rows, values, total) == wanted, f"{(rows, values, total)} and not {wanted}"
    return f"Dask: {rows} rows, {values} values, {left} of {len(files)} files left when a worker was killed"


def check_truncated(started):
    """A file that is cut: the command names it, and no engine answers."""
    import pyarrow.dataset

    broken = os.path.join(work, "broken")
    shutil.copytree(f"{lake}/counterset=memory", f"{broken}/counterset=memory")
    files = sorted(glob.glob(f"{broken}/*/*/*/*.parquet"))
    cut = files[len(files) // 2]
    os.truncate(cut, os.path.getsize(cut) * 2 // 3)
    printed = run(perfset, "log", "info", cut, codes=(5,))
    assert cut in printed and "damage    1" in printed, printed
    lines = run(perfset, "log", "info", *files, "--format", "json", codes=(5,)).splitlines()
    found = [line["file"] for line in map(json.loads, lines) if line["damage_count"]]
    assert found == [cut] and len(lines) == len(files), found
    names = []
    for engine in started:
        try:
            engine.views(run(perfset, "log", "export", "--views", engine.dialect, broken))
            rows = engine.rows("SELECT count(*), max(available_bytes) FROM memory")
        except Exception as error:
            names.append(f"{engine.name} {'names' if os.path.basename(cut) in str(error) else 'does not name'} it")
            print(f"{engine.name}: {str(error)[:300]}", file=sys.stderr)
        else:
            raise SystemExit(f"{engine.name} answers without a file: {rows}")
    try:
        rows = pyarrow.dataset.dataset(broken, format="parquet").to_table().num_rows
    except Exception as error:
        names.append(f"pyarrow {'names' if os.path.basename(cut) in str(error) else 'does not name'} it")
    else:
        raise SystemExit(f"pyarrow answers without a file: {rows}")
    return "a file that is cut: " + ", ".join(names)


def main():
    signal.alarm(LIMIT)  # ends this process, whatever an engine does
    hosts = dict(recording.split("=", 1) for recording in recordings)
    began = time.monotonic()
    figures = []
    started = []
    try:
        for engine in engines.ALL:
            started.append(engine(work))
            started[-1].views(run(perfset, "log", "export", "--views", started[-1].dialect, lake))
        figures.append(check_values(started, hosts))
        figures.append(check_dask(started[0]))
        figures.append(check_truncated(started))
    finally:
        for engine in started:
            engine.close()
    print("; ".join(figures) + f"; {time.monotonic() - began:.0f} s", flush=True)
    os._exit(0)  # waits for no thread of an engine


if __name__ == "__main__":
    main()
