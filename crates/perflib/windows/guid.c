/* GUIDs as text: {00112233-4455-6677-8899-AABBCCDDEEFF}. */
#include "internal.h"

#include <stdlib.h>

#pragma GCC visibility push(hidden)

struct guid {
    uint32_t first;
    uint16_t second, third;
    uint8_t rest[8];
};

extern const struct guid perflib_GUID_NULL;
const struct guid perflib_GUID_NULL = { 0, 0, 0, { 0 } };

enum { TEXT_LENGTH = 38 };

#define INVALID_TEXT ((int32_t)0x800401F3)
#define INVALID_ARGUMENT ((int32_t)0x80070057)
#define OUT_OF_MEMORY ((int32_t)0x8007000E)

/* Where the bytes of a GUID stand, and how many digits each part has. */
static void bytes_of(const struct guid *guid, uint8_t bytes[16])
{
    bytes[0] = (uint8_t)(guid->first >> 24);
    bytes[1] = (uint8_t)(guid->first >> 16);
    bytes[2] = (uint8_t)(guid->first >> 8);
    bytes[3] = (uint8_t)guid->first;
    bytes[4] = (uint8_t)(guid->second >> 8);
    bytes[5] = (uint8_t)guid->second;
    bytes[6] = (uint8_t)(guid->third >> 8);
    bytes[7] = (uint8_t)guid->third;
    memcpy(bytes + 8, guid->rest, 8);
}

static void from_bytes(const uint8_t bytes[16], struct guid *guid)
{
    guid->first = (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
    guid->second = (uint16_t)(bytes[4] << 8 | bytes[5]);
    guid->third = (uint16_t)(bytes[6] << 8 | bytes[7]);
    memcpy(guid->rest, bytes + 8, 8);
}

/* The character that must stand there, or 0 for a digit. */
static char mark_at(unsigned index)
{
    if (index == 0) return '{';
    if (index == TEXT_LENGTH - 1) return '}';
    return index == 9 || index == 14 || index == 19 || index == 24 ? '-' : 0;
}

static int to_text(const struct guid *guid, void *text, int size, unsigned unit)
{
    if (size <= TEXT_LENGTH) return 0;
    uint8_t bytes[16];
    bytes_of(guid, bytes);
    unsigned digit = 0;
    for (unsigned index = 0; index <= TEXT_LENGTH; index++) {
        uint32_t what = (unsigned char)mark_at(index);
        if (index == TEXT_LENGTH) {
            what = 0;
        } else if (what == 0) {
            unsigned byte = bytes[digit / 2];
            what = (unsigned char)"0123456789ABCDEF"[digit % 2 == 0 ? byte >> 4 : byte & 0xF];
            digit++;
        }
        perflib_text_write((char *)text + index * unit, unit, what);
    }
    return TEXT_LENGTH + 1;
}

static int value_of(uint32_t digit)
{
    if (digit >= '0' && digit <= '9') return (int)(digit - '0');
    if (digit >= 'A' && digit <= 'F') return (int)(digit - 'A') + 10;
    if (digit >= 'a' && digit <= 'f') return (int)(digit - 'a') + 10;
    return -1;
}

/* No text is the GUID of zeros. Nothing else than the form with braces is read: there are no registered names. */
static int32_t from_text(const void *text, struct guid *guid, unsigned unit)
{
    if (guid == NULL) return INVALID_ARGUMENT;
    uint8_t bytes[16] = { 0 };
    from_bytes(bytes, guid);
    if (text == NULL) return 0;
    unsigned digit = 0;
    for (unsigned index = 0; index < TEXT_LENGTH; index++) {
        uint32_t what = perflib_text_unit(text, index, unit);
        unsigned char mark = (unsigned char)mark_at(index);
        int value = mark == 0 ? value_of(what) : 0;
        if ((mark != 0 && what != mark) || value < 0) return INVALID_TEXT;
        if (mark == 0) {
            bytes[digit / 2] = (uint8_t)(bytes[digit / 2] << 4 | value);
            digit++;
        }
    }
    if (perflib_text_unit(text, TEXT_LENGTH, unit) != 0) return INVALID_TEXT;
    from_bytes(bytes, guid);
    return 0;
}

int perflib_StringFromGUID2(const struct guid *guid, uint16_t *text, int size);
int perflib_StringFromGUID2(const struct guid *guid, uint16_t *text, int size)
{
    return to_text(guid, text, size, 2);
}

int perflib_StringFromGUID2_utf32(const struct guid *guid, uint32_t *text, int size);
int perflib_StringFromGUID2_utf32(const struct guid *guid, uint32_t *text, int size)
{
    return to_text(guid, text, size, 4);
}

static int32_t to_new_text(const struct guid *guid, void **text, unsigned unit)
{
    if (guid == NULL || text == NULL) return INVALID_ARGUMENT;
    *text = malloc((TEXT_LENGTH + 1) * unit);
    if (*text == NULL) return OUT_OF_MEMORY;
    to_text(guid, *text, TEXT_LENGTH + 1, unit);
    return 0;
}

int32_t perflib_StringFromCLSID(const struct guid *guid, void **text);
int32_t perflib_StringFromCLSID(const struct guid *guid, void **text)
{
    return to_new_text(guid, text, 2);
}

int32_t perflib_StringFromCLSID_utf32(const struct guid *guid, void **text);
int32_t perflib_StringFromCLSID_utf32(const struct guid *guid, void **text)
{
    return to_new_text(guid, text, 4);
}

int32_t perflib_CLSIDFromString(const uint16_t *text, struct guid *guid);
int32_t perflib_CLSIDFromString(const uint16_t *text, struct guid *guid)
{
    return from_text(text, guid, 2);
}

int32_t perflib_CLSIDFromString_utf32(const uint32_t *text, struct guid *guid);
int32_t perflib_CLSIDFromString_utf32(const uint32_t *text, struct guid *guid)
{
    return from_text(text, guid, 4);
}

#pragma GCC visibility pop
