#!/usr/bin/env python3
"""An independent reader of recordings.

Written from docs/recording-format.md and docs/recording-segments.md alone, and independent of the Rust code, which the
live checks compare with it. It is strict: what a document does not allow ends it.

  recording_reader.py FILE...    print one JSON object for each value: tick, counterset, instance, id, counter, raw

`raw` is null for a cell without a value. Compressed payloads are read by the program `zstd`.
"""

import json
import struct
import subprocess
import sys
import zlib

MASK = (1 << 64) - 1
MISSING, MARKED, COUNTED, COUNTED_AND_MARKED = range(4)
REASON_FIELDS = {3: "uu", 4: "uu", 5: "u", 6: "u", 10: "uu", 13: "t", 14: "t", 15: "t", 18: "u"}


class Cursor:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, n):
        assert self.at + n <= len(self.data), "bytes are missing"
        self.at += n
        return self.data[self.at - n:self.at]

    def byte(self):
        return self.take(1)[0]

    def u32(self):
        return struct.unpack("<I", self.take(4))[0]

    def uint(self):
        number = shift = 0
        while True:
            byte = self.byte()
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number

    def int(self):
        number = self.uint()
        return (number >> 1) ^ -(number & 1)

    def text(self):
        return self.take(self.uint()).decode()

    def optional(self):
        number = self.uint()
        return number - 1 if number else None

    def end(self):
        assert self.at == len(self.data), f"{len(self.data) - self.at} bytes too many"


def plain(codec, stored, raw):
    if codec == 1:
        stored = subprocess.run(["zstd", "-dc"], input=stored, capture_output=True, check=True).stdout
    assert len(stored) == raw, "length of a payload"
    return stored


def state(c):
    kind = c.byte()
    if kind == MISSING:
        reason(c)
    if kind in (COUNTED, COUNTED_AND_MARKED):
        c.uint()
    if kind in (MARKED, COUNTED_AND_MARKED) and c.byte() in (2, 6):
        c.uint()
    return kind


def reason(c):
    for field in REASON_FIELDS.get(c.byte(), ""):
        c.uint() if field == "u" else c.text()


def identity(c):
    name = struct.pack("<" + "H" * (n := c.uint()), *[c.uint() for _ in range(n)]).decode("utf-16-le", "replace")
    key = (name, c.uint(), c.uint())
    return key + (((c.uint(), c.uint()) if c.byte() else None),)


class Table:
    """Rows of a table: identities, values row by row, and the numbers of states by cell."""

    def __init__(self, columns):
        self.columns, self.rows, self.values, self.states = columns, [], [], {}


def definition(c):
    table, _, texts = c.uint(), c.uint(), c.byte()
    c.take(16)
    name = c.text()
    c.uint(), c.take(16), c.text(), c.optional(), c.optional(), c.take(16), c.text()
    counters = []
    for _ in range(c.uint()):
        number, flags, counter = c.uint(), c.uint(), c.text()
        c.uint(), c.uint(), c.uint(), c.int()
        for _ in range(4):
            c.optional()
        c.uint(), c.text(), c.byte(), c.text(), c.text(), c.text(), c.optional()
        counters.append(counter if flags & 1 else f"#{number}")
    columns, following = [], 0
    for _ in range(c.uint()):
        following += c.uint() + 1
        columns.append(counters[following - 1])
    if texts:
        c.text()
        for _ in counters:
            c.text()
        for _ in range(c.uint()):
            c.uint(), c.text(), c.text()
            for _ in range(c.uint()):
                c.uint(), c.text(), c.text()
    c.end()
    return table, (name, columns)


def own_clocks(c):
    if c.byte():
        for _ in range(5):
            c.int()


def cell_states(c, table):
    cell = 0
    for _ in range(c.uint()):
        cell += c.uint()
        number = c.uint()
        if number:
            table.states[cell] = number - 1
        else:
            table.states.pop(cell)
        cell += 1


def contents(c, old):
    form = c.byte()
    if form == 0:
        return old
    if form == 3:
        return reason(c)
    own_clocks(c)
    if form == 2:
        table = Table(c.uint())
        for _ in range(c.uint()):
            table.rows.append(identity(c))
            table.values += [c.uint() for _ in range(table.columns)]
        cell_states(c, table)
        return table
    n, before, table = old.columns, 0, Table(old.columns)

    def keep(count):
        nonlocal before
        for row in range(before, before + count):
            to = len(table.rows)
            table.rows.append(old.rows[row])
            table.values += old.values[row * n:(row + 1) * n]
            for column in range(n):
                if row * n + column in old.states:
                    table.states[to * n + column] = old.states[row * n + column]
        before += count

    for _ in range(c.uint()):
        kept, dropped, inserted = c.uint(), c.uint(), c.uint()
        keep(kept)
        before += dropped
        for _ in range(inserted):
            table.rows.append(identity(c))
            table.values += [c.uint() for _ in range(n)]
    keep(len(old.rows) - before)
    row = 0
    for _ in range(c.uint()):
        row += c.uint()
        bits = int.from_bytes(c.take((n + 7) // 8), "little")
        for column in range(n):
            if bits >> column & 1:
                table.values[row * n + column] = (table.values[row * n + column] + c.int()) & MASK
        row += 1
    cell_states(c, table)
    return table


def clocks(c):
    return [c.int() for _ in range(4)]


def sequence(c, n):
    """Numbers of a segment, by their mode."""
    if not n:
        return []
    return changes(c, c.byte(), c.int(), n)


def changes(c, mode, first, n):
    numbers = [first & MASK]
    if mode == 1:
        numbers *= n
    elif mode == 4:
        body, deltas, at = Cursor(c.take(c.uint())), {}, 0
        while body.at < len(body.data):
            at += body.uint() + 1
            deltas[at] = body.int()
        assert all(at < n for at in deltas)
        for at in range(1, n):
            numbers.append((numbers[-1] + deltas.get(at, 0)) & MASK)
    else:
        assert mode in (2, 3), f"mode {mode}"
        deltas = []
        while len(deltas) < n - 1:
            count, width = min(64, n - 1 - len(deltas)), c.byte()
            bits = int.from_bytes(c.take((count * width + 7) // 8), "little")
            for at in range(count):
                number = bits >> (at * width) & ((1 << width) - 1)
                deltas.append((number >> 1) ^ -(number & 1))
        step = 0
        for delta in deltas:
            step = step + delta if mode == 3 else delta
            numbers.append((numbers[-1] + step) & MASK)
    return numbers


def segment(stored, tables):
    """Yields (sequence, table, Table or None) for each collection, and the list of states."""
    offset, length = struct.unpack("<II", stored[-8:])
    assert offset + length + 8 == len(stored)
    c, place = Cursor(stored[offset:offset + length]), 0

    def stream():
        nonlocal place
        size, codec = c.uint(), c.byte()
        raw = c.uint() if codec else size
        data = stored[place:place + size]
        place += size
        assert zlib.crc32(data) == c.u32(), "checksum of a stream"
        return plain(codec, data, raw)

    assert c.byte() == 1, "layout"
    ticks = c.uint()
    sequences = sequence(c, ticks)
    for _ in range(4):
        sequence(c, ticks)
    found, number = [], 0
    for _ in range(c.uint()):
        number += c.uint()
        c.uint()
        columns, form, collected, held, failed = c.uint(), c.byte(), [], {}, set()
        if form == 1:
            first, distance = c.uint(), c.uint()
            collected = list(range(first, ticks, distance))
        elif form == 2:
            at = 0
            for _ in range(c.uint()):
                at += c.uint() + 1
                collected.append(at - 1)
        for _ in range(c.uint()):
            tick = c.uint()
            held[tick] = c.uint()
            clocks(c)
        collections, at = sorted([*held, *collected]), 0
        for _ in range(c.uint()):
            at += c.uint()
            for _ in range(c.uint()):
                failed.add(collections[at])
                at += 1
            reason(c)
        readings = [tick for tick in collections if tick not in failed]
        runs = Cursor(stream())
        if c.byte():
            stream()
        found.append((number, readings, set(held), runs, [Cursor(stream()) for _ in range(columns)]))
        number += 1
    kinds, states = [], Cursor(stream())
    while states.at < len(states.data):
        kinds.append(state(states))
    c.end()
    for number, readings, held, c, columns in found:
        count = c.uint()
        names = ["".join(map(chr, [c.uint() for _ in range(c.uint())])) for _ in range(count)]
        total, ids, births = 0, [], []
        for _ in range(count):
            ids.append(total := (total + c.int()) & MASK)
        total = 0
        for _ in range(count):
            births.append(total := (total + c.int()) & MASK)
        owners = [(c.uint(), c.uint()) if c.byte() else None for _ in range(count)]
        firsts = [c.uint() for _ in range(count)]
        ends = [len(readings) - c.uint() for _ in range(count)]
        run, places, moved, last = 0, [], {}, 0
        for _ in range(c.uint()):
            run += c.int()
            places.append(run)
        for _ in range(c.uint()):
            last += c.uint()
            moved[last] = c.uint()
            last += 1
        c.end()
        lengths = [end - first for first, end in zip(firsts, ends)]
        cells = [column_values(column, lengths) for column in columns]
        # From which reading on each run is at which place.
        since = {}
        for at, run in enumerate(places):
            since.setdefault(run, []).append((moved.get(at, firsts[run]), at))
        for reading, tick in enumerate(readings):
            if tick in held:
                continue
            rows = [(max(p for p in since[run] if p[0] <= reading)[1], run)
                    for run in range(count) if firsts[run] <= reading < ends[run]]
            table = Table(len(columns))
            for _, run in sorted(rows):
                table.rows.append((names[run], ids[run], births[run], owners[run]))
                for values, numbers in (cells[column][run] for column in range(len(columns))):
                    at = reading - firsts[run]
                    if numbers[at]:
                        table.states[len(table.values)] = numbers[at] - 1
                    table.values.append(values[at])
            yield sequences[tick], number, table, kinds


def column_values(c, lengths):
    """Values and state numbers plus 1 of each run."""
    modes, total, firsts, found = [c.byte() for _ in lengths], 0, [], []
    for mode in modes:
        if mode:
            total = (total + c.int()) & MASK
        firsts.append(total)
    for mode, first, n in zip(modes, firsts, lengths):
        if mode == 0:
            number = c.uint()
            found.append(([0] * n, [number + 1] * n))
            continue
        numbers = sequence(c, n) if mode & 8 else [0] * n
        found.append((changes(c, mode & 7, first, n), numbers))
    c.end()
    return found


def blocks(data):
    at = 0
    while at + 28 <= len(data):
        magic, kind, codec, _, stored, raw, number, crc = struct.unpack("<4sBBHIIQI", data[at:at + 28])
        body = data[at + 28:at + 28 + stored]
        if magic != b"PFS1" or len(body) < stored:
            break
        covered = body[struct.unpack("<I", body[-8:-4])[0]:] if kind == 5 else body
        assert zlib.crc32(data[at:at + 24] + covered) == crc, f"checksum of the block at {at}"
        yield kind, number, body if kind == 5 else plain(codec, body, raw)
        at += (28 + stored + 7) // 8 * 8


def show(tick, name, columns, table, kinds):
    for row, (instance, number, _, _) in enumerate(table.rows):
        for column, counter in enumerate(columns):
            cell = row * table.columns + column
            is_missing = cell in table.states and kinds[table.states[cell]] == MISSING
            raw = None if is_missing else table.values[cell]
            print(json.dumps({"tick": tick, "counterset": name, "instance": instance, "id": number,
                              "counter": counter, "raw": raw}))


def read(file):
    tables, before, kinds = {}, {}, []
    for kind, number, payload in blocks(open(file, "rb").read()):
        c = Cursor(payload)
        if kind == 2:
            table, defined = definition(c)
            tables[table] = defined
        elif kind in (3, 4):
            clocks(c)
            kinds = [] if kind == 3 else kinds
            kinds += [state(c) for _ in range(c.uint())]
            table, collected = 0, []
            for _ in range(c.uint()):
                if kind == 3:
                    table = c.uint()
                    if c.uint():
                        clocks(c)
                    else:
                        collected.append(table)
                else:
                    table += c.uint()
                    collected.append(table)
                body = Cursor(c.take(c.uint()))
                before[table] = contents(body, before.get(table) if kind == 4 else None)
                body.end()
                if kind == 4:
                    table += 1
            c.end()
            for table in collected:
                if before[table] is not None:
                    show(number, *tables[table], before[table], kinds)
        elif kind == 5:
            for tick, table, rows, kinds in segment(payload, tables):
                show(tick, *tables[table], rows, kinds)


for name in sys.argv[1:]:
    read(name)
