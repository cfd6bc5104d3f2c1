/* Narrow text in a code page to wide text and back. UTF-8 is the code page of the system; Latin-1 and its Windows
 * relative are there for the texts of old programs.
 */
#include "internal.h"

#include <limits.h>

#pragma GCC visibility push(hidden)

enum { CODE_PAGE_UTF8 = 65001, CODE_PAGE_1252 = 1252, CODE_PAGE_LATIN1 = 28591, CODE_PAGE_ASCII = 20127 };

enum { FAIL_ON_INVALID_NARROW = 8, FAIL_ON_INVALID_WIDE = 0x80, NO_BEST_FIT = 0x400 };

/* 0x80 to 0x9F of code page 1252; 0 is not assigned, and then means the control character of that number. */
static const uint16_t windows_1252[32] = {
    0x20AC, 0,      0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0,
    0x017D, 0,      0,      0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A,
    0x0153, 0,      0x017E, 0x0178,
};

/* The code pages of the machine, of the thread, and of old consoles are all UTF-8. */
static unsigned actual(unsigned code_page)
{
    return code_page <= 3 ? CODE_PAGE_UTF8 : code_page;
}

static bool is_known(unsigned code_page)
{
    return code_page == CODE_PAGE_UTF8 || code_page == CODE_PAGE_1252 || code_page == CODE_PAGE_LATIN1
        || code_page == CODE_PAGE_ASCII;
}

static uint32_t from_byte(unsigned code_page, unsigned char byte)
{
    if (code_page == CODE_PAGE_ASCII) return byte < 0x80 ? byte : PERFLIB_REPLACEMENT;
    if (code_page == CODE_PAGE_1252 && byte >= 0x80 && byte <= 0x9F && windows_1252[byte - 0x80] != 0)
        return windows_1252[byte - 0x80];
    return byte;
}

/* The byte for a character, or -1. */
static int to_byte(unsigned code_page, uint32_t code)
{
    if (code < 0x80) return (int)code;
    if (code_page == CODE_PAGE_ASCII) return -1;
    if (code_page == CODE_PAGE_LATIN1) return code <= 0xFF ? (int)code : -1;
    if (code >= 0xA0 && code <= 0xFF) return (int)code;
    for (unsigned index = 0; index < 32; index++)
        if (from_byte(code_page, (unsigned char)(0x80 + index)) == code) return (int)(0x80 + index);
    return -1;
}

static int fail(uint32_t error)
{
    perflib_SetLastError(error);
    return 0;
}

static bool are_good(const void *from, int from_count, const void *to, int to_count)
{
    return from != NULL && from_count != 0 && from_count >= -1 && to_count >= 0 && (to != NULL || to_count == 0)
        && from != to;
}

/* Appends what has been converted; false if there is no room. A room of 0 means that only the length is asked for. */
static bool append(void *to, size_t room, size_t *written, const void *units, unsigned count, unsigned unit)
{
    if (room != 0) {
        if (count > room - *written) return false;
        memcpy((char *)to + *written * unit, units, (size_t)count * unit);
    }
    *written += count;
    return *written <= INT_MAX;
}

static int to_wide(unsigned code_page, uint32_t flags, const char *from, int from_count, void *to, int to_count,
                   unsigned unit)
{
    code_page = actual(code_page);
    if (!are_good(from, from_count, to, to_count) || !is_known(code_page)) return fail(PERFLIB_INVALID_PARAMETER);
    /* The flags for composed characters have no meaning for these code pages, and do no harm. */
    if ((flags & ~0xFu) != 0) return fail(PERFLIB_INVALID_FLAGS);
    size_t rest = from_count < 0 ? strlen(from) + 1 : (size_t)from_count;
    size_t written = 0;
    while (rest > 0) {
        struct perflib_character character;
        if (code_page == CODE_PAGE_UTF8) {
            character = perflib_text_read(from, rest, 1);
        } else {
            uint32_t code = from_byte(code_page, (unsigned char)*from);
            character = (struct perflib_character){ code, 1, code != PERFLIB_REPLACEMENT, false };
        }
        if (!character.valid && (flags & FAIL_ON_INVALID_NARROW) != 0) return fail(PERFLIB_NO_UNICODE_TRANSLATION);
        uint32_t units[4];
        unsigned count = perflib_text_write(units, unit, character.code);
        if (!append(to, (size_t)to_count, &written, units, count, unit)) return fail(PERFLIB_INSUFFICIENT_BUFFER);
        from += character.units;
        rest -= character.units;
    }
    return (int)written;
}

static int to_narrow(unsigned code_page, uint32_t flags, const void *from, int from_count, char *to, int to_count,
                     const char *replacement, int32_t *was_replaced, unsigned unit)
{
    /* Who names UTF-8 must not ask for what other code pages can do; who takes the machine's does not know it. */
    bool is_named = code_page == CODE_PAGE_UTF8;
    code_page = actual(code_page);
    if (!are_good(from, from_count, to, to_count) || !is_known(code_page)) return fail(PERFLIB_INVALID_PARAMETER);
    uint32_t known = is_named ? 0 : NO_BEST_FIT | 0x270;
    if (code_page == CODE_PAGE_UTF8) known |= FAIL_ON_INVALID_WIDE;
    if (is_named && (replacement != NULL || was_replaced != NULL)) return fail(PERFLIB_INVALID_PARAMETER);
    if ((flags & ~known) != 0) return fail(PERFLIB_INVALID_FLAGS);
    if (was_replaced != NULL) *was_replaced = 0;
    size_t rest = from_count < 0 ? perflib_text_length(from, SIZE_MAX, unit) + 1 : (size_t)from_count;
    size_t written = 0;
    while (rest > 0) {
        struct perflib_character character = perflib_text_read(from, rest, unit);
        char bytes[4];
        unsigned count = 1;
        if (code_page == CODE_PAGE_UTF8) {
            if (!character.valid && (flags & FAIL_ON_INVALID_WIDE) != 0) return fail(PERFLIB_NO_UNICODE_TRANSLATION);
            uint32_t code = character.code;
            if (!character.valid && replacement != NULL)
                code = perflib_text_read(replacement, strlen(replacement) + 1, 1).code;
            count = perflib_text_write(bytes, 1, code);
            if (!character.valid && was_replaced != NULL) *was_replaced = 1;
        } else {
            int byte = to_byte(code_page, character.code);
            bytes[0] = byte >= 0 ? (char)byte : replacement != NULL ? *replacement : '?';
            if (byte < 0 && was_replaced != NULL) *was_replaced = 1;
        }
        if (!append(to, (size_t)to_count, &written, bytes, count, 1)) return fail(PERFLIB_INSUFFICIENT_BUFFER);
        from = (const char *)from + (size_t)character.units * unit;
        rest -= character.units;
    }
    return (int)written;
}

int perflib_MultiByteToWideChar(unsigned code_page, uint32_t flags, const char *from, int from_count, uint16_t *to,
                                int to_count);
int perflib_MultiByteToWideChar(unsigned code_page, uint32_t flags, const char *from, int from_count, uint16_t *to,
                                int to_count)
{
    return to_wide(code_page, flags, from, from_count, to, to_count, 2);
}

int perflib_MultiByteToWideChar_utf32(unsigned code_page, uint32_t flags, const char *from, int from_count,
                                      uint32_t *to, int to_count);
int perflib_MultiByteToWideChar_utf32(unsigned code_page, uint32_t flags, const char *from, int from_count,
                                      uint32_t *to, int to_count)
{
    return to_wide(code_page, flags, from, from_count, to, to_count, 4);
}

int perflib_WideCharToMultiByte(unsigned code_page, uint32_t flags, const uint16_t *from, int from_count, char *to,
                                int to_count, const char *replacement, int32_t *was_replaced);
int perflib_WideCharToMultiByte(unsigned code_page, uint32_t flags, const uint16_t *from, int from_count, char *to,
                                int to_count, const char *replacement, int32_t *was_replaced)
{
    return to_narrow(code_page, flags, from, from_count, to, to_count, replacement, was_replaced, 2);
}

int perflib_WideCharToMultiByte_utf32(unsigned code_page, uint32_t flags, const uint32_t *from, int from_count,
                                      char *to, int to_count, const char *replacement, int32_t *was_replaced);
int perflib_WideCharToMultiByte_utf32(unsigned code_page, uint32_t flags, const uint32_t *from, int from_count,
                                      char *to, int to_count, const char *replacement, int32_t *was_replaced)
{
    return to_narrow(code_page, flags, from, from_count, to, to_count, replacement, was_replaced, 4);
}

#pragma GCC visibility pop
