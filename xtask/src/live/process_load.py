"""Does work of a known size when told so on its input, and says so: a load for the check of processes.

Each line of input is a word and a number. What the answer itself costs is one write of 5 bytes.
"""
import mmap
import os
import sys
import threading
import time

files, kept, stops = [], [], []


def faults(pages):
    size = mmap.PAGESIZE
    area = mmap.mmap(-1, pages * size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    area.madvise(mmap.MADV_NOHUGEPAGE)
    for page in range(pages):
        area[page * size] = 7
    kept.append(area)


def burn(milliseconds):
    until = time.thread_time() + milliseconds / 1e3
    while time.thread_time() < until:
        pass


def begin_thread(_):
    stop = threading.Event()
    stops.append(stop)
    threading.Thread(target=stop.wait, daemon=True).start()


def switches(count):
    for _ in range(count):
        time.sleep(1e-3)  # one that is over before it begins is no switch


def store(mebibytes):
    with open(sys.argv[1], "wb", buffering=0) as file:
        for _ in range(mebibytes):
            file.write(b"7" * (1 << 20))
        os.fsync(file.fileno())


def end_thread_that_burned(milliseconds):
    thread = threading.Thread(target=burn, args=(milliseconds,))
    thread.start()
    thread.join()


WORK = {
    "faults": faults,
    "burn": burn,
    "burn_in_a_thread": end_thread_that_burned,
    "switches": switches,
    "write": lambda size: os.write(null, b"7" * size),
    "writes": lambda count: [os.write(null, b"7") for _ in range(count)],
    "read": lambda size: os.read(zero, size),
    "open": lambda count: files.extend(open("/dev/null") for _ in range(count)),
    "threads": lambda count: [begin_thread(None) for _ in range(count)],
    "nice": os.nice,
    "store": store,
    "nothing": lambda _: None,
}
null, zero = os.open("/dev/null", os.O_WRONLY), os.open("/dev/zero", os.O_RDONLY)
# Unbuffered: reading ahead would be counted with other work.
while line := os.read(0, 100):
    word, number = line.split()
    WORK[word.decode()](int(number))
    os.write(1, b"done\n")
