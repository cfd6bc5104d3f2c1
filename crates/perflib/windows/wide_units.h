/* The functions of <wchar.h> that work on strings. */
#include "units.h"

size_t WIDE(wcsnlen)(const TEXT *text, size_t limit);
size_t WIDE(wcsnlen)(const TEXT *text, size_t limit)
{
    size_t length = 0;
    while (length < limit && text[length] != 0) length++;
    return length;
}

size_t WIDE(wcslen)(const TEXT *text);
size_t WIDE(wcslen)(const TEXT *text)
{
    return WIDE(wcsnlen)(text, SIZE_MAX);
}

TEXT *WIDE(wmemcpy)(TEXT *to, const TEXT *from, size_t count);
TEXT *WIDE(wmemcpy)(TEXT *to, const TEXT *from, size_t count)
{
    return count == 0 ? to : memcpy(to, from, count * sizeof *to);
}

TEXT *WIDE(wmempcpy)(TEXT *to, const TEXT *from, size_t count);
TEXT *WIDE(wmempcpy)(TEXT *to, const TEXT *from, size_t count)
{
    return WIDE(wmemcpy)(to, from, count) + count;
}

TEXT *WIDE(wmemmove)(TEXT *to, const TEXT *from, size_t count);
TEXT *WIDE(wmemmove)(TEXT *to, const TEXT *from, size_t count)
{
    return count == 0 ? to : memmove(to, from, count * sizeof *to);
}

TEXT *WIDE(wmemset)(TEXT *to, TEXT what, size_t count);
TEXT *WIDE(wmemset)(TEXT *to, TEXT what, size_t count)
{
    for (size_t index = 0; index < count; index++) to[index] = what;
    return to;
}

int WIDE(wmemcmp)(const TEXT *left, const TEXT *right, size_t count);
int WIDE(wmemcmp)(const TEXT *left, const TEXT *right, size_t count)
{
    for (size_t index = 0; index < count; index++)
        if (left[index] != right[index]) return left[index] < right[index] ? -1 : 1;
    return 0;
}

TEXT *WIDE(wmemchr)(const TEXT *text, TEXT what, size_t count);
TEXT *WIDE(wmemchr)(const TEXT *text, TEXT what, size_t count)
{
    for (size_t index = 0; index < count; index++)
        if (text[index] == what) return (TEXT *)(uintptr_t)(text + index);
    return NULL;
}

TEXT *WIDE(wcscpy)(TEXT *to, const TEXT *from);
TEXT *WIDE(wcscpy)(TEXT *to, const TEXT *from)
{
    return WIDE(wmemcpy)(to, from, WIDE(wcslen)(from) + 1);
}

TEXT *WIDE(wcpcpy)(TEXT *to, const TEXT *from);
TEXT *WIDE(wcpcpy)(TEXT *to, const TEXT *from)
{
    size_t length = WIDE(wcslen)(from);
    return WIDE(wmemcpy)(to, from, length + 1) + length;
}

TEXT *WIDE(wcsncpy)(TEXT *to, const TEXT *from, size_t count);
TEXT *WIDE(wcsncpy)(TEXT *to, const TEXT *from, size_t count)
{
    size_t length = WIDE(wcsnlen)(from, count);
    WIDE(wmemcpy)(to, from, length);
    WIDE(wmemset)(to + length, 0, count - length);
    return to;
}

TEXT *WIDE(wcscat)(TEXT *to, const TEXT *from);
TEXT *WIDE(wcscat)(TEXT *to, const TEXT *from)
{
    WIDE(wcscpy)(to + WIDE(wcslen)(to), from);
    return to;
}

TEXT *WIDE(wcsncat)(TEXT *to, const TEXT *from, size_t count);
TEXT *WIDE(wcsncat)(TEXT *to, const TEXT *from, size_t count)
{
    TEXT *end = to + WIDE(wcslen)(to);
    size_t length = WIDE(wcsnlen)(from, count);
    WIDE(wmemcpy)(end, from, length);
    end[length] = 0;
    return to;
}

int WIDE(wcsncmp)(const TEXT *left, const TEXT *right, size_t count);
int WIDE(wcsncmp)(const TEXT *left, const TEXT *right, size_t count)
{
    for (size_t index = 0; index < count; index++) {
        if (left[index] != right[index]) return left[index] < right[index] ? -1 : 1;
        if (left[index] == 0) break;
    }
    return 0;
}

int WIDE(wcscmp)(const TEXT *left, const TEXT *right);
int WIDE(wcscmp)(const TEXT *left, const TEXT *right)
{
    return WIDE(wcsncmp)(left, right, SIZE_MAX);
}

int WIDE(wcsncasecmp)(const TEXT *left, const TEXT *right, size_t count);
int WIDE(wcsncasecmp)(const TEXT *left, const TEXT *right, size_t count)
{
    for (size_t index = 0; index < count; index++) {
        wint_t one = towlower((wint_t)left[index]);
        wint_t other = towlower((wint_t)right[index]);
        if (one != other) return one < other ? -1 : 1;
        if (one == 0) break;
    }
    return 0;
}

int WIDE(wcscasecmp)(const TEXT *left, const TEXT *right);
int WIDE(wcscasecmp)(const TEXT *left, const TEXT *right)
{
    return WIDE(wcsncasecmp)(left, right, SIZE_MAX);
}

TEXT *WIDE(wcschr)(const TEXT *text, TEXT what);
TEXT *WIDE(wcschr)(const TEXT *text, TEXT what)
{
    return WIDE(wmemchr)(text, what, WIDE(wcslen)(text) + 1);
}

TEXT *WIDE(wcsrchr)(const TEXT *text, TEXT what);
TEXT *WIDE(wcsrchr)(const TEXT *text, TEXT what)
{
    for (size_t index = WIDE(wcslen)(text) + 1; index > 0; index--)
        if (text[index - 1] == what) return (TEXT *)(uintptr_t)(text + index - 1);
    return NULL;
}

size_t WIDE(wcsspn)(const TEXT *text, const TEXT *set);
size_t WIDE(wcsspn)(const TEXT *text, const TEXT *set)
{
    size_t length = 0;
    while (text[length] != 0 && WIDE(wcschr)(set, text[length]) != NULL) length++;
    return length;
}

size_t WIDE(wcscspn)(const TEXT *text, const TEXT *set);
size_t WIDE(wcscspn)(const TEXT *text, const TEXT *set)
{
    size_t length = 0;
    while (text[length] != 0 && WIDE(wcschr)(set, text[length]) == NULL) length++;
    return length;
}

TEXT *WIDE(wcspbrk)(const TEXT *text, const TEXT *set);
TEXT *WIDE(wcspbrk)(const TEXT *text, const TEXT *set)
{
    text += WIDE(wcscspn)(text, set);
    return *text == 0 ? NULL : (TEXT *)(uintptr_t)text;
}

TEXT *WIDE(wcsstr)(const TEXT *text, const TEXT *part);
TEXT *WIDE(wcsstr)(const TEXT *text, const TEXT *part)
{
    size_t length = WIDE(wcslen)(part);
    for (;; text++) {
        if (WIDE(wcsncmp)(text, part, length) == 0) return (TEXT *)(uintptr_t)text;
        if (*text == 0) return NULL;
    }
}

TEXT *WIDE(wcstok)(TEXT *text, const TEXT *set, TEXT **rest);
TEXT *WIDE(wcstok)(TEXT *text, const TEXT *set, TEXT **rest)
{
    if (text == NULL) text = *rest;
    if (text == NULL) return NULL;
    text += WIDE(wcsspn)(text, set);
    if (*text == 0) {
        *rest = NULL;
        return NULL;
    }
    TEXT *end = WIDE(wcspbrk)(text, set);
    *rest = end == NULL ? NULL : end + 1;
    if (end != NULL) *end = 0;
    return text;
}

TEXT *WIDE(wcsdup)(const TEXT *text);
TEXT *WIDE(wcsdup)(const TEXT *text)
{
    size_t count = WIDE(wcslen)(text) + 1;
    TEXT *copy = malloc(count * sizeof *copy);
    return copy == NULL ? NULL : WIDE(wmemcpy)(copy, text, count);
}

TEXT *WIDE(_wcsupr)(TEXT *text);
TEXT *WIDE(_wcsupr)(TEXT *text)
{
    for (TEXT *at = text; *at != 0; at++) *at = (TEXT)towupper((wint_t)*at);
    return text;
}

TEXT *WIDE(_wcslwr)(TEXT *text);
TEXT *WIDE(_wcslwr)(TEXT *text)
{
    for (TEXT *at = text; *at != 0; at++) *at = (TEXT)towlower((wint_t)*at);
    return text;
}

TEXT *WIDE(_wcsrev)(TEXT *text);
TEXT *WIDE(_wcsrev)(TEXT *text)
{
    size_t length = WIDE(wcslen)(text);
    for (size_t index = 0; index < length / 2; index++) {
        TEXT kept = text[index];
        text[index] = text[length - 1 - index];
        text[length - 1 - index] = kept;
    }
    return text;
}
