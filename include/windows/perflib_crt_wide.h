/* Wide text. With -fshort-wchar the C library would take 2 units for one: here are others of the same names.
 */
#ifndef PERFLIB_CRT_WIDE_H
#define PERFLIB_CRT_WIDE_H

#pragma GCC system_header

#include <perflib_crt.h>

PERFLIB_BEGIN_C

wint_t fputwc(wchar_t what, FILE *stream) PERFLIB_WIDE_SYMBOL("fputwc");
wint_t putwc(wchar_t what, FILE *stream) PERFLIB_WIDE_SYMBOL("fputwc");
wint_t putwchar(wchar_t what) PERFLIB_WIDE_SYMBOL("putwchar");
int fputws(const wchar_t *text, FILE *stream) PERFLIB_WIDE_SYMBOL("fputws");
int _putws(const wchar_t *text) PERFLIB_WIDE_SYMBOL("_putws");

#if __SIZEOF_WCHAR_T__ == 2
size_t wcslen(const wchar_t *text) PERFLIB_SYMBOL("wcslen");
size_t wcsnlen(const wchar_t *text, size_t limit) PERFLIB_SYMBOL("wcsnlen");
wchar_t *wcscpy(wchar_t *to, const wchar_t *from) PERFLIB_SYMBOL("wcscpy");
wchar_t *wcpcpy(wchar_t *to, const wchar_t *from) PERFLIB_SYMBOL("wcpcpy");
wchar_t *wcsncpy(wchar_t *to, const wchar_t *from, size_t count) PERFLIB_SYMBOL("wcsncpy");
wchar_t *wcscat(wchar_t *to, const wchar_t *from) PERFLIB_SYMBOL("wcscat");
wchar_t *wcsncat(wchar_t *to, const wchar_t *from, size_t count) PERFLIB_SYMBOL("wcsncat");
int wcscmp(const wchar_t *left, const wchar_t *right) PERFLIB_SYMBOL("wcscmp");
int wcscoll(const wchar_t *left, const wchar_t *right) PERFLIB_SYMBOL("wcscmp");
int wcsncmp(const wchar_t *left, const wchar_t *right, size_t count) PERFLIB_SYMBOL("wcsncmp");
int wcscasecmp(const wchar_t *left, const wchar_t *right) PERFLIB_SYMBOL("wcscasecmp");
int wcsncasecmp(const wchar_t *left, const wchar_t *right, size_t count) PERFLIB_SYMBOL("wcsncasecmp");
size_t wcsspn(const wchar_t *text, const wchar_t *set) PERFLIB_SYMBOL("wcsspn");
size_t wcscspn(const wchar_t *text, const wchar_t *set) PERFLIB_SYMBOL("wcscspn");
wchar_t *wcstok(wchar_t *text, const wchar_t *set, wchar_t **rest) PERFLIB_SYMBOL("wcstok");
wchar_t *wcsdup(const wchar_t *text) PERFLIB_SYMBOL("wcsdup");
wchar_t *wmemcpy(wchar_t *to, const wchar_t *from, size_t count) PERFLIB_SYMBOL("wmemcpy");
wchar_t *wmempcpy(wchar_t *to, const wchar_t *from, size_t count) PERFLIB_SYMBOL("wmempcpy");
wchar_t *wmemmove(wchar_t *to, const wchar_t *from, size_t count) PERFLIB_SYMBOL("wmemmove");
wchar_t *wmemset(wchar_t *to, wchar_t what, size_t count) PERFLIB_SYMBOL("wmemset");
int wmemcmp(const wchar_t *left, const wchar_t *right, size_t count) PERFLIB_SYMBOL("wmemcmp");
long wcstol(const wchar_t *text, wchar_t **end, int base) PERFLIB_SYMBOL("wcstol");
unsigned long wcstoul(const wchar_t *text, wchar_t **end, int base) PERFLIB_SYMBOL("wcstoul");
long long wcstoll(const wchar_t *text, wchar_t **end, int base) PERFLIB_SYMBOL("wcstoll");
unsigned long long wcstoull(const wchar_t *text, wchar_t **end, int base) PERFLIB_SYMBOL("wcstoull");
double wcstod(const wchar_t *text, wchar_t **end) PERFLIB_SYMBOL("wcstod");
float wcstof(const wchar_t *text, wchar_t **end) PERFLIB_SYMBOL("wcstof");
long double wcstold(const wchar_t *text, wchar_t **end) PERFLIB_SYMBOL("wcstold");
size_t mbstowcs(wchar_t *wide, const char *narrow, size_t count) PERFLIB_SYMBOL("mbstowcs");
size_t wcstombs(char *narrow, const wchar_t *wide, size_t count) PERFLIB_SYMBOL("wcstombs");

#ifdef __cplusplus
/* C++ has two of each; this tells its own headers that it need not add the second one. */
#ifndef __CORRECT_ISO_CPP_WCHAR_H_PROTO
#define __CORRECT_ISO_CPP_WCHAR_H_PROTO
#endif
PERFLIB_BEGIN_CXX
wchar_t *wcschr(wchar_t *text, wchar_t what) PERFLIB_SYMBOL("wcschr");
const wchar_t *wcschr(const wchar_t *text, wchar_t what) PERFLIB_SYMBOL("wcschr");
wchar_t *wcsrchr(wchar_t *text, wchar_t what) PERFLIB_SYMBOL("wcsrchr");
const wchar_t *wcsrchr(const wchar_t *text, wchar_t what) PERFLIB_SYMBOL("wcsrchr");
wchar_t *wcsstr(wchar_t *text, const wchar_t *part) PERFLIB_SYMBOL("wcsstr");
const wchar_t *wcsstr(const wchar_t *text, const wchar_t *part) PERFLIB_SYMBOL("wcsstr");
wchar_t *wcspbrk(wchar_t *text, const wchar_t *set) PERFLIB_SYMBOL("wcspbrk");
const wchar_t *wcspbrk(const wchar_t *text, const wchar_t *set) PERFLIB_SYMBOL("wcspbrk");
wchar_t *wmemchr(wchar_t *text, wchar_t what, size_t count) PERFLIB_SYMBOL("wmemchr");
const wchar_t *wmemchr(const wchar_t *text, wchar_t what, size_t count) PERFLIB_SYMBOL("wmemchr");
PERFLIB_END_CXX
#else
wchar_t *wcschr(const wchar_t *text, wchar_t what) PERFLIB_SYMBOL("wcschr");
wchar_t *wcsrchr(const wchar_t *text, wchar_t what) PERFLIB_SYMBOL("wcsrchr");
wchar_t *wcsstr(const wchar_t *text, const wchar_t *part) PERFLIB_SYMBOL("wcsstr");
wchar_t *wcspbrk(const wchar_t *text, const wchar_t *set) PERFLIB_SYMBOL("wcspbrk");
wchar_t *wmemchr(const wchar_t *text, wchar_t what, size_t count) PERFLIB_SYMBOL("wmemchr");
#endif

/* The rest of the C library's would read or write beyond the text: calling one is an error of the compiler. */
#if defined(__has_attribute)
#if __has_attribute(__error__)
#define PERFLIB_REFUSED __attribute__((__error__("not available with -fshort-wchar")))
#endif
#endif
#ifndef PERFLIB_REFUSED
#define PERFLIB_REFUSED __attribute__((__deprecated__("not available with -fshort-wchar")))
#endif
size_t wcsxfrm(wchar_t *, const wchar_t *, size_t) PERFLIB_REFUSED;
size_t wcsftime(wchar_t *, size_t, const wchar_t *, const struct tm *) PERFLIB_REFUSED;
int wcswidth(const wchar_t *, size_t) PERFLIB_REFUSED;
wchar_t *wcpncpy(wchar_t *, const wchar_t *, size_t) PERFLIB_REFUSED;
wchar_t *wcschrnul(const wchar_t *, wchar_t) PERFLIB_REFUSED;
size_t mbrtowc(wchar_t *, const char *, size_t, mbstate_t *) PERFLIB_REFUSED;
#ifdef __clang__ /* a header of C++ may have declared it before, and an error must be there from the first */
int mbtowc(wchar_t *, const char *, size_t) __attribute__((__deprecated__("not available with -fshort-wchar")));
#else
int mbtowc(wchar_t *, const char *, size_t) PERFLIB_REFUSED;
#endif
size_t mbsrtowcs(wchar_t *, const char **, size_t, mbstate_t *) PERFLIB_REFUSED;
size_t wcsrtombs(char *, const wchar_t **, size_t, mbstate_t *) PERFLIB_REFUSED;
size_t mbsnrtowcs(wchar_t *, const char **, size_t, size_t, mbstate_t *) PERFLIB_REFUSED;
size_t wcsnrtombs(char *, const wchar_t **, size_t, size_t, mbstate_t *) PERFLIB_REFUSED;
wchar_t *fgetws(wchar_t *, int, FILE *) PERFLIB_REFUSED;
wchar_t *fgetws_unlocked(wchar_t *, int, FILE *) PERFLIB_REFUSED;
int fputws_unlocked(const wchar_t *, FILE *) PERFLIB_REFUSED;
FILE *open_wmemstream(wchar_t **, size_t *) PERFLIB_REFUSED;
int fwscanf(FILE *, const wchar_t *, ...) PERFLIB_REFUSED;
int wscanf(const wchar_t *, ...) PERFLIB_REFUSED;
int swscanf(const wchar_t *, const wchar_t *, ...) PERFLIB_REFUSED;
int vfwscanf(FILE *, const wchar_t *, va_list) PERFLIB_REFUSED;
int vwscanf(const wchar_t *, va_list) PERFLIB_REFUSED;
int vswscanf(const wchar_t *, const wchar_t *, va_list) PERFLIB_REFUSED;

/* Those that few systems have, and that need types which not all dialects have: with any arguments. For such a function
 * of C the error attribute is nothing to Clang.
 */
#ifdef __cplusplus
#define PERFLIB_ANY ...
#else
#define PERFLIB_ANY
#ifdef __clang__
#undef PERFLIB_REFUSED
#define PERFLIB_REFUSED __attribute__((__unavailable__("not available with -fshort-wchar")))
#endif
#endif
int wcstol_l(PERFLIB_ANY) PERFLIB_REFUSED;
int wcstoul_l(PERFLIB_ANY) PERFLIB_REFUSED;
int wcstoll_l(PERFLIB_ANY) PERFLIB_REFUSED;
int wcstoull_l(PERFLIB_ANY) PERFLIB_REFUSED;
int wcstod_l(PERFLIB_ANY) PERFLIB_REFUSED;
int wcstof_l(PERFLIB_ANY) PERFLIB_REFUSED;
int wcstold_l(PERFLIB_ANY) PERFLIB_REFUSED;
int wcscasecmp_l(PERFLIB_ANY) PERFLIB_REFUSED;
int wcsncasecmp_l(PERFLIB_ANY) PERFLIB_REFUSED;
int wcscoll_l(PERFLIB_ANY) PERFLIB_REFUSED;
int wcsxfrm_l(PERFLIB_ANY) PERFLIB_REFUSED;
int wcsftime_l(PERFLIB_ANY) PERFLIB_REFUSED;
int wcswcs(PERFLIB_ANY) PERFLIB_REFUSED;
int wcstoq(PERFLIB_ANY) PERFLIB_REFUSED;
int wcstouq(PERFLIB_ANY) PERFLIB_REFUSED;
int wcstof16(PERFLIB_ANY) PERFLIB_REFUSED;
int wcstof16_l(PERFLIB_ANY) PERFLIB_REFUSED;
int wcstof32(PERFLIB_ANY) PERFLIB_REFUSED;
int wcstof32_l(PERFLIB_ANY) PERFLIB_REFUSED;
int wcstof64(PERFLIB_ANY) PERFLIB_REFUSED;
int wcstof64_l(PERFLIB_ANY) PERFLIB_REFUSED;
int wcstof128(PERFLIB_ANY) PERFLIB_REFUSED;
int wcstof128_l(PERFLIB_ANY) PERFLIB_REFUSED;
int wcstof32x(PERFLIB_ANY) PERFLIB_REFUSED;
int wcstof32x_l(PERFLIB_ANY) PERFLIB_REFUSED;
int wcstof64x(PERFLIB_ANY) PERFLIB_REFUSED;
int wcstof64x_l(PERFLIB_ANY) PERFLIB_REFUSED;
int wcstof128x(PERFLIB_ANY) PERFLIB_REFUSED;
int wcstof128x_l(PERFLIB_ANY) PERFLIB_REFUSED;
#undef PERFLIB_ANY
#endif

#ifndef __cplusplus
/* Windows has these in any mode of the language. */
#if __SIZEOF_WCHAR_T__ == 4
size_t wcsnlen(const wchar_t *text, size_t limit);
wchar_t *wcsdup(const wchar_t *text);
#endif
size_t strnlen(const char *text, size_t limit);
char *strdup(const char *text);
#endif

/* What only MS C has. A long has 32 bits there. */
int _wtoi(const wchar_t *text) PERFLIB_WIDE_SYMBOL("_wtoi");
int _wtol(const wchar_t *text) PERFLIB_WIDE_SYMBOL("_wtoi");
long long _wtoi64(const wchar_t *text) PERFLIB_WIDE_SYMBOL("_wtoi64");
long long _wtoll(const wchar_t *text) PERFLIB_WIDE_SYMBOL("_wtoi64");
double _wtof(const wchar_t *text) PERFLIB_WIDE_SYMBOL("_wtof");
long long _wcstoi64(const wchar_t *text, wchar_t **end, int base) PERFLIB_WIDE_SYMBOL("wcstoll");
unsigned long long _wcstoui64(const wchar_t *text, wchar_t **end, int base) PERFLIB_WIDE_SYMBOL("wcstoull");
int _wcsicmp(const wchar_t *left, const wchar_t *right) PERFLIB_WIDE_SYMBOL("wcscasecmp");
int _wcsnicmp(const wchar_t *left, const wchar_t *right, size_t count) PERFLIB_WIDE_SYMBOL("wcsncasecmp");
int wcsicmp(const wchar_t *left, const wchar_t *right) PERFLIB_WIDE_SYMBOL("wcscasecmp");
int wcsnicmp(const wchar_t *left, const wchar_t *right, size_t count) PERFLIB_WIDE_SYMBOL("wcsncasecmp");
wchar_t *_wcsdup(const wchar_t *text) PERFLIB_WIDE_SYMBOL("wcsdup");
wchar_t *_wcsupr(wchar_t *text) PERFLIB_WIDE_SYMBOL("_wcsupr");
wchar_t *_wcslwr(wchar_t *text) PERFLIB_WIDE_SYMBOL("_wcslwr");
wchar_t *_wcsrev(wchar_t *text) PERFLIB_WIDE_SYMBOL("_wcsrev");
wchar_t *wcstok_s(wchar_t *text, const wchar_t *set, wchar_t **rest) PERFLIB_WIDE_SYMBOL("wcstok");

/* The same for narrow text; these the C library has under other names. */
int _stricmp(const char *left, const char *right) __asm__("strcasecmp");
int _strnicmp(const char *left, const char *right, size_t count) __asm__("strncasecmp");
int stricmp(const char *left, const char *right) __asm__("strcasecmp");
int strnicmp(const char *left, const char *right, size_t count) __asm__("strncasecmp");
char *_strdup(const char *text) __asm__("strdup");
char *_strupr(char *text) PERFLIB_SYMBOL("_strupr");
char *_strlwr(char *text) PERFLIB_SYMBOL("_strlwr");
char *_strrev(char *text) PERFLIB_SYMBOL("_strrev");
char *strtok_s(char *text, const char *set, char **rest) __asm__("strtok_r");
long long _atoi64(const char *text) __asm__("atoll");
long long _strtoi64(const char *text, char **end, int base) __asm__("strtoll");
unsigned long long _strtoui64(const char *text, char **end, int base) __asm__("strtoull");
int _fileno(FILE *stream) __asm__("fileno");

PERFLIB_END_C

#endif
