/* The formatted output of Windows: what a directive of printf and its relatives means there.
 *
 * It differs from the one of Linux where programs feel it: %s means text of the function's own kind and %S of the
 * other, l before an integer means 32 bits, I64 and I32 are lengths, %p has all its digits. A character that is no
 * conversion stands for itself, and %n is refused.
 *
 * Floating point goes through the C library, everything else is done here. Memory does not depend on widths.
 */
#include "internal.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

enum length { LENGTH_NONE, LENGTH_HH, LENGTH_H, LENGTH_L, LENGTH_64, LENGTH_POINTER, LENGTH_LONG_DOUBLE, LENGTH_W };

struct directive {
    bool left, plus, space, alternate, zero;
    int width;
    int precision; /* -1: none */
    enum length length;
    uint32_t conversion;
    const void *place; /* of the conversion in the format */
};

/* va_list may be an array, which cannot be passed on by address once it is a parameter. */
struct arguments {
    va_list list;
};

/* Digits beyond these are all zero: no double has more of them after its point, and none needs more in front. */
#define DOUBLE_DIGITS 1100
#define LONG_DOUBLE_DIGITS 16600

/* A number apart from its width. The zeros inside it stand for digits that are not stored. */
struct number {
    char prefix[3];
    unsigned prefix_length;
    uint64_t leading_zeros;
    const char *body;
    size_t body_length;
    size_t zeros_at;
    uint64_t zeros;
};

static void refuse(struct perflib_sink *sink, int error)
{
    if (!sink->failed) errno = error;
    sink->failed = true;
}

static uint64_t padding(const struct directive *directive, uint64_t length)
{
    uint64_t width = (uint64_t)directive->width;
    return width > length ? width - length : 0;
}

/* The body is UTF-8: the point of a locale need not be ASCII. */
static void put_utf8(struct perflib_sink *sink, const char *bytes, size_t count)
{
    if (sink->unit == 1) {
        perflib_sink_put(sink, bytes, count);
        return;
    }
    while (count > 0) {
        struct perflib_character character = perflib_text_read(bytes, count, 1);
        perflib_sink_character(sink, character.code);
        bytes += character.units;
        count -= character.units;
    }
}

static void put_number(struct perflib_sink *sink, const struct directive *directive, const struct number *number,
                       bool may_have_zeros)
{
    uint64_t length = number->prefix_length + number->leading_zeros + number->body_length + number->zeros;
    uint64_t pad = padding(directive, length);
    uint64_t leading_zeros = number->leading_zeros;
    if (!directive->left && directive->zero && may_have_zeros) {
        leading_zeros += pad;
        pad = 0;
    }
    if (!directive->left) perflib_sink_repeat(sink, ' ', pad);
    perflib_sink_ascii(sink, number->prefix, number->prefix_length);
    perflib_sink_repeat(sink, '0', leading_zeros);
    put_utf8(sink, number->body, number->zeros_at);
    perflib_sink_repeat(sink, '0', number->zeros);
    put_utf8(sink, number->body + number->zeros_at, number->body_length - number->zeros_at);
    if (directive->left) perflib_sink_repeat(sink, ' ', pad);
}

static void put_sign(struct number *number, const struct directive *directive, bool is_negative)
{
    if (is_negative)
        number->prefix[number->prefix_length++] = '-';
    else if (directive->plus)
        number->prefix[number->prefix_length++] = '+';
    else if (directive->space)
        number->prefix[number->prefix_length++] = ' ';
}

static int64_t next_signed(enum length length, struct arguments *arguments)
{
    switch (length) {
    case LENGTH_HH: return (signed char)va_arg(arguments->list, int);
    case LENGTH_H: return (short)va_arg(arguments->list, int);
    case LENGTH_64: return va_arg(arguments->list, int64_t);
    case LENGTH_POINTER: return va_arg(arguments->list, ptrdiff_t);
    default: return va_arg(arguments->list, int32_t);
    }
}

static uint64_t next_unsigned(enum length length, struct arguments *arguments)
{
    switch (length) {
    case LENGTH_HH: return (unsigned char)va_arg(arguments->list, unsigned);
    case LENGTH_H: return (unsigned short)va_arg(arguments->list, unsigned);
    case LENGTH_64: return va_arg(arguments->list, uint64_t);
    case LENGTH_POINTER: return va_arg(arguments->list, size_t);
    default: return va_arg(arguments->list, uint32_t);
    }
}

static void put_integer(struct perflib_sink *sink, const struct directive *directive, struct arguments *arguments)
{
    struct number number = { { 0 }, 0, 0, NULL, 0, 0, 0 };
    unsigned base = 10;
    const char *digits = "0123456789abcdef";
    uint64_t value;
    int precision = directive->precision;
    switch (directive->conversion) {
    case 'd':
    case 'i': {
        int64_t given = next_signed(directive->length, arguments);
        value = given < 0 ? 0 - (uint64_t)given : (uint64_t)given;
        put_sign(&number, directive, given < 0);
        break;
    }
    case 'p':
        value = (uint64_t)(uintptr_t)va_arg(arguments->list, void *);
        base = 16;
        digits = "0123456789ABCDEF";
        precision = 2 * (int)sizeof(void *);
        break;
    default:
        value = next_unsigned(directive->length, arguments);
        if (directive->conversion == 'o') base = 8;
        if (directive->conversion == 'x' || directive->conversion == 'X') base = 16;
        if (directive->conversion == 'X') digits = "0123456789ABCDEF";
        break;
    }
    char text[24];
    size_t at = sizeof text;
    for (uint64_t rest = value; rest != 0; rest /= base) text[--at] = digits[rest % base];
    size_t minimum = precision < 0 ? 1 : (size_t)precision;
    number.body = text + at;
    number.body_length = sizeof text - at;
    if (number.body_length < minimum) number.leading_zeros = minimum - number.body_length;
    if (directive->alternate && base == 8 && number.leading_zeros == 0) number.leading_zeros = 1;
    if (directive->alternate && base == 16 && value != 0) {
        number.prefix[number.prefix_length++] = '0';
        number.prefix[number.prefix_length++] = directive->conversion == 'x' ? 'x' : 'X';
    }
    put_number(sink, directive, &number, precision < 0 || directive->conversion == 'p');
}

/* Lets the C library write the number, without width and with a bounded precision; NULL if memory is short. */
static char *float_text(const struct directive *directive, int precision, bool is_long, long double value, char *fixed,
                        size_t size)
{
    char format[16];
    char *end = format;
    *end++ = '%';
    if (directive->alternate) *end++ = '#';
    if (precision >= 0) {
        *end++ = '.';
        *end++ = '*';
    }
    if (is_long) *end++ = 'L';
    *end++ = (char)directive->conversion;
    *end = 0;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    char *text = fixed;
    for (;;) {
        int length;
        if (precision >= 0 && is_long)
            length = snprintf(text, size, format, precision, value);
        else if (precision >= 0)
            length = snprintf(text, size, format, precision, (double)value);
        else if (is_long)
            length = snprintf(text, size, format, value);
        else
            length = snprintf(text, size, format, (double)value);
        if (length >= 0 && (size_t)length < size) return text;
        if (text != fixed) free(text);
        if (length < 0 || text != fixed) return NULL;
        size = (size_t)length + 1;
        text = malloc(size);
        if (text == NULL) return NULL;
    }
#pragma GCC diagnostic pop
}

static void put_float(struct perflib_sink *sink, const struct directive *directive, struct arguments *arguments)
{
    bool is_long = directive->length == LENGTH_LONG_DOUBLE;
    long double value = is_long ? va_arg(arguments->list, long double) : (long double)va_arg(arguments->list, double);
    bool is_negative = signbit(value) != 0;
    int most = is_long ? LONG_DOUBLE_DIGITS : DOUBLE_DIGITS;
    int precision = directive->precision < most ? directive->precision : most;

    struct number number = { { 0 }, 0, 0, NULL, 0, 0, 0 };
    put_sign(&number, directive, is_negative);
    char fixed[400];
    char *text = float_text(directive, precision, is_long, is_negative ? -value : value, fixed, sizeof fixed);
    if (text == NULL) {
        refuse(sink, ENOMEM);
        return;
    }
    number.body = text;
    /* A NaN may keep its sign; it stands in the prefix already. */
    if (*number.body == '-') number.body++;
    bool is_finite = *number.body >= '0' && *number.body <= '9';
    bool is_hex = directive->conversion == 'a' || directive->conversion == 'A';
    if (is_hex && is_finite) {
        /* Zeros of the width go behind the 0x. */
        number.prefix[number.prefix_length++] = *number.body++;
        number.prefix[number.prefix_length++] = *number.body++;
    }
    number.body_length = strlen(number.body);
    number.zeros_at = number.body_length;
    bool is_trimmed = (directive->conversion == 'g' || directive->conversion == 'G') && !directive->alternate;
    if (is_finite && precision < directive->precision && !is_trimmed) {
        number.zeros = (uint64_t)(directive->precision - precision);
        const char *exponent = strpbrk(number.body, is_hex ? "pP" : "eE");
        if (exponent != NULL) number.zeros_at = (size_t)(exponent - number.body);
    }
    put_number(sink, directive, &number, is_finite);
    if (text != fixed) free(text);
}

/* Writes as much of a text as the precision allows, or only counts the units. Returns the units written.
 *
 * A precision bounds what is written, and what is read too: text that has no terminator is safe with its length. */
static uint64_t convert(struct perflib_sink *sink, const void *text, unsigned unit, size_t length, size_t limit)
{
    uint64_t written = 0;
    size_t at = 0;
    while (at < length && !(sink != NULL && sink->failed)) {
        struct perflib_character character =
            perflib_text_read((const char *)text + at * unit, length - at, unit);
        /* The rest of it lies beyond the precision. */
        if (character.cut && length == limit) break;
        uint32_t units[4];
        unsigned count = perflib_text_write(units, sink->unit, character.code);
        if (count > limit - written) break;
        perflib_sink_put(sink, units, count);
        written += count;
        at += character.units;
    }
    return written;
}

static void put_text(struct perflib_sink *sink, const struct directive *directive, const void *text, unsigned unit)
{
    if (text == NULL) {
        text = "(null)";
        unit = 1;
    }
    size_t limit = directive->precision < 0 ? SIZE_MAX : (size_t)directive->precision;
    size_t length = perflib_text_length(text, limit, unit);
    uint64_t written = length;
    if (unit != sink->unit && directive->width > 0) {
        struct perflib_sink counting;
        perflib_sink_buffer(&counting, sink->unit, NULL, 0);
        written = convert(&counting, text, unit, length, limit);
    }
    uint64_t pad = padding(directive, written);
    /* Text may be padded with zeros, too. */
    if (!directive->left) perflib_sink_repeat(sink, directive->zero ? '0' : ' ', pad);
    if (unit == sink->unit)
        perflib_sink_put(sink, text, length);
    else
        convert(sink, text, unit, length, limit);
    if (directive->left) perflib_sink_repeat(sink, ' ', pad);
}

/* A unit of the given size as text of the sink's. */
static void put_unit(struct perflib_sink *sink, const struct directive *directive, uint32_t value, unsigned unit)
{
    uint32_t units[4] = { 0 };
    unsigned count = 1;
    if (unit == sink->unit) {
        if (unit == 1) memset(units, (unsigned char)value, 1);
        if (unit == 2) memcpy(units, &(uint16_t){ (uint16_t)value }, 2);
        if (unit == 4) units[0] = value;
    } else {
        uint32_t mask = unit == 1 ? 0xFF : unit == 2 ? 0xFFFF : UINT32_MAX;
        value &= mask;
        /* One byte beyond ASCII is no character in UTF-8. */
        count = perflib_text_write(units, sink->unit, unit == 1 && value > 0x7F ? PERFLIB_REPLACEMENT : value);
    }
    uint64_t pad = padding(directive, count);
    if (!directive->left) perflib_sink_repeat(sink, directive->zero ? '0' : ' ', pad);
    perflib_sink_put(sink, units, count);
    if (directive->left) perflib_sink_repeat(sink, ' ', pad);
}

/* Whether a text or a character is of the function's own kind, of the other, or what its length says. */
static unsigned unit_of(const struct directive *directive, unsigned own, unsigned wide)
{
    bool is_capital = directive->conversion == 'S' || directive->conversion == 'C';
    switch (directive->length) {
    case LENGTH_H:
    case LENGTH_HH: return 1;
    case LENGTH_L:
    case LENGTH_W: return wide;
    default: return is_capital ? (own == 1 ? wide : 1) : own;
    }
}

static void put(struct perflib_sink *sink, const struct directive *directive, unsigned wide,
                struct arguments *arguments)
{
    switch (directive->conversion) {
    case 'd':
    case 'i':
    case 'o':
    case 'p':
    case 'u':
    case 'x':
    case 'X':
        put_integer(sink, directive, arguments);
        break;
    case 'a':
    case 'A':
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
        put_float(sink, directive, arguments);
        break;
    case 'c':
    case 'C':
        put_unit(sink, directive, va_arg(arguments->list, uint32_t), unit_of(directive, sink->unit, wide));
        break;
    case 's':
    case 'S':
        put_text(sink, directive, va_arg(arguments->list, const void *), unit_of(directive, sink->unit, wide));
        break;
    case 'n':
        refuse(sink, EINVAL);
        break;
    default:
        /* No directive: the character stands for itself, and its arguments are not touched. */
        if (sink->is_strict)
            refuse(sink, EINVAL);
        else
            perflib_sink_put(sink, directive->place, 1);
    }
}

struct reader {
    const void *format;
    size_t at;
    unsigned unit;
};

static uint32_t peek(const struct reader *reader, size_t ahead)
{
    return perflib_text_unit(reader->format, reader->at + ahead, reader->unit);
}

static bool accept(struct reader *reader, const char *word)
{
    size_t length = 0;
    for (; word[length] != 0; length++)
        if (peek(reader, length) != (unsigned char)word[length]) return false;
    reader->at += length;
    return true;
}

/* A width or a precision; false if it is too large to be meant. */
static bool read_count(struct reader *reader, struct arguments *arguments, int *count)
{
    if (accept(reader, "*")) {
        *count = va_arg(arguments->list, int);
        return *count > INT_MIN;
    }
    uint64_t value = 0;
    for (uint32_t digit = peek(reader, 0); digit >= '0' && digit <= '9'; digit = peek(reader, 0)) {
        value = value * 10 + (digit - '0');
        if (value > INT_MAX) return false;
        reader->at++;
    }
    *count = (int)value;
    return true;
}

static enum length read_length(struct reader *reader)
{
    static const struct {
        char word[4];
        enum length length;
    } lengths[] = {
        { "I64", LENGTH_64 }, { "I32", LENGTH_NONE }, { "I", LENGTH_POINTER }, { "ll", LENGTH_64 },
        { "hh", LENGTH_HH }, { "h", LENGTH_H }, { "l", LENGTH_L }, { "j", LENGTH_64 }, { "z", LENGTH_POINTER },
        { "t", LENGTH_POINTER }, { "L", LENGTH_LONG_DOUBLE }, { "w", LENGTH_W },
    };
    for (size_t index = 0; index < sizeof lengths / sizeof *lengths; index++)
        if (accept(reader, lengths[index].word)) return lengths[index].length;
    return LENGTH_NONE;
}

/* What follows the percent sign; false, with errno, if it cannot be. */
static bool read_directive(struct reader *reader, struct arguments *arguments, struct directive *directive)
{
    *directive = (struct directive){ .precision = -1 };
    for (;; reader->at++) {
        switch (peek(reader, 0)) {
        case '-': directive->left = true; continue;
        case '+': directive->plus = true; continue;
        case ' ': directive->space = true; continue;
        case '#': directive->alternate = true; continue;
        case '0': directive->zero = true; continue;
        default: break;
        }
        break;
    }
    errno = EOVERFLOW;
    if (!read_count(reader, arguments, &directive->width)) return false;
    if (directive->width < 0) {
        directive->left = true;
        directive->width = -directive->width;
    }
    if (accept(reader, ".")) {
        if (!read_count(reader, arguments, &directive->precision)) return false;
        if (directive->precision < 0) directive->precision = -1;
    }
    directive->length = read_length(reader);
    directive->conversion = peek(reader, 0);
    directive->place = (const char *)reader->format + reader->at * reader->unit;
    if (directive->conversion != 0) reader->at++;
    return true;
}

void perflib_format(struct perflib_sink *sink, unsigned wide, const void *format, va_list list)
{
    if (format == NULL) {
        refuse(sink, EINVAL);
        return;
    }
    struct arguments arguments;
    va_copy(arguments.list, list);
    struct reader reader = { format, 0, sink->unit };
    int error = errno;
    while (!sink->failed) {
        size_t start = reader.at;
        while (peek(&reader, 0) != 0 && peek(&reader, 0) != '%') reader.at++;
        perflib_sink_put(sink, (const char *)format + start * sink->unit, reader.at - start);
        if (peek(&reader, 0) == 0) break;
        reader.at++;
        if (accept(&reader, "%")) {
            perflib_sink_ascii(sink, "%", 1);
            continue;
        }
        struct directive directive;
        if (!read_directive(&reader, &arguments, &directive)) {
            sink->failed = true;
            break;
        }
        errno = error;
        if (directive.conversion == 0) {
            /* The format ends where a directive begins, and so does the output. */
            if (sink->is_strict) refuse(sink, EINVAL);
            break;
        }
        if (sink->has_own_long && sizeof(long) == 8 && directive.length == LENGTH_L) directive.length = LENGTH_64;
        put(sink, &directive, wide, &arguments);
    }
    va_end(arguments.list);
}

int perflib_format_buffer(void *buffer, size_t room, unsigned unit, unsigned wide, enum perflib_rules rules,
                          const void *format, va_list arguments)
{
    struct perflib_sink sink;
    perflib_sink_buffer(&sink, unit, buffer, room);
    sink.is_strict = rules == PERFLIB_STRICT;
    sink.has_own_long = rules == PERFLIB_OWN_LONG;
    perflib_format(&sink, wide, format, arguments);
    return perflib_sink_finish(&sink);
}

int perflib_format_stream(FILE *stream, unsigned unit, unsigned wide, enum perflib_rules rules, const void *format,
                          va_list arguments)
{
    if (stream == NULL) {
        errno = EINVAL;
        return -1;
    }
    struct perflib_sink sink;
    perflib_sink_stream(&sink, unit, stream);
    sink.is_strict = rules == PERFLIB_STRICT;
    /* As one piece, whatever other threads write. */
    flockfile(stream);
    perflib_format(&sink, wide, format, arguments);
    int result = perflib_sink_finish(&sink);
    funlockfile(stream);
    return result;
}
