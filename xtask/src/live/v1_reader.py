#!/usr/bin/env python3
"""An independent reader of the Windows V1 performance data format.

Written from the public description of the format (the PERF_* structures, the counter types and the
"Counter" name tables), and independent of the Rust code, which the tests cross-check with it.

  v1_reader.py read BLOCK [OLDER] [--names TABLE]   check a block strictly, print its counters
  v1_reader.py names TABLE                          print a name table
  v1_reader.py vectors FILE                         run the counter formulas over a file of vectors

Output is one JSON object a line. A block that breaks a rule of the format is refused with one line on
stderr that names the structure, its offset and the rule, and exit status 1.

The rules, by number:
  R1 88 bytes of header; R2 signature; R3 little-endian; R4 version 1; R5 total length; R6 header length;
  R7 header length a multiple of 8; R8 system name; R9 the objects fill the block exactly; R10 space for
  an object header; R11 lengths of an object; R12 object length a multiple of 8; R13 instance count;
  R14 space for the counter definitions; R15 definition length; R16 space for the instances; R17 space for
  an instance header; R18 instance length; R19 instance name; R20 space for a counter block; R21 counter
  block length; R22 the same a multiple of 8; R23 every value inside its counter block.
"""

import argparse
import codecs
import collections
import csv
import json
import math
import struct
import sys
from fractions import Fraction

# --- Structures on the wire (little-endian, no implicit padding) ---

BLOCK_SIZE = 88
OBJECT_SIZE = 64
DEFINITION_SIZE = 40
INSTANCE_SIZE = 24
COUNTER_BLOCK_SIZE = 4

BLOCK_FORMAT = struct.Struct("<8s6Ii16s4x3Q2I")
OBJECT_FORMAT = struct.Struct("<9I2iI2Q")
DEFINITION_FORMAT = struct.Struct("<5Ii4I")
INSTANCE_FORMAT = struct.Struct("<3Ii2I")
UINT32 = struct.Struct("<I")
UINT64 = struct.Struct("<Q")
DOUBLE = struct.Struct("<d")

SIGNATURE = "PERF".encode("utf-16-le")
NO_INSTANCES = -1
LOWEST_INSTANCE_COUNT = -3
NO_UNIQUE_ID = -1

BlockHeader = collections.namedtuple(
    "BlockHeader",
    "signature little_endian version revision total_length header_length object_count default_object "
    "system_time perf_time perf_freq time_100ns name_length name_offset")
ObjectHeader = collections.namedtuple(
    "ObjectHeader",
    "total_length definition_length header_length title name_title help_index help_title detail "
    "counter_count default_counter instance_count code_page perf_time perf_freq")
Definition = collections.namedtuple(
    "Definition", "length title name_title help_index help_title scale detail type size offset")
InstanceHeader = collections.namedtuple(
    "InstanceHeader", "length parent_title parent_position unique_id name_offset name_length")

# --- What the reader makes of them ---

Block = collections.namedtuple("Block", "header objects")
PerfObject = collections.namedtuple("PerfObject", "header definitions instances")
# data: the bytes of the counter block, its length field included
Instance = collections.namedtuple("Instance", "name parent_title parent_position unique_id data")
NamedInstance = collections.namedtuple("NamedInstance", "full_name occurrence key instance")

# --- What a formula works on ---

Clocks = collections.namedtuple("Clocks", "perf_time perf_freq time_100ns object_time object_freq")
Sample = collections.namedtuple("Sample", "value size base base_size clocks")


class Violation(Exception):
    """A broken rule of the format."""

    def __init__(self, structure, offset, rule, text):
        super().__init__("%s at %d: %s: %s" % (structure, offset, rule, text))


class Place:
    """A structure and its offset: what an error message is about."""

    def __init__(self, structure, offset):
        self.structure = structure
        self.offset = offset

    def check(self, condition, rule, text):
        if not condition:
            raise Violation(self.structure, self.offset, rule, text)

    def unpack(self, layout, data, rule):
        """Unpack at this place, after a check that the bytes are there."""
        self.check(0 <= self.offset and self.offset + layout.size <= len(data), rule,
                   "%d bytes are needed" % layout.size)
        return layout.unpack_from(data, self.offset)


# --- Blocks ---

def read_block(data):
    """Validate a whole block and return it."""
    header = read_block_header(data)
    end = header.total_length
    at = header.header_length
    objects = []
    for _ in range(header.object_count):
        perf_object = read_object(data, at, end)
        objects.append(perf_object)
        at += perf_object.header.total_length
    Place("PERF_DATA_BLOCK", 0).check(
        at == end, "R9", "the objects end at %d, TotalByteLength is %d" % (at, end))
    return Block(header, objects)


def read_block_header(data):
    place = Place("PERF_DATA_BLOCK", 0)
    place.check(len(data) >= BLOCK_SIZE, "R1", "only %d bytes" % len(data))
    header = BlockHeader._make(place.unpack(BLOCK_FORMAT, data, "R1"))
    place.check(header.signature == SIGNATURE, "R2", "wrong signature")
    place.check(header.little_endian == 1, "R3", "LittleEndian is %d" % header.little_endian)
    place.check(header.version == 1, "R4", "Version is %d" % header.version)
    place.check(BLOCK_SIZE <= header.total_length <= len(data), "R5",
                "TotalByteLength is %d, the data has %d bytes" % (header.total_length, len(data)))
    place.check(BLOCK_SIZE <= header.header_length <= header.total_length, "R6",
                "HeaderLength is %d, TotalByteLength %d" % (header.header_length, header.total_length))
    place.check(header.header_length % 8 == 0, "R7",
                "HeaderLength %d is not a multiple of 8" % header.header_length)
    if header.name_length != 0:
        place.check(header.name_offset >= BLOCK_SIZE
                    and header.name_offset + header.name_length <= header.header_length
                    and header.name_length % 2 == 0, "R8",
                    "system name of %d bytes at %d, HeaderLength is %d"
                    % (header.name_length, header.name_offset, header.header_length))
    return header


def read_object(data, at, end):
    place = Place("PERF_OBJECT_TYPE", at)
    place.check(end - at >= OBJECT_SIZE, "R10", "%d bytes left in the block" % (end - at))
    header = ObjectHeader._make(place.unpack(OBJECT_FORMAT, data, "R10"))
    place.check(OBJECT_SIZE <= header.header_length <= header.definition_length
                <= header.total_length <= end - at, "R11",
                "HeaderLength %d, DefinitionLength %d, TotalByteLength %d, bytes left %d"
                % (header.header_length, header.definition_length, header.total_length, end - at))
    place.check(header.total_length % 8 == 0, "R12",
                "TotalByteLength %d is not a multiple of 8" % header.total_length)
    place.check(header.instance_count >= LOWEST_INSTANCE_COUNT, "R13",
                "NumInstances is %d" % header.instance_count)
    room = header.definition_length - header.header_length
    place.check(header.counter_count * DEFINITION_SIZE <= room, "R14",
                "%d counter definitions in %d bytes" % (header.counter_count, room))
    definitions = read_definitions(data, at, header)
    return PerfObject(header, definitions, read_object_data(data, at, header, definitions))


def read_definitions(data, object_at, header):
    definitions = []
    at = object_at + header.header_length
    end = object_at + header.definition_length
    for _ in range(header.counter_count):
        place = Place("PERF_COUNTER_DEFINITION", at)
        place.check(end - at >= DEFINITION_SIZE, "R14", "%d bytes left for the definition" % (end - at))
        definition = Definition._make(place.unpack(DEFINITION_FORMAT, data, "R14"))
        place.check(DEFINITION_SIZE <= definition.length <= end - at, "R15",
                    "ByteLength %d, bytes left %d" % (definition.length, end - at))
        definitions.append(definition)
        at += definition.length
    return definitions


def read_object_data(data, object_at, header, definitions):
    """The instances; an object without instances has one without a name."""
    at = object_at + header.definition_length
    end = object_at + header.total_length
    if header.instance_count == NO_INSTANCES:
        return [Instance("", 0, 0, NO_UNIQUE_ID, read_counter_block(data, at, end, definitions))]
    if header.instance_count <= 0:
        return []  # none now, or an answer without data: what may follow is ignored
    Place("PERF_OBJECT_TYPE", object_at).check(
        header.instance_count * (INSTANCE_SIZE + COUNTER_BLOCK_SIZE) <= end - at, "R16",
        "%d instances in %d bytes" % (header.instance_count, end - at))
    instances = []
    for _ in range(header.instance_count):
        instance, at = read_instance(data, at, end, header.code_page, definitions)
        instances.append(instance)
    return instances


def read_instance(data, at, end, code_page, definitions):
    """One instance with its counter block, and the offset after both."""
    place = Place("PERF_INSTANCE_DEFINITION", at)
    place.check(end - at >= INSTANCE_SIZE, "R17", "%d bytes left in the object" % (end - at))
    header = InstanceHeader._make(place.unpack(INSTANCE_FORMAT, data, "R17"))
    place.check(INSTANCE_SIZE <= header.length <= end - at, "R18",
                "ByteLength %d, bytes left %d" % (header.length, end - at))
    name = b""
    if header.name_length != 0:
        place.check(header.name_offset >= INSTANCE_SIZE
                    and header.name_offset + header.name_length <= header.length
                    and (code_page != 0 or header.name_length % 2 == 0), "R19",
                    "name of %d bytes at %d, ByteLength is %d"
                    % (header.name_length, header.name_offset, header.length))
        start = at + header.name_offset
        name = data[start:start + header.name_length]
    block = read_counter_block(data, at + header.length, end, definitions)
    instance = Instance(decode_name(name, code_page), header.parent_title, header.parent_position,
                        header.unique_id, block)
    return instance, at + header.length + len(block)


def read_counter_block(data, at, end, definitions):
    """The bytes of a counter block, in which every definition's value is known to lie."""
    place = Place("PERF_COUNTER_BLOCK", at)
    place.check(end - at >= COUNTER_BLOCK_SIZE, "R20", "%d bytes left in the object" % (end - at))
    length = place.unpack(UINT32, data, "R20")[0]
    place.check(COUNTER_BLOCK_SIZE <= length <= end - at, "R21",
                "ByteLength %d, bytes left %d" % (length, end - at))
    place.check(length % 8 == 0, "R22", "ByteLength %d is not a multiple of 8" % length)
    for position, definition in enumerate(definitions):
        if has_data(definition):
            place.check(definition.offset >= COUNTER_BLOCK_SIZE
                        and definition.offset + definition.size <= length, "R23",
                        "counter %d: %d bytes at %d, ByteLength is %d"
                        % (position, definition.size, definition.offset, length))
    return data[at:at + length]


# --- Text ---

def decode_name(raw, code_page):
    """An instance name, up to the first NUL."""
    codec = None
    if code_page != 0:
        codec = code_page_codec(code_page)
    if codec is None:  # also what is left to try when the code page is not known here
        return decode_utf16(raw)
    return raw.decode(codec, "replace").split("\0")[0]


def code_page_codec(code_page):
    names = {20127: "ascii", 28591: "latin-1", 65001: "utf-8"}
    name = names.get(code_page, "cp%d" % code_page)
    try:
        codecs.lookup(name)
    except LookupError:
        return None
    return name


def decode_utf16(raw):
    return raw[:len(raw) // 2 * 2].decode("utf-16-le", "replace").split("\0")[0]


# --- Name tables ---

def read_names(data):
    """The (index, text) pairs of a name table in its order, and the remarks on what was skipped."""
    strings, whole = split_strings(data)
    pairs = {}
    remarks = []
    for at in range(0, len(strings) - 1, 2):
        index, text = strings[at], strings[at + 1]
        if index == "" and not any(strings[at:]):
            break  # the extra NUL at the end, perhaps with padding
        if text == "" and whole and at + 2 == len(strings):
            break  # an index without a text, and the extra NUL
        number = parse_index(index)
        if number is None:
            remarks.append("pair at string %d skipped: invalid index %s" % (at, json.dumps(index)))
            continue
        pairs.pop(number, None)  # the last pair of an index wins, in its place
        pairs[number] = text
    return list(pairs.items()), remarks


def split_strings(data):
    """The NUL-terminated strings, and whether the last one is terminated too."""
    units = len(data) // 2
    strings = []
    start = 0
    for unit in range(units):
        if data[2 * unit:2 * unit + 2] == b"\0\0":
            strings.append(decode_utf16(data[2 * start:2 * unit]))
            start = unit + 1
    whole = start == units
    if not whole:
        strings.append(decode_utf16(data[2 * start:2 * units]))
    return strings, whole


def parse_index(text):
    """A decimal index of 32 bits, not 0 (which is never a name), or None."""
    if text == "" or any(c not in "0123456789" for c in text) or len(text.lstrip("0")) > 10:
        return None
    number = int(text)
    return number if 0 < number < 2**32 else None


# --- Counter types ---

SIZE_MASK = 0x00000300
SIZE_ZERO = 0x00000200
TYPE_MASK = 0x00000C00
TYPE_COUNTER = 0x00000400
TYPE_TEXT = 0x00000800
SUBTYPE_MASK = 0x000F0000
VALUE = 0x00000000
RATE = 0x00010000
FRACTION = 0x00020000
BASE = 0x00030000
ELAPSED = 0x00040000
QUEUE_LENGTH = 0x00050000
PRECISION = 0x00070000
CLOCK_MASK = 0x00300000
CLOCK_PERF = 0x00000000
CLOCK_100NS = 0x00100000
CLOCK_OBJECT = 0x00200000
DELTA = 0x00400000
DELTA_BASE = 0x00800000
INVERSE = 0x01000000
MULTI = 0x02000000
MODIFIER_MASK = DELTA | DELTA_BASE | INVERSE | MULTI
DISPLAY_MASK = 0x70000000
PERCENT = 0x20000000
SECONDS = 0x30000000
NO_SHOW = 0x40000000
UNDEFINED_BITS = 0x8C00F000

DOUBLE_RAW = 0x00012000
RAW_NUMBERS = (0x00000000, 0x00000100, 0x00010000, 0x00010100)

PERCENT_RATES = {
    DELTA: "timer",
    DELTA | INVERSE: "timer_inverse",
    DELTA | MULTI: "multi_timer",
    DELTA | INVERSE | MULTI: "multi_timer_inverse",
}
FRACTIONS = {
    (PERCENT, 0): "raw_fraction",
    (PERCENT, DELTA | DELTA_BASE): "sample_fraction",
    (SECONDS, 0): "average_timer",
    (NO_SHOW, 0): "average_bulk",
}
ONE_SAMPLE = {"raw", "double", "raw_fraction", "elapsed"}
WITH_NEW_BASE = {"multi_timer", "multi_timer_inverse", "raw_fraction"}
WITH_BASE_DELTA = {"sample_fraction", "average_timer", "average_bulk", "precision_timer"}
WITH_CLOCK_DELTA = {"rate", "queue_length", "timer", "timer_inverse", "multi_timer", "multi_timer_inverse"}


def is_base(counter_type):
    return counter_type & TYPE_MASK == TYPE_COUNTER and counter_type & SUBTYPE_MASK == BASE


def kind_of(counter_type):
    """The name of the formula of a type, or None for a type that has no value to show.

    Types without a name of their own get a formula when their bits say which.
    """
    if counter_type in RAW_NUMBERS:
        return "raw"
    if counter_type == DOUBLE_RAW:
        return "double"
    if counter_type & TYPE_MASK != TYPE_COUNTER or counter_type & UNDEFINED_BITS:
        return None
    if counter_type & CLOCK_MASK == CLOCK_MASK:
        return None
    subtype = counter_type & SUBTYPE_MASK
    modifiers = counter_type & MODIFIER_MASK
    display = counter_type & DISPLAY_MASK
    if subtype == VALUE:
        return {0: "raw", DELTA: "delta"}.get(modifiers)
    if subtype == RATE and display == PERCENT:
        return PERCENT_RATES.get(modifiers)
    if subtype == RATE:
        return "rate" if modifiers == DELTA else None
    if subtype == FRACTION:
        return FRACTIONS.get((display, modifiers))
    if subtype == ELAPSED:
        return "elapsed" if modifiers == 0 else None
    if subtype == QUEUE_LENGTH:
        return "queue_length" if modifiers == DELTA else None
    if subtype == PRECISION:
        return "precision_timer" if modifiers == DELTA and display == PERCENT else None
    return None


# --- Formulas ---

NOT_DISPLAYABLE = ("not_displayable", None)
NEEDS_TWO_SAMPLES = ("needs_two_samples", None)
MISSING_BASE = ("missing_base", None)
NEGATIVE_VALUE = ("negative_value", None)
NEGATIVE_DENOMINATOR = ("negative_denominator", None)
NEGATIVE_TIMEBASE = ("negative_timebase", None)


def evaluate(counter_type, new, old, wrap=False):
    """Status and exact value of a counter, from its newer sample and perhaps an older one."""
    kind = kind_of(counter_type)
    if kind is None or new.value is None:
        return NOT_DISPLAYABLE
    if kind in ONE_SAMPLE:
        return evaluate_one(kind, counter_type, new)
    if old is None or old.value is None:
        return NEEDS_TWO_SAMPLES
    if kind in WITH_NEW_BASE and new.base is None:
        return MISSING_BASE
    if kind in WITH_BASE_DELTA and (new.base is None or old.base is None):
        return MISSING_BASE
    return evaluate_two(kind, counter_type, new, old, wrap)


def evaluate_one(kind, counter_type, new):
    if kind == "raw":
        return ("ok", Fraction(new.value))
    if kind == "double":
        return evaluate_double(new)
    if kind == "elapsed":
        return evaluate_elapsed(counter_type, new)
    if new.base is None:
        return MISSING_BASE
    if new.base == 0:
        return ("ok", Fraction(0))
    return ("ok", Fraction(100 * new.value, new.base))


def evaluate_double(new):
    if new.size != UINT64.size:
        return NOT_DISPLAYABLE
    value = DOUBLE.unpack(UINT64.pack(new.value))[0]
    return ("ok", Fraction(value)) if math.isfinite(value) else NOT_DISPLAYABLE


def evaluate_elapsed(counter_type, new):
    time, frequency = clock_of(counter_type, new.clocks)
    if frequency <= 0:
        return NEGATIVE_TIMEBASE
    if new.value == 0:
        return ("ok", Fraction(0))
    if new.value > time:
        return NEGATIVE_VALUE
    return ("ok", Fraction(time - new.value, frequency))


def evaluate_two(kind, counter_type, new, old, wrap):
    """The checks in their order, then the formula."""
    change = difference(new.value, old.value, new.size, old.size, wrap)
    if change < 0:
        return NEGATIVE_VALUE
    if kind == "delta":
        return ("ok", Fraction(change))
    time, frequency = clock_of(counter_type, new.clocks)
    ticks = time - clock_of(counter_type, old.clocks)[0]
    base = new.base
    if kind in WITH_CLOCK_DELTA and ticks <= 0:
        return NEGATIVE_DENOMINATOR
    if kind in WITH_BASE_DELTA:
        base = difference(new.base, old.base, new.base_size, old.base_size, wrap)
        if base < 0 or (base == 0 and kind == "precision_timer"):
            return NEGATIVE_DENOMINATOR
    if kind == "average_timer":
        frequency = new.clocks.perf_freq
    if uses_frequency(kind, counter_type) and frequency <= 0:
        return NEGATIVE_TIMEBASE
    if base == 0 and kind in WITH_NEW_BASE | WITH_BASE_DELTA:
        return ("ok", Fraction(0))
    return ("ok", formula(kind, uses_frequency(kind, counter_type), change, ticks, frequency, base))


def uses_frequency(kind, counter_type):
    """Whether the formula divides by a frequency (of the multi timers only the one in ticks does)."""
    if kind == "multi_timer":
        return counter_type & CLOCK_MASK == CLOCK_PERF
    return kind in ("rate", "average_timer")


def formula(kind, in_seconds, change, ticks, frequency, base):
    """The value; base is a difference or, for the multi timers, the newest base."""
    if kind == "rate":
        return Fraction(change * frequency, ticks)
    if kind == "queue_length":
        return Fraction(change, ticks)
    if kind == "timer":
        return Fraction(100 * change, ticks)
    if kind == "timer_inverse":
        return 100 * (1 - Fraction(change, ticks))
    if kind == "multi_timer":
        return Fraction(100 * change * (frequency if in_seconds else 1), ticks * base)
    if kind == "multi_timer_inverse":
        return 100 * (base - Fraction(change, ticks))
    if kind == "average_timer":
        return Fraction(change, frequency * base)
    if kind == "average_bulk":
        return Fraction(change, base)
    return Fraction(100 * change, base)  # sample_fraction, precision_timer


def difference(new, old, new_size, old_size, wrap):
    """New minus old; with wrap, of 4-byte values modulo 2^32, and -1 for a reset."""
    change = new - old
    if wrap and new_size == UINT32.size and old_size == UINT32.size:
        change %= 2**32
        return change if change < 2**31 else -1
    return change


def clock_of(counter_type, clocks):
    """Time and frequency of the clock that the bits of the type choose."""
    clock = counter_type & CLOCK_MASK
    if clock == CLOCK_100NS:
        return clocks.time_100ns, 10000000
    if clock == CLOCK_OBJECT:
        return clocks.object_time, clocks.object_freq
    return clocks.perf_time, clocks.perf_freq


# --- Values of a block ---

def has_data(definition):
    return definition.size != 0 and definition.type & SIZE_MASK != SIZE_ZERO


def raw_value(definition, data):
    """The number in a counter block, or None: the size of the definition decides."""
    if not has_data(definition) or definition.type & TYPE_MASK == TYPE_TEXT:
        return None
    return unsigned_at(data, definition.offset, definition.size)


def unsigned_at(data, offset, size):
    layout = {4: UINT32, 8: UINT64}.get(size)
    if layout is None or offset + size > len(data):
        return None
    return layout.unpack_from(data, offset)[0]


def base_of(perf_object, position):
    """The next definition if that is a base."""
    if position + 1 < len(perf_object.definitions):
        following = perf_object.definitions[position + 1]
        if is_base(following.type):
            return following
    return None


def sample_of(block, perf_object, position, instance):
    definition = perf_object.definitions[position]
    base = base_of(perf_object, position)
    clocks = Clocks(block.header.perf_time, block.header.perf_freq, block.header.time_100ns,
                    perf_object.header.perf_time, perf_object.header.perf_freq)
    if base is not None:
        base_value, base_size = raw_value(base, instance.data), base.size
    else:
        base_value, base_size = count_after_value(perf_object, definition, instance.data), UINT32.size
    return Sample(raw_value(definition, instance.data), definition.size, base_value, base_size, clocks)


def count_after_value(perf_object, definition, data):
    """The instance count of a multi timer without a base: the 4 bytes directly after its 8-byte value.

    They must lie in the block and belong to no other counter.
    """
    if kind_of(definition.type) not in ("multi_timer", "multi_timer_inverse") or definition.size != 8:
        return None
    start = definition.offset + definition.size
    end = start + UINT32.size
    for other in perf_object.definitions:
        if has_data(other) and other.offset < end and start < other.offset + other.size:
            return None
    return unsigned_at(data, start, UINT32.size)


# --- Instances: full names and pairing ---

def objects_by_title(block):
    """Objects by title index; the first one counts."""
    found = {}
    for perf_object in block.objects:
        found.setdefault(perf_object.header.title, perf_object)
    return found


def full_name(instance, objects):
    """parent/child if the parent is in the block, else the bare name."""
    parent = objects.get(instance.parent_title) if instance.parent_title != 0 else None
    if parent is None or parent.header.instance_count == NO_INSTANCES:
        return instance.name
    if instance.parent_position >= len(parent.instances):
        return instance.name
    return parent.instances[instance.parent_position].name + "/" + instance.name


def named_instances(perf_object, objects):
    """The instances with their full names, their occurrences, and the keys to pair them by."""
    name_counts = collections.Counter()
    id_counts = collections.Counter()
    result = []
    for instance in perf_object.instances:
        name = full_name(instance, objects)
        occurrence = name_counts[name]
        name_counts[name] += 1
        key = ("name", name, occurrence)
        if instance.unique_id != NO_UNIQUE_ID:
            key = ("id", instance.unique_id, id_counts[instance.unique_id])
            id_counts[instance.unique_id] += 1
        result.append(NamedInstance(name, occurrence, key, instance))
    return result


class Older:
    """The older block, searched by object, instance and counter."""

    def __init__(self, block):
        self.block = block
        self.objects = objects_by_title(block)
        self.instances = {
            title: {named.key: named.instance for named in named_instances(perf_object, self.objects)}
            for title, perf_object in self.objects.items()}

    def instance(self, title, key):
        return self.instances.get(title, {}).get(key)

    def sample(self, title, position, definition, instance):
        """The sample of the same counter, or None if there is no such counter."""
        perf_object = self.objects[title]
        if position >= len(perf_object.definitions):
            return None
        same = perf_object.definitions[position]
        if same.title != definition.title or same.type != definition.type:
            return None
        return sample_of(self.block, perf_object, position, instance)


# --- Commands ---

def counter_lines(block, older, names):
    """One dictionary for every counter that is not a base, of every instance of every object."""
    objects = objects_by_title(block)
    for perf_object in block.objects:
        title = perf_object.header.title
        for named in named_instances(perf_object, objects):
            old_instance = older.instance(title, named.key) if older else None
            for position, definition in enumerate(perf_object.definitions):
                if is_base(definition.type):
                    continue
                new = sample_of(block, perf_object, position, named.instance)
                old = None
                if old_instance is not None:
                    old = older.sample(title, position, definition, old_instance)
                status, value = evaluate(definition.type, new, old)
                if status == "needs_two_samples" and older and old_instance is None:
                    status = "new_instance"
                yield {
                    "object": title,
                    "object_name": names.get(title),
                    "instance": named.full_name,
                    "occurrence": named.occurrence,
                    "position": position,
                    "counter": definition.title,
                    "counter_name": names.get(definition.title),
                    "type": definition.type,
                    "raw": new.value,
                    "base": new.base if base_of(perf_object, position) else None,
                    "value": None if value is None else float(value),
                    "status": status,
                }


def read_file(path):
    with open(path, "rb") as file:
        return file.read()


def report_remarks(remarks):
    for remark in remarks:
        print("name table: " + remark, file=sys.stderr)


def command_read(arguments):
    names = {}
    if arguments.names is not None:
        pairs, remarks = read_names(read_file(arguments.names))
        report_remarks(remarks)
        names = dict(pairs)
    try:
        block = read_block(read_file(arguments.block))
    except Violation as violation:
        print(violation, file=sys.stderr)
        return 1
    older = None
    if arguments.older is not None:
        try:
            older = Older(read_block(read_file(arguments.older)))
        except Violation as violation:
            print("%s (in the older block)" % violation, file=sys.stderr)
            return 1
    for line in counter_lines(block, older, names):
        print(json.dumps(line))
    return 0


def command_names(arguments):
    pairs, remarks = read_names(read_file(arguments.table))
    report_remarks(remarks)
    for index, text in pairs:
        print(json.dumps({"index": index, "text": text}))
    return 0


def command_vectors(arguments):
    count = mismatches = 0
    with open(arguments.file, newline="", encoding="utf-8", errors="replace") as file:
        for row in csv.DictReader(file):
            count += 1
            status, value = evaluate_vector(row)
            if not vector_agrees(row, status, value):
                mismatches += 1
                print("%s: expected %s %s, got %s %s"
                      % (row["id"], row["status"], row["value_exact"], status, value))
    print("%d vectors, %d mismatches" % (count, mismatches))
    return 1 if mismatches or not count else 0


def evaluate_vector(row):
    new = vector_sample(row, "1")
    old = vector_sample(row, "0") if row["samples"] == "2" else None
    return evaluate(int(row["type_hex"], 16), new, old, row["wrap32"] == "1")


def vector_sample(row, which):
    clocks = Clocks(int(row["perf_time" + which]), int(row["perf_freq"]), int(row["time100ns" + which]),
                    int(row["obj_time" + which]), int(row["obj_freq"]))
    base = row["b" + which]
    base_size = 8 if kind_of(int(row["type_hex"], 16)) == "precision_timer" else 4
    return Sample(int(row["n" + which]), int(row["n_size"]), int(base) if base else None, base_size, clocks)


def vector_agrees(row, status, value):
    if status != row["status"]:
        return False
    if value is None:
        return row["value_exact"] == "" and row["value_raw"] == ""
    return (value == Fraction(row["value_exact"])
            and math.isclose(float(value), float(row["value_raw"]), rel_tol=1e-12))


def parse_arguments():
    parser = argparse.ArgumentParser(description="Independent reader of V1 performance data.")
    commands = parser.add_subparsers(dest="command", required=True)
    read = commands.add_parser("read", help="check a block and print its counters")
    read.add_argument("block", metavar="BLOCK")
    read.add_argument("older", metavar="OLDER", nargs="?")
    read.add_argument("--names", metavar="TABLE")
    read.set_defaults(run=command_read)
    names = commands.add_parser("names", help="print a name table")
    names.add_argument("table", metavar="TABLE")
    names.set_defaults(run=command_names)
    vectors = commands.add_parser("vectors", help="run the formulas over a file of vectors")
    vectors.add_argument("file", metavar="FILE")
    vectors.set_defaults(run=command_vectors)
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    try:
        return arguments.run(arguments)
    except OSError as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
