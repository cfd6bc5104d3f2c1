"""Works at an even pace until its input ends: `cpu` a third of a second in each, `disk` 2 MiB a second, `mem` 8 MiB of
new pages a second."""
import mmap
import os
import select
import sys
import time


def cpu():
    until = time.process_time() + 0.06
    while time.process_time() < until:
        pass
    return 0.12


def disk():
    with open(sys.argv[2], "wb") as file:
        file.write(os.urandom(1 << 20) * 2)
        file.flush()
        os.fsync(file.fileno())
    return 1


def mem():
    with mmap.mmap(-1, 8 << 20) as area:
        for at in range(0, len(area), mmap.PAGESIZE):
            area[at] = 1
    return 1


work = {"cpu": cpu, "disk": disk, "mem": mem}[sys.argv[1]]
while not select.select([sys.stdin], [], [], work())[0]:
    pass
