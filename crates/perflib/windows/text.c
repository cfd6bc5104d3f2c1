/* Characters in UTF-8, UTF-16 and UTF-32, one at a time. */
#include "internal.h"

static bool is_character(uint32_t code)
{
    return code < 0xD800 || (code > 0xDFFF && code <= 0x10FFFF);
}

static struct perflib_character read_utf8(const unsigned char *text, size_t count)
{
    struct perflib_character wrong = { PERFLIB_REPLACEMENT, 1, false, false };
    uint32_t lead = text[0];
    if (lead < 0x80) return (struct perflib_character){ lead, 1, true, false };

    unsigned length;
    /* The second byte alone tells overlong forms, surrogates and what lies beyond U+10FFFF from characters. */
    unsigned low = 0x80, high = 0xBF;
    if (lead >= 0xC2 && lead <= 0xDF) {
        length = 2;
    } else if (lead >= 0xE0 && lead <= 0xEF) {
        length = 3;
        if (lead == 0xE0) low = 0xA0;
        if (lead == 0xED) high = 0x9F;
    } else if (lead >= 0xF0 && lead <= 0xF4) {
        length = 4;
        if (lead == 0xF0) low = 0x90;
        if (lead == 0xF4) high = 0x8F;
    } else {
        return wrong;
    }
    uint32_t code = lead & (0x7Fu >> length);
    for (unsigned index = 1; index < length; index++) {
        wrong.units = index;
        if (index == count) {
            wrong.cut = true;
            return wrong;
        }
        if (text[index] < low || text[index] > high) return wrong;
        code = code << 6 | (text[index] & 0x3Fu);
        low = 0x80;
        high = 0xBF;
    }
    return (struct perflib_character){ code, length, true, false };
}

static struct perflib_character read_utf16(const void *text, size_t count)
{
    uint32_t first = perflib_text_unit(text, 0, 2);
    if (is_character(first)) return (struct perflib_character){ first, 1, true, false };
    if (first > 0xDBFF) return (struct perflib_character){ PERFLIB_REPLACEMENT, 1, false, false };
    if (count < 2) return (struct perflib_character){ PERFLIB_REPLACEMENT, 1, false, true };
    uint32_t second = perflib_text_unit(text, 1, 2);
    if (second < 0xDC00 || second > 0xDFFF) return (struct perflib_character){ PERFLIB_REPLACEMENT, 1, false, false };
    return (struct perflib_character){ 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00), 2, true, false };
}

struct perflib_character perflib_text_read(const void *text, size_t count, unsigned unit)
{
    if (unit == 1) return read_utf8(text, count);
    if (unit == 2) return read_utf16(text, count);
    uint32_t code = perflib_text_unit(text, 0, 4);
    if (is_character(code)) return (struct perflib_character){ code, 1, true, false };
    return (struct perflib_character){ PERFLIB_REPLACEMENT, 1, false, false };
}

unsigned perflib_text_write(void *units, unsigned unit, uint32_t code)
{
    if (!is_character(code)) code = PERFLIB_REPLACEMENT;
    if (unit == 4) {
        memcpy(units, &code, sizeof code);
        return 1;
    }
    if (unit == 2) {
        uint16_t pair[2] = { (uint16_t)code, 0 };
        unsigned count = code < 0x10000 ? 1 : 2;
        if (count == 2) {
            pair[0] = (uint16_t)(0xD800 + ((code - 0x10000) >> 10));
            pair[1] = (uint16_t)(0xDC00 + (code & 0x3FF));
        }
        memcpy(units, pair, count * sizeof *pair);
        return count;
    }
    unsigned char *out = units;
    if (code < 0x80) {
        out[0] = (unsigned char)code;
        return 1;
    }
    unsigned length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (unsigned index = length - 1; index > 0; index--) {
        out[index] = (unsigned char)(0x80 | (code & 0x3F));
        code >>= 6;
    }
    out[0] = (unsigned char)(0xF00u >> length | code);
    return length;
}

size_t perflib_text_length(const void *text, size_t limit, unsigned unit)
{
    if (unit == 1) return strnlen(text, limit);
    size_t length = 0;
    while (length < limit && perflib_text_unit(text, length, unit) != 0) length++;
    return length;
}
