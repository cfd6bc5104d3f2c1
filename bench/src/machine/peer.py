"""A collector with psutil: for each line of its input one collection, and the CPU time in ns of all so far."""

import sys
import time

import psutil

ATTRIBUTES = ["pid", "ppid", "name", "cpu_times", "memory_info", "io_counters", "num_threads", "nice", "create_time"]


def processes():
    return [process.info for process in psutil.process_iter(ATTRIBUTES)]


def system():
    return [
        psutil.cpu_times(percpu=True),
        psutil.cpu_stats(),
        psutil.virtual_memory(),
        psutil.swap_memory(),
        psutil.disk_io_counters(perdisk=True),
        psutil.net_io_counters(pernic=True),
    ]


collect = {"processes": processes, "system": system}[sys.argv[1]]
before, latest, spent = None, None, 0
for _ in sys.stdin:
    start = time.process_time_ns()
    before, latest = latest, collect()
    spent += time.process_time_ns() - start
    print(spent, flush=True)
