/* Where formatted output goes: a buffer that may be too small, or a stream, which gets UTF-8.
 *
 * A stream that the program has used with wide functions of its own, such as std::wcout, takes no bytes any more. It
 * gets characters, which the C library writes by the rules of the locale.
 */
#include "internal.h"

#include <errno.h>
#include <limits.h>
#include <wchar.h>

void perflib_sink_buffer(struct perflib_sink *sink, unsigned unit, void *buffer, size_t room)
{
    sink->unit = unit;
    sink->failed = sink->is_strict = sink->has_own_long = false;
    sink->count = 0;
    sink->next = buffer;
    sink->room = room;
    sink->stream = NULL;
    sink->high = 0;
    sink->used = 0;
}

void perflib_sink_stream(struct perflib_sink *sink, unsigned unit, FILE *stream)
{
    perflib_sink_buffer(sink, unit, NULL, 0);
    sink->stream = stream;
}

static void fail(struct perflib_sink *sink, int error)
{
    if (!sink->failed) errno = error;
    sink->failed = true;
}

/* What is returned is an int; so a longer text fails, and fails before it is written. */
static bool is_countable(struct perflib_sink *sink, uint64_t count)
{
    if (sink->failed) return false;
    if (count > (uint64_t)INT_MAX - sink->count) {
        fail(sink, EOVERFLOW);
        return false;
    }
    sink->count += count;
    return true;
}

/* Writes the characters of UTF-8, and returns how many bytes are left: the beginning of one that is yet to come. */
static size_t write_characters(struct perflib_sink *sink, const char *bytes, size_t count, bool is_end)
{
    while (count > 0 && !sink->failed) {
        struct perflib_character character = perflib_text_read(bytes, count, 1);
        if (character.cut && !is_end) break;
        if (fputwc((wchar_t)character.code, sink->stream) == WEOF) sink->failed = true;
        bytes += character.units;
        count -= character.units;
    }
    return sink->failed ? 0 : count;
}

static size_t write_out(struct perflib_sink *sink, const char *bytes, size_t count, bool is_end)
{
    if (count == 0 || sink->failed) return 0;
    if (fwide(sink->stream, 0) > 0) return write_characters(sink, bytes, count, is_end);
    /* The stream has said why in errno. */
    if (fwrite(bytes, 1, count, sink->stream) != count) sink->failed = true;
    return 0;
}

static void flush(struct perflib_sink *sink, bool is_end)
{
    size_t left = write_out(sink, sink->bytes, sink->used, is_end);
    memmove(sink->bytes, sink->bytes + sink->used - left, left);
    sink->used = left;
}

static void put_bytes(struct perflib_sink *sink, const char *bytes, size_t count)
{
    while (count > 0 && !sink->failed) {
        if (count > sizeof sink->bytes - sink->used) flush(sink, false);
        if (sink->used == 0 && count > sizeof sink->bytes) {
            size_t left = write_out(sink, bytes, count, false);
            bytes += count - left;
            count = left;
        }
        size_t room = sizeof sink->bytes - sink->used;
        size_t fits = count < room ? count : room;
        memcpy(sink->bytes + sink->used, bytes, fits);
        sink->used += fits;
        bytes += fits;
        count -= fits;
    }
}

static void put_code(struct perflib_sink *sink, uint32_t code)
{
    char bytes[4];
    put_bytes(sink, bytes, perflib_text_write(bytes, 1, code));
}

/* One unit of wide text; the halves of a pair may come from two directives. */
static void put_unit(struct perflib_sink *sink, uint32_t unit)
{
    bool is_low = sink->unit == 2 && unit >= 0xDC00 && unit <= 0xDFFF;
    if (sink->high != 0) {
        uint32_t high = sink->high;
        sink->high = 0;
        if (is_low) {
            put_code(sink, 0x10000 + ((high - 0xD800) << 10) + (unit - 0xDC00));
            return;
        }
        put_code(sink, PERFLIB_REPLACEMENT);
    }
    if (sink->unit == 2 && unit >= 0xD800 && unit <= 0xDBFF)
        sink->high = unit;
    else
        put_code(sink, unit);
}

void perflib_sink_put(struct perflib_sink *sink, const void *units, size_t count)
{
    if (!is_countable(sink, count)) return;
    if (sink->stream == NULL) {
        size_t fits = count < sink->room ? count : sink->room;
        if (fits == 0) return;
        memcpy(sink->next, units, fits * sink->unit);
        sink->next = (char *)sink->next + fits * sink->unit;
        sink->room -= fits;
    } else if (sink->unit == 1) {
        put_bytes(sink, units, count);
    } else {
        for (size_t index = 0; index < count && !sink->failed; index++)
            put_unit(sink, perflib_text_unit(units, index, sink->unit));
    }
}

void perflib_sink_ascii(struct perflib_sink *sink, const char *text, size_t count)
{
    if (sink->unit == 1) {
        perflib_sink_put(sink, text, count);
        return;
    }
    for (size_t index = 0; index < count; index++) perflib_sink_character(sink, (unsigned char)text[index]);
}

void perflib_sink_character(struct perflib_sink *sink, uint32_t code)
{
    uint32_t units[4];
    unsigned count = perflib_text_write(units, sink->unit, code);
    perflib_sink_put(sink, units, count);
}

void perflib_sink_repeat(struct perflib_sink *sink, char what, uint64_t count)
{
    if (count == 0 || !is_countable(sink, count)) return;
    if (sink->stream == NULL) {
        size_t fits = count < sink->room ? (size_t)count : sink->room;
        sink->room -= fits;
        for (; fits > 0; fits--) {
            perflib_text_write(sink->next, sink->unit, (unsigned char)what);
            sink->next = (char *)sink->next + sink->unit;
        }
        return;
    }
    if (sink->high != 0) {
        put_code(sink, PERFLIB_REPLACEMENT);
        sink->high = 0;
    }
    for (; count > 0 && !sink->failed; count--) put_bytes(sink, &what, 1);
}

int perflib_sink_finish(struct perflib_sink *sink)
{
    if (sink->stream != NULL) {
        if (sink->high != 0) put_code(sink, PERFLIB_REPLACEMENT);
        sink->high = 0;
        /* What came before a directive that is refused stands; only the result says that something is wrong. */
        int error = errno;
        bool failed = sink->failed;
        sink->failed = false;
        flush(sink, true);
        if (failed) errno = error;
        sink->failed |= failed;
    }
    return sink->failed ? -1 : (int)sink->count;
}
