/* The start of a program that has wmain instead of main. The linker takes this only if nothing else defines main.
 *
 * wmain may be a C function, or a C++ function with any of the parameters that it may have: whichever the program has
 * is found by its mangled name. The headers leave a mark in programs whose wchar_t has 2 bytes, for the names of both
 * kinds are the same, and another in those with 4 bytes: a program has one kind.
 */
#include "internal.h"

#include <stdlib.h>

extern char **environ;

typedef int entry(int, void **, void **);

/* On all ABIs that Linux has, a function may be called with more arguments than it takes. */
#define ENTRY(name, symbol) extern entry name __asm__(symbol) __attribute__((__weak__))
ENTRY(entry_c, "wmain");
ENTRY(entry_void, "_Z5wmainv");
ENTRY(entry_count, "_Z5wmaini");
ENTRY(entry_plain, "_Z5wmainiPPw");
ENTRY(entry_plain_environment, "_Z5wmainiPPwS0_");
ENTRY(entry_const_text, "_Z5wmainiPPKw");
ENTRY(entry_const_text_environment, "_Z5wmainiPPKwS1_");
ENTRY(entry_const_array, "_Z5wmainiPKPw");
ENTRY(entry_const_array_environment, "_Z5wmainiPKPwS1_");
ENTRY(entry_const_both, "_Z5wmainiPKPKw");
ENTRY(entry_const_both_environment, "_Z5wmainiPKPKwS2_");

extern char perflib_wchar_has_2_bytes __attribute__((__weak__));
extern char perflib_wchar_has_4_bytes __attribute__((__weak__));

static entry *find(void)
{
    entry *const entries[] = {
        entry_c, entry_void, entry_count, entry_plain, entry_plain_environment, entry_const_text,
        entry_const_text_environment, entry_const_array, entry_const_array_environment, entry_const_both,
        entry_const_both_environment,
    };
    for (size_t index = 0; index < sizeof entries / sizeof *entries; index++)
        if (entries[index] != NULL) return entries[index];
    return NULL;
}

/* A byte that is no UTF-8 becomes the Latin-1 character of its number: readable, and still different from others. */
static void *widen(const char *text, unsigned unit)
{
    size_t rest = strlen(text);
    char *wide = malloc((rest + 1) * unit);
    if (wide == NULL) abort();
    size_t length = 0;
    while (rest > 0) {
        struct perflib_character character = perflib_text_read(text, rest, 1);
        if (!character.valid) character = (struct perflib_character){ (unsigned char)*text, 1, true, false };
        length += perflib_text_write(wide + length * unit, unit, character.code);
        text += character.units;
        rest -= character.units;
    }
    memset(wide + length * unit, 0, unit);
    return wide;
}

/* These live as long as the program, like those of main. */
static void **widen_all(char **texts, unsigned unit)
{
    size_t count = 0;
    while (texts != NULL && texts[count] != NULL) count++;
    void **all = malloc((count + 1) * sizeof *all);
    if (all == NULL) abort();
    for (size_t index = 0; index < count; index++) all[index] = widen(texts[index], unit);
    all[count] = NULL;
    return all;
}

/* Kept where leak checkers see them; volatile, or a compiler would see that nobody reads them. */
static void **volatile arguments, **volatile environment;

int main(int count, char **texts)
{
    entry *wmain = find();
    if (wmain == NULL) {
        fputs("This program has neither main nor wmain, so there is nothing to start.\n", stderr);
        return EXIT_FAILURE;
    }
    if (&perflib_wchar_has_2_bytes != NULL && &perflib_wchar_has_4_bytes != NULL) {
        fputs("Some sources of this program were compiled with -fshort-wchar and some without. All must be, or none.\n",
              stderr);
        return EXIT_FAILURE;
    }
    unsigned unit = &perflib_wchar_has_2_bytes != NULL ? 2 : 4;
    arguments = widen_all(texts, unit);
    environment = widen_all(environ, unit);
    return wmain(count, arguments, environment);
}
