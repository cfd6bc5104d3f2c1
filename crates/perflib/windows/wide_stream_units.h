/* Wide text to streams, and to and from narrow text. */
#include "units.h"

int WIDE(fputws)(const TEXT *text, FILE *stream);
int WIDE(fputws)(const TEXT *text, FILE *stream)
{
    struct perflib_sink sink;
    perflib_sink_stream(&sink, UNIT, stream);
    flockfile(stream);
    perflib_sink_put(&sink, text, WIDE(wcslen)(text));
    int result = perflib_sink_finish(&sink);
    funlockfile(stream);
    return result < 0 ? -1 : 0;
}

int WIDE(_putws)(const TEXT *text);
int WIDE(_putws)(const TEXT *text)
{
    const TEXT end[] = { '\n', 0 };
    flockfile(stdout);
    int result = WIDE(fputws)(text, stdout);
    if (WIDE(fputws)(end, stdout) < 0) result = -1;
    funlockfile(stdout);
    return result;
}

wint_t WIDE(fputwc)(TEXT what, FILE *stream);
wint_t WIDE(fputwc)(TEXT what, FILE *stream)
{
    struct perflib_sink sink;
    perflib_sink_stream(&sink, UNIT, stream);
    perflib_sink_put(&sink, &what, 1);
    return perflib_sink_finish(&sink) < 0 ? WEOF : (wint_t)what;
}

wint_t WIDE(putwchar)(TEXT what);
wint_t WIDE(putwchar)(TEXT what)
{
    return WIDE(fputwc)(what, stdout);
}

size_t WIDE(mbstowcs)(TEXT *wide, const char *narrow, size_t count);
size_t WIDE(mbstowcs)(TEXT *wide, const char *narrow, size_t count)
{
    size_t rest = strlen(narrow);
    size_t written = 0;
    while (rest > 0) {
        struct perflib_character character = perflib_text_read(narrow, rest, 1);
        if (!character.valid) {
            errno = EILSEQ;
            return (size_t)-1;
        }
        TEXT units[2] = { 0, 0 };
        unsigned length = perflib_text_write(units, UNIT, character.code);
        if (wide != NULL) {
            if (length > count - written) return written;
            memcpy(wide + written, units, length * sizeof *wide);
        }
        written += length;
        narrow += character.units;
        rest -= character.units;
    }
    if (wide != NULL && written < count) wide[written] = 0;
    return written;
}

size_t WIDE(wcstombs)(char *narrow, const TEXT *wide, size_t count);
size_t WIDE(wcstombs)(char *narrow, const TEXT *wide, size_t count)
{
    size_t rest = WIDE(wcslen)(wide);
    size_t written = 0;
    while (rest > 0) {
        struct perflib_character character = perflib_text_read(wide, rest, UNIT);
        if (!character.valid) {
            errno = EILSEQ;
            return (size_t)-1;
        }
        char bytes[4];
        unsigned length = perflib_text_write(bytes, 1, character.code);
        if (narrow != NULL) {
            if (length > count - written) return written;
            memcpy(narrow + written, bytes, length);
        }
        written += length;
        wide += character.units;
        rest -= character.units;
    }
    if (narrow != NULL && written < count) narrow[written] = 0;
    return written;
}
