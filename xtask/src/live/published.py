"""Counters in shared memory by docs/shm-layout.md alone: it must not be written after the Rust code.

    published.py read FILE      prints what a file publishes: counterset, instance, id, counter id, value; tab-separated
    published.py write FOLDER   publishes a counterset of its own until the input ends, counting each line of it
"""
import ctypes
import fcntl
import mmap
import os
import struct
import sys
import time
import uuid

MAGIC = b"PERFSET\x01"


class Words:
    """Words of a mapping, loaded and stored whole."""

    def __init__(self, file, at, length, writable=False):
        access = mmap.PROT_READ | (mmap.PROT_WRITE if writable else 0)
        # ctypes takes memory that can be written to only; a private mapping of a file that is only read is.
        flags = mmap.MAP_SHARED if writable else mmap.MAP_PRIVATE
        self.map = mmap.mmap(file, length, flags, access | mmap.PROT_WRITE, offset=at)
        self.words = (ctypes.c_uint64 * (length // 8)).from_buffer(self.map)

    def __getitem__(self, at):
        return self.words[at // 8]

    def __setitem__(self, at, value):
        self.words[at // 8] = value & 0xFFFFFFFFFFFFFFFF

    def bytes(self, at, length):
        return self.map[at : at + length]

    def put(self, at, data):
        self.map[at : at + len(data)] = data


def utf16(data):
    text = data.decode("utf-16-le")
    return text[: text.index("\0")]


def parts(definition):
    at, found = 0, {}
    while at < len(definition):
        number, length = struct.unpack_from("<II", definition, at)
        found[number] = definition[at + 8 : at + 8 + length]
        at += 8 + (length + 7) // 8 * 8
    return found


def read(path):
    file = os.open(path, os.O_RDONLY)
    lock = struct.pack("hhqqi", fcntl.F_RDLCK, 0, 0, 1, 0)
    lock = fcntl.fcntl(file, 36, lock)  # F_OFD_GETLK
    if struct.unpack("hhqqi", lock)[0] == fcntl.F_UNLCK:
        sys.exit("its program does not live")
    header = Words(file, 0, 8192)
    if header.bytes(0, 8) != MAGIC or header[8] != 8192:
        sys.exit("no such file")
    table = [[header[4096 + 32 * n + 8 * k] for k in range(4)] for n in range(header[200])]
    definitions = {}
    for number, (at, length, kind, _) in enumerate(table):
        if kind == 1:
            segment = Words(file, at, length)
            definitions[number] = parts(segment.bytes(8, segment[0]))
    rows = []
    for at, length, kind, counterset in table:
        if kind != 2:
            continue
        definition = definitions[counterset]
        struct_info = definition[1]
        guid, count = struct_info[:16], struct.unpack_from("<I", struct_info, 24)[0]
        counters = [struct.unpack_from("<II", struct_info, 32 + 48 * n) for n in range(count)]
        segment = Words(file, at, length)
        slots, of_each, stride, row, stripes = (segment[8 * n] for n in range(5))
        assert of_each == count
        blocks = (64 + 8 * slots + 63) // 64 * 64
        stripe_rows = (blocks + stride * slots + 63) // 64 * 64
        for slot in range(slots):
            sequence = segment[64 + 8 * slot]
            if sequence == 0 or sequence % 2:
                continue
            block = blocks + stride * slot
            header_bytes = segment.bytes(block, 32)
            assert header_bytes[:16] == guid
            size, instance_id, name_at, name_len = struct.unpack_from("<IIII", header_bytes, 16)
            assert name_at == 32 + 8 * count and name_at + name_len <= size <= stride
            name = utf16(segment.bytes(block + name_at, name_len))
            for n, (counter, kind_of) in enumerate(counters):
                value = segment[block + 32 + 8 * n]
                for stripe in range(stripes):
                    value += segment[stripe_rows + row * (stripes * slot + stripe) + 8 * n]
                is_short = kind_of & 0x300 == 0 and kind_of != 0x30020400
                value &= 0xFFFFFFFF if is_short else 0xFFFFFFFFFFFFFFFF
                rows.append((sequence, utf16(definition[3]), name, instance_id, counter, value))
    for _, *row in sorted(rows, key=lambda row: row[0]):
        print(*row, sep="\t")


def write(folder):
    project = uuid.UUID("2fc4282c-29b6-4c65-910d-118bc1587ebd")
    provider = uuid.uuid5(project, "Python")
    guid = uuid.uuid5(provider, "Python Lines")
    # Lines: PERF_COUNTER_LARGE_RAWCOUNT; Lines/sec: PERF_COUNTER_BULK_COUNT.
    counters = [(1, 0x00010100), (2, 0x10410500)]
    info = guid.bytes_le + struct.pack("<IIII", 0, 100, len(counters), 2)
    for counter, kind in counters:
        info += struct.pack("<IIQIiIIIIII", counter, kind, 0, 100, 0, *[0xFFFFFFFF] * 4, 0, 0)
    text = lambda t: (t + "\0").encode("utf-16-le")
    names = [text("Lines"), text("Lines/sec")]
    at, offsets = 8 + 8 * len(counters), []
    for name in names:
        offsets.append(at)
        at += len(name)
    strings = b"".join(struct.pack("<II", c, o) for (c, _), o in zip(counters, offsets)) + b"".join(names)
    size = (8 + len(strings) + 7) // 8 * 8
    strings = (struct.pack("<II", size, len(counters)) + strings).ljust(size, b"\0")
    definition = b""
    for number, body in [(1, info), (3, text("Python Lines")), (4, text("Lines of the input.")), (5, strings),
                         (7, text("Python")), (8, provider.bytes_le)]:
        definition += (struct.pack("<II", number, len(body)) + body).ljust(8 + (len(body) + 7) // 8 * 8, b"\0")

    locked = os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    os.posix_fallocate(locked, 0, 8192 + 4096 + 4096)
    fcntl.fcntl(locked, 37, struct.pack("hhqqi", fcntl.F_WRLCK, 0, 0, 1, 0))  # F_OFD_SETLK
    mapped = os.open(f"/proc/self/fd/{locked}", os.O_RDWR | os.O_CLOEXEC)
    header = Words(mapped, 0, 8192, True)
    header[8] = 8192
    header.put(24, os.urandom(16))
    header[40] = os.getpid()
    header[48] = os.stat("/proc/self/ns/pid").st_ino
    header[56] = int(open("/proc/self/stat").read().rsplit(")", 1)[1].split()[19])
    header.put(64, uuid.UUID(open("/proc/sys/kernel/random/boot_id").read().strip()).bytes_le)
    header[80] = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    header[256] = 6
    header.put(264, b"python")
    segment = Words(mapped, 8192, 4096, True)
    segment.put(8, definition)
    segment[0] = len(definition)
    for n, value in enumerate([8192, 4096, 1, 0, 8192 + 4096, 4096, 2, 0]):
        header[4096 + 8 * n] = value
    instances = Words(mapped, 8192 + 4096, 4096, True)
    for n, value in enumerate([4, 2, 128, 0, 0]):
        instances[8 * n] = value
    name = text("input")
    block = guid.bytes_le + struct.pack("<IIII", 32 + 16 + 16, 7, 48, len(name)) + bytes(16) + name
    instances.put(128, block)
    instances[64] = 2
    header[128] = 2
    header[192] = 8192 + 4096 + 4096
    header[200] = 2
    header.put(0, MAGIC)
    name = f"{folder}/{os.getpid()}-{os.urandom(8).hex()}.pfs"
    descriptors = os.open("/proc/self/fd", os.O_RDONLY)  # without it link() is called, which follows no links
    os.link(str(locked), name, src_dir_fd=descriptors, follow_symlinks=True)
    print("ready", flush=True)
    for count, _ in enumerate(sys.stdin, 1):
        instances[128 + 32] = count
        instances[128 + 40] = count
        print(count, flush=True)


{"read": read, "write": write}[sys.argv[1]](sys.argv[2])
