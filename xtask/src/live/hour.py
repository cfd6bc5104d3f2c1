"""Compares a recording with what sadc and pidstat recorded in the same seconds.

Usage: hour.py PERFSET RECORDING SADC_FILE PIDSTAT_FILE SHARE

A number of the kernel that only grows must lie between those of sadc's samples before and after it, and grow by the
same amount over the whole time, to the share. pidstat prints rates only, so their sums are compared.
"""

import csv
import io
import subprocess
import sys
from bisect import bisect_left, bisect_right
from datetime import datetime, timezone

# Path of a counter; option of sar; device of the line, or None; fields that are added; factor to our unit.
TICK = 100_000  # a clock tick of sar in 100 ns
FROM_SAR = [
    (r"\Linux Processor(0,0)\% User Time", "-u ALL", "CPU; 0", ["%usr"], TICK),
    (r"\Linux Processor(0,1)\% System Time", "-u ALL", "CPU; 1", ["%sys"], TICK),
    (r"\Linux Processor(0,1)\% Nice Time", "-u ALL", "CPU; 1", ["%nice"], TICK),
    (r"\Linux Processor(0,0)\% Steal Time", "-u ALL", "CPU; 0", ["%steal"], TICK),
    (r"\Linux Processor(0,1)\% SoftIRQ Time", "-u ALL", "CPU; 1", ["%soft"], TICK),
    (r"\System\Context Switches/sec", "-w", None, ["cswch/s"], 1),
    (r"\Linux System\Processes Created/sec", "-w", None, ["proc/s"], 1),
    (r"\Memory\Page Faults/sec", "-B", None, ["fault/s"], 1),
    (r"\Memory\Page Reads/sec", "-B", None, ["majflt/s"], 1),
    (r"\Linux Memory\pgpgout", "-B", None, ["pgpgout/s"], 1),
    (r"\Linux Memory\pgfree", "-B", None, ["pgfree/s"], 1),
    (r"\PhysicalDisk(DISK)\Disk Read Bytes/sec", "-d", "DEV; DISK", ["rkB/s"], 512),
    (r"\PhysicalDisk(DISK)\Disk Write Bytes/sec", "-d", "DEV; DISK", ["wkB/s"], 512),
    (r"\TCPv4\Segments Received/sec", "-n TCP", None, ["iseg/s"], 1),
    (r"\IPv4\Datagrams Received Delivered/sec", "-n IP", None, ["idel/s"], 1),
    (r"\IPv4\Datagrams Received/sec", "-n IP", None, ["irec/s"], 1),
]
# Counter of a process; column of pidstat; factor from its unit and a second.
FROM_PIDSTAT = [
    (r"\Process V2({})\% User Time", "%usr", 100_000),
    (r"\Process V2({})\% Privileged Time", "%system", 100_000),
    (r"\Linux Process({})\Minor Faults/sec", "minflt/s", 1),
    (r"\Linux Process({})\Storage Write Bytes/sec", "kB_wr/s", 1024),
]
# Fewer than this are not compared as a share, because 1 % of them is less than one; as times, ticks.
FEW = 500


def recorded(perfset, recording, paths):
    """Returns times in seconds and raw values of each path."""
    command = [perfset, "get", "--log", recording, *paths, "--raw", "--format", "csv"]
    output = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout
    samples = {path: ([], []) for path in paths}
    for row in csv.DictReader(io.StringIO(output)):
        if row["raw"] != "":
            times, values = samples[row["path"]]
            times.append(datetime.fromisoformat(row["time"].replace("Z", "+00:00")).timestamp())
            values.append(int(row["raw"]))
    return samples


def of_sadc(file, option, device, fields):
    """Returns the second of each sample, and the sum of the fields then."""
    command = ["sadf", "-r", "-U", "-P", "ALL", file, "--", *option.split()]
    output = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout
    times, values = [], []
    for line in output.splitlines():
        words = line.rstrip(";").split("; ")
        if device is not None and f"; {device};" not in line:
            continue
        numbers = [words[words.index(field) + 2] for field in fields if field in words]
        if len(numbers) == len(fields):
            times.append(float(words[0].split()[0]))
            values.append(sum(map(int, numbers)))
    return times, values


def at(times, values, time):
    """Interpolates between the samples around a time."""
    after = min(max(bisect_left(times, time), 1), len(times) - 1)
    (begin, end), (low, high) = times[after - 1 : after + 1], values[after - 1 : after + 1]
    return low + (high - low) * (time - begin) / (end - begin)


def check_sar(name, ours, theirs):
    (times, values), (seconds, bounds) = ours, theirs
    between = 0
    for time, value in zip(times, values):
        # A sample of second 7 was taken between 7 and 8.
        before, after = bisect_right(seconds, time - 1) - 1, bisect_left(seconds, time)
        if before < 0 or after >= len(seconds):
            continue
        if not bounds[before] <= value <= bounds[after]:
            sys.exit(f"{name}: {value} at {time} is not between {bounds[before]} and {bounds[after]}")
        between += 1
    begin, end = max(times[0], seconds[0] + 1), min(times[-1], seconds[-1])
    grown = at(times, values, end) - at(times, values, begin)
    # On average half a second after the second that stands there.
    middle = [second + 0.5 for second in seconds]
    wanted = at(middle, bounds, end) - at(middle, bounds, begin)
    return between, grown, wanted


def pidstat_rows(file):
    """Returns the rows of each process: the time at the end, and the values by column."""
    rows, columns = {}, []
    for line in open(file):
        if line.startswith("#"):
            columns = line[1:].split()
        elif columns and line.strip():
            row = dict(zip(columns, line.split()))
            rows.setdefault(row["PID"], []).append(row)
    return rows


def main():
    perfset, recording, sadc, pidstat, most = sys.argv[1:]
    disks = subprocess.run(["sadf", "-r", sadc, "--", "-d"], stdout=subprocess.PIPE, check=True, text=True).stdout
    busiest = max(
        (int(words[words.index("wkB/s") + 2]), words[words.index("DEV") + 1])
        for words in (line.rstrip(";").split("; ") for line in disks.splitlines())
        if "wkB/s" in words and not words[words.index("DEV") + 1].startswith(("loop", "ram", "zram"))
    )[1]
    named = [(path.replace("DISK", busiest), option, device and device.replace("DISK", busiest), *rest)
             for path, option, device, *rest in FROM_SAR]
    rows = pidstat_rows(pidstat)
    listed = subprocess.run([perfset, "instances", "Process V2", "--log", recording, "--format", "csv"],
                            stdout=subprocess.PIPE, check=True, text=True).stdout
    instances = {row["instance_id"]: row["instance"] for row in csv.DictReader(io.StringIO(listed))}
    named_processes = [(path.format(instances[pid]), pid, column, factor)
                       for path, column, factor in FROM_PIDSTAT for pid in rows]
    samples = recorded(perfset, recording, [path for path, *_ in named] + [path for path, *_ in named_processes])
    compared, worst = 0, 0.0

    def share(path, grown, wanted):
        nonlocal worst
        difference = abs(grown - wanted) / max(wanted, 1)
        print(f"{path}: {grown:.0f}, {wanted:.0f}, {100 * difference:.2f} %")
        if wanted >= FEW * (TICK if "%" in path else 1):
            worst = max(worst, difference)
            if difference > float(most):
                sys.exit(f"{path} grew by {grown:.0f}, the other recorder says {wanted:.0f}")

    for path, option, device, fields, factor in named:
        seconds, bounds = of_sadc(sadc, option, device, fields)
        between, grown, wanted = check_sar(path, samples[path], (seconds, [bound * factor for bound in bounds]))
        if between < 10:
            sys.exit(f"{path}: only {between} samples lie between two of sadc")
        compared += between
        share(path, grown, wanted)
    for path, pid, column, factor in named_processes:
        ends = [float(row["Time"]) for row in rows[pid]]
        wanted, begin = 0.0, ends[0]
        for row, length in zip(rows[pid][1:], (b - a for a, b in zip(ends, ends[1:]))):
            wanted += float(row[column]) * length * factor
        times, values = samples[path]
        share(path, at(times, values, ends[-1]) - at(times, values, begin), wanted)
    print(f"{len(named)} counters of sar: {compared} values lie between two samples; with {len(named_processes)} of "
          f"pidstat: at most {100 * worst:.2f} % apart")


main()
