"""Times of questions about the exported files of a fleet.

Arguments: perfset, and the directory of `cargo xtask fleet`.
"""

import glob
import os
import resource
import signal
import subprocess
import sys
import time

import engines

perfset, folder = sys.argv[1:]
lake = os.path.join(folder, "lake")
ROUNDS = 3

RAW = {
    "duckdb": f"read_parquet('{lake}/counterset=%s/*/*/*.parquet', hive_partitioning = true)",
    "spark": f"parquet.`{lake}/counterset=%s`",
}
QUESTIONS = [
    ("raw: rows and largest working set by host", "SELECT host, count(*), max(working_set) FROM {process_v2} GROUP BY host"),
    ("view: busiest hosts", "SELECT host, avg(percent_processor_time) AS b FROM processor_information WHERE instance = '_Total' GROUP BY host ORDER BY b DESC LIMIT 10"),
    ("view: processes that grew", "SELECT host, instance, max_by(private_bytes, time) - min_by(private_bytes, time) AS g FROM process_v2 WHERE private_bytes IS NOT NULL GROUP BY host, instance, birth ORDER BY g DESC LIMIT 10"),
    ("view: highest rate of a process", "SELECT host, max(io_read_bytes_per_sec) AS m FROM process_v2 GROUP BY host ORDER BY m DESC LIMIT 10"),
    ("view: one host", "SELECT max(percent_processor_time) FROM process_v2 WHERE host = 'web0006'"),
]


def sizes():
    for name in sorted(glob.glob(f"{lake}/counterset=*")):
        files = glob.glob(f"{name}/*/*/*.parquet")
        total = sum(os.path.getsize(path) for path in files)
        print(f"{name.rsplit('=', 1)[1]:24} {len(files):6} files {total:12} B")


def main():
    signal.alarm(3_000)
    sizes()
    for kind in (engines.DuckDb, engines.Sail):
        began = time.monotonic()
        engine = kind(folder)
        try:
            sql = subprocess.run(
                [perfset, "log", "export", "--views", engine.dialect, lake], stdout=subprocess.PIPE, check=True
            ).stdout.decode()
            engine.views(sql)
            print(f"{engine.name}: ready after {time.monotonic() - began:.2f} s")
            for what, question in QUESTIONS:
                question = question.replace("{process_v2}", RAW[engine.dialect] % "process_v2")
                times = []
                for _ in range(ROUNDS):
                    began = time.monotonic()
                    rows = engine.rows(question)
                    times.append(time.monotonic() - began)
                    assert rows
                print(f"{engine.name:10} {what:44} first {times[0]:7.2f} s, best {min(times):7.2f} s", flush=True)
        finally:
            engine.close()
    print(f"memory of DuckDB and the client: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MiB", flush=True)
    os._exit(0)  # waits for no thread of an engine


main()
