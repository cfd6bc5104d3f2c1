/* What the sources of the support library share. Nothing here is visible to programs.
 *
 * The library is compiled once and serves programs with 2-byte and with 4-byte wchar_t. So no source uses wchar_t: wide
 * text has units of 2 or 4 bytes, and functions exist twice, the second time with the suffix _utf32. Sources named
 * *_units.h are included once for each size of unit by the source of the same name.
 *
 * Narrow text is UTF-8 everywhere. A byte or a unit that is no part of a character counts as U+FFFD.
 */
#ifndef PERFLIB_WINDOWS_INTERNAL_H
#define PERFLIB_WINDOWS_INTERNAL_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Every program has a copy of its own, so that two of them in one process do not meet. */
#pragma GCC visibility push(hidden)

/* What Windows says of errors, as far as it is needed here. */
enum {
    PERFLIB_NO_ERROR = 0,
    PERFLIB_NOT_ENOUGH_MEMORY = 8,
    PERFLIB_INVALID_PARAMETER = 87,
    PERFLIB_BUFFER_OVERFLOW = 111,
    PERFLIB_INSUFFICIENT_BUFFER = 122,
    PERFLIB_INVALID_FLAGS = 1004,
    PERFLIB_NO_UNICODE_TRANSLATION = 1113
};

/* What the functions of strsafe.h answer. */
#define PERFLIB_E_INVALID ((int32_t)0x80070057)
#define PERFLIB_E_BUFFER ((int32_t)0x8007007A)

#define PERFLIB_REPLACEMENT 0xFFFDu

/* As MS C's: what _TRUNCATE is, and what is returned when it was of use. */
#define PERFLIB_TRUNCATE SIZE_MAX
#define PERFLIB_STRUNCATE 80

/* text.c */

/* One character read from text: how many units it took, and whether they were well formed. */
struct perflib_character {
    uint32_t code;
    unsigned units;
    bool valid;
    bool cut; /* not valid, but a beginning: the end of the text came too early */
};

/* Reads the character at the start of `count` units of text, `count` at least 1; a unit has `unit` bytes, 1, 2 or 4. */
struct perflib_character perflib_text_read(const void *text, size_t count, unsigned unit);

/* Writes a character and returns how many units it has, at most 4. What is no character becomes U+FFFD. */
unsigned perflib_text_write(void *units, unsigned unit, uint32_t code);

/* The unit at `index`, without sign. Text in a block of performance data may lie at any address. */
static inline uint32_t perflib_text_unit(const void *text, size_t index, unsigned unit)
{
    if (unit == 1) return ((const unsigned char *)text)[index];
    if (unit == 2) {
        uint16_t half;
        memcpy(&half, (const char *)text + 2 * index, sizeof half);
        return half;
    }
    uint32_t whole;
    memcpy(&whole, (const char *)text + 4 * index, sizeof whole);
    return whole;
}

/* Units before the terminator, at most `limit`; never reads beyond that. */
size_t perflib_text_length(const void *text, size_t limit, unsigned unit);

/* sink.c */

/* Where formatted output goes. Counts what it is given, whether or not there is room for it. */
struct perflib_sink {
    unsigned unit;
    bool failed; /* errno says why */
    bool is_strict;    /* a directive that does not exist is an error */
    bool has_own_long; /* l before an integer means the long of this system */
    uint64_t count;

    /* A buffer: `room` units from `next`. */
    void *next;
    size_t room;

    /* Or a stream, which gets UTF-8, or characters once the program has made it wide. */
    FILE *stream;
    uint32_t high; /* high surrogate that waits for its other half */
    size_t used;
    char bytes[512];
};

void perflib_sink_buffer(struct perflib_sink *sink, unsigned unit, void *buffer, size_t room);
void perflib_sink_stream(struct perflib_sink *sink, unsigned unit, FILE *stream);
void perflib_sink_put(struct perflib_sink *sink, const void *units, size_t count);
void perflib_sink_ascii(struct perflib_sink *sink, const char *text, size_t count);
void perflib_sink_repeat(struct perflib_sink *sink, char what, uint64_t count);
void perflib_sink_character(struct perflib_sink *sink, uint32_t code);

/* Writes out what is left and returns the number of units, or -1 and errno. */
int perflib_sink_finish(struct perflib_sink *sink);

/* format.c */

/* Writes `format`, in units of the sink, with its arguments. Wide arguments of narrow formats have units of `wide`. */
void perflib_format(struct perflib_sink *sink, unsigned wide, const void *format, va_list arguments);

/* As printf does it; as printf_s, which refuses directives that do not exist; or with l as this system has it. */
enum perflib_rules { PERFLIB_PLAIN, PERFLIB_STRICT, PERFLIB_OWN_LONG };

/* Into a buffer of `room` units, without a terminator; returns the length of all of it, or -1 and errno. */
int perflib_format_buffer(void *buffer, size_t room, unsigned unit, unsigned wide, enum perflib_rules rules,
                          const void *format, va_list arguments);

/* To a stream. */
int perflib_format_stream(FILE *stream, unsigned unit, unsigned wide, enum perflib_rules rules, const void *format,
                          va_list arguments);

/* The computer's name in UTF-8, without a NUL, as V1 blocks carry it: the performance library has the rule. Returns how
 * many of `room` bytes it took. */
extern uint32_t perflib_computer_name(char *text, uint32_t room) __attribute__((__visibility__("default")));

/* The last error of the thread, which the performance library keeps. */
extern void perflib_SetLastError(uint32_t code) __attribute__((__visibility__("default")));

#pragma GCC visibility pop

#endif
