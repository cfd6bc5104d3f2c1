/* Tests of the library that supports source written for Windows: formatted output, wide text, functions that know their
 * buffer's size, GUIDs, code pages, memory, dates. C11 and C++11, both sizes of wchar_t. What is expected is what
 * Microsoft's documents say of the functions, or what our own headers say where we do otherwise.
 */
#define UNICODE
#define _UNICODE
#include <windows.h>

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include <initguid.h>
#include <io.h>
#include <objbase.h>
#include <strsafe.h>
#include <tchar.h>
#include <wmistr.h>

static int checks, failures;

static void report(int line, const char *what)
{
    fprintf(stderr, "%s:%d: %s\n", __FILE__, line, what);
    failures++;
}

static void check_at(int line, int is_true, const char *what)
{
    checks++;
    if (!is_true) report(line, what);
}

static void number_at(int line, long long found, long long expected, const char *what)
{
    char text[200];
    checks++;
    if (found == expected) return;
    sprintf_s(text, sizeof text, "%s is %lld, not %lld", what, found, expected);
    report(line, text);
}

static void narrow_at(int line, const char *found, const char *expected)
{
    char text[400];
    checks++;
    if (strcmp(found, expected) == 0) return;
    sprintf_s(text, sizeof text, "found \"%.100s\", not \"%.100s\"", found, expected);
    report(line, text);
}

static void wide_at(int line, const wchar_t *found, const wchar_t *expected)
{
    char text[800];
    checks++;
    if (wcscmp(found, expected) == 0) return;
    sprintf_s(text, sizeof text, "found \"%.100S\", not \"%.100S\"", found, expected);
    report(line, text);
}

#define CHECK(condition)        check_at(__LINE__, (condition) ? 1 : 0, #condition)
#define NUMBER(found, expected) number_at(__LINE__, (long long)(found), (long long)(expected), #found)
#define NARROW(found, expected) narrow_at(__LINE__, found, expected)
#define WIDE(found, expected)   wide_at(__LINE__, found, expected)

static char narrow[2000];
static wchar_t wide[2000];

/* A directive gives the same text, and the same length, in both kinds of function. */
#define SAME(expected, format, ...)                                                  \
    do {                                                                             \
        NUMBER(snprintf(narrow, sizeof narrow, format, __VA_ARGS__), strlen(expected)); \
        NARROW(narrow, expected);                                                    \
        NUMBER(swprintf(wide, _countof(wide), L##format, __VA_ARGS__), strlen(expected)); \
        WIDE(wide, L##expected);                                                     \
    } while (0)

#define FORMAT(expected, ...)                                                        \
    do {                                                                             \
        NUMBER(snprintf(narrow, sizeof narrow, __VA_ARGS__), strlen(expected));      \
        NARROW(narrow, expected);                                                    \
    } while (0)

#define WFORMAT(expected, ...)                                                       \
    do {                                                                             \
        NUMBER(swprintf(wide, _countof(wide), __VA_ARGS__), wcslen(expected));       \
        WIDE(wide, expected);                                                        \
    } while (0)

static void integers(void)
{
    SAME("0 -1 42", "%d %d %i", 0, -1, 42);
    SAME("4294967295 -1", "%lu %ld", (DWORD)-1, (LONG)-1);
    SAME("ffffffff FFFFFFFF 37777777777", "%lx %lX %lo", (LONG)-1, (LONG)-1, (LONG)-1);
    SAME("2147483647|-2147483648", "%ld|%ld", (LONG)INT_MAX, (LONG)INT_MIN);
    SAME("18446744073709551615", "%I64u", ~0ULL);
    SAME("-9223372036854775808", "%I64d", LLONG_MIN);
    SAME("ffffffffffffffff", "%I64x", ~0ULL);
    SAME("1234567890123 1234567890123", "%lld %llu", 1234567890123LL, 1234567890123ULL);
    SAME("4294967295 -7", "%I32u %I32d", (DWORD)-1, -7);
    SAME("1099511627776 -5 99", "%Iu %Id %Ix", (SIZE_T)1 << 40, (SSIZE_T)-5, (SIZE_T)0x99);
    SAME("1099511627776 -5 12", "%zu %td %jd", (size_t)1 << 40, (ptrdiff_t)-5, (intmax_t)12);
    SAME("44 -2 65535 65534", "%hhu %hd %hu %hu", 300, -2, 65535, -2);
    SAME("-128 ff", "%hhd %hhx", 128, -1);
    SAME("   42|42   |00042|+42| 42|-0042", "%5d|%-5d|%05d|%+d|% d|%05d", 42, 42, 42, 42, 42, -42);
    SAME("  007|007  |  007|+07", "%5.3d|%-5.3d|%05.3d|%+.2d", 7, 7, 7, 7);
    SAME("||0|", "%.0d|%.0u|%#.0o|%.0x", 0, 0u, 0u, 0u);
    SAME("0x2a 0X2A 052 0 0", "%#x %#X %#o %#x %#o", 42, 42, 42, 0, 0);
    SAME("0x0000002a|    0x2a|0x2a    |0x00002a", "%#010x|%#8x|%-#8x|%#.6x", 42, 42, 42, 42);
    SAME("   42|42   |00042", "%*d|%*d|%0*d", 5, 42, -5, 42, 5, 42);
    SAME("042|42|  042", "%.*d|%.*d|%*.*d", 3, 42, -3, 42, 5, 3, 42);
    SAME("100% 5%", "%d%% %d%%", 100, 5);
    SAME("1099511627776 -5 1234567890 7 8", "%" PRIu64 " %" PRIdMAX " %" PRIxPTR " %" PRId32 " %" PRIuFAST16,
        (uint64_t)1 << 40, (intmax_t)-5, (uintptr_t)0x1234567890, (int32_t)7, (uint_fast16_t)8);
    if (sizeof(void *) == 8) {
        SAME("00000000DEADBEEF", "%p", (void *)0xDEADBEEF);
        SAME("0000000000000000|    000000000000002A", "%p|%20p", (void *)0, (void *)42);
    }
}

static void floats(void)
{
    SAME("1.500000 -0.250000 0.000000", "%f %f %f", 1.5, -0.25, 0.0);
    SAME("3.14|   3.1|3.1   |0003.1|+3.1| 3.1", "%.2f|%6.1f|%-6.1f|%06.1f|%+.1f|% .1f", 3.14159, 3.14159, 3.14159,
        3.14159, 3.14159, 3.14159);
    SAME("1.234500e+03 1.2E+03 1e-100", "%e %.1E %.0e", 1234.5, 1234.5, 1e-100);
    SAME("1234.5 1e+20 0.0001 1e-05 1.00000", "%g %g %g %g %#g", 1234.5, 1e20, 1e-4, 1e-5, 1.0);
    SAME("-0.0 0. 3", "%.1f %#.0f %.0f", -0.0, 0.0, 3.4);
    SAME("  inf| -inf|inf  |INF|+inf", "%5f|%05f|%-5f|%F|%+f", 1e308 * 10, -1e308 * 10, 1e308 * 10, 1e308 * 10,
        1e308 * 10);
    SAME("0x1.8p+1 0X1.8P+1 0x00001.8p+1 -0x1p-2", "%a %A %012a %a", 3.0, 3.0, 3.0, -0.25);
    SAME("1.500000 2.50", "%Lf %.2Lf", 1.5L, 2.5L);
    SAME("0.33 50.0%", "%.*f %.1f%%", 2, 1.0 / 3, 50.0);
    NUMBER(snprintf(narrow, sizeof narrow, "%.1500f", 1.5), 1502);
    CHECK(narrow[0] == '1' && narrow[1501] == '0' && narrow[1502] == 0);
    NUMBER(snprintf(narrow, sizeof narrow, "%.1500e", 1.5), 1506);
    NARROW(narrow + 1498, "0000e+00");
    NUMBER(snprintf(narrow, sizeof narrow, "%#.1500g", 1.5), 1501);
    NUMBER(snprintf(narrow, sizeof narrow, "%.1500g", 1.5), 3);
    NUMBER(snprintf(NULL, 0, "%f", 1.7976931348623157e308), 316);
    NUMBER(snprintf(NULL, 0, "%.2000000000f", 1.5), 2000000002);
}

static void texts(void)
{
    const char *no_text = NULL;
    const wchar_t *no_wide_text = NULL;
    char three[3] = { 'a', 'b', 'c' };
    wchar_t wide_three[3] = { L'x', L'y', L'z' };

    FORMAT("narrow|wide|wide|wide|narrow", "%s|%S|%ls|%ws|%hs", "narrow", L"wide", L"wide", L"wide", "narrow");
    WFORMAT(L"wide|narrow|wide|wide|narrow", L"%s|%S|%ls|%ws|%hs", L"wide", "narrow", L"wide", L"wide", "narrow");
    FORMAT("narrow|wide|narrow", "%hS|%lS|%hs", "narrow", L"wide", "narrow");
    WFORMAT(L"narrow|wide", L"%hS|%lS", "narrow", L"wide");
    FORMAT("    ab|ab    |ab|    ab|     a", "%6s|%-6s|%1s|%6S|%6.1s", "ab", "ab", "ab", L"ab", "ab");
    WFORMAT(L"    ab|ab    |ab|    ab|     a", L"%6s|%-6s|%1s|%6S|%6.1s", L"ab", L"ab", L"ab", "ab", L"ab");
    FORMAT("abc|ab||xyz|xy|", "%.3s|%.2s|%.0s|%.3S|%.2S|%.0S", three, three, three, wide_three, wide_three, wide_three);
    WFORMAT(L"abc|ab||xyz|xy|", L"%.3S|%.2S|%.0S|%.3s|%.2s|%.0s", three, three, three, wide_three, wide_three,
        wide_three);
    FORMAT("abc|ab", "%.*s|%.*s", -1, "abc", 2, "abc");
    FORMAT("(null)|(null)|(nu|  (null)", "%s|%S|%.3s|%8s", no_text, no_wide_text, no_text, no_text);
    WFORMAT(L"(null)|(null)|(nu|  (null)", L"%s|%S|%.3s|%8s", no_wide_text, no_text, no_wide_text, no_wide_text);
    FORMAT("A|B|C|D", "%c|%C|%hc|%lc", 'A', L'B', 'C', (wint_t)L'D');
    WFORMAT(L"A|B|C|D", L"%c|%C|%hc|%lc", L'A', 'B', 'C', (wint_t)L'D');
    FORMAT("    A|A    |", "%5c|%-5c|", 'A', 'A');
    NUMBER(snprintf(narrow, sizeof narrow, "a%cb", 0), 3);
    CHECK(memcmp(narrow, "a\0b", 4) == 0);

    /* Beyond ASCII: narrow text is UTF-8. */
    FORMAT("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "%S", L"\u00e4\u20ac\U0001F600");
    WFORMAT(L"\u00e4\u20ac\U0001F600", L"%S", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
    FORMAT("\xe2\x82\xac|\xc3\xa4", "%C|%lc", (wint_t)0x20ac, (wint_t)0xe4);
    FORMAT("\xc3\xa4||\xc3\xa4\xe2\x82\xac", "%.3S|%.1S|%.5S", L"\u00e4\u20ac", L"\u00e4\u20ac", L"\u00e4\u20ac");
    WFORMAT(L"\u00e4||\u00e4\u20ac", L"%.3S|%.1S|%.5S", "\xc3\xa4\xe2\x82\xac", "\xc3\xa4\xe2\x82\xac",
        "\xc3\xa4\xe2\x82\xac");
    FORMAT("  \xe2\x82\xac|", "%5S|", L"\u20ac");
    WFORMAT(L"    \u20ac|", L"%5S|", "\xe2\x82\xac");
    WFORMAT(L"a\ufffdb\ufffd\ufffdc\ufffd", L"%S", "a\xff" "b\xc0\x80" "c\xe2\x82");
    wide[0] = 0xD800;
    wide[1] = L'x';
    wide[2] = 0xDC00;
    wide[3] = 0;
    FORMAT("\xef\xbf\xbdx\xef\xbf\xbd", "%S", wide);
}

/* What a compiler thinks of the length of a directive that it does not know must not count. */
static void lengths(void)
{
    int length = snprintf(narrow, sizeof narrow, "%I64u", 5ULL);
    CHECK(length < 64);
    length = sprintf(narrow, "%lx", (LONG)-1);
    CHECK(length == 8);
    length = snprintf(NULL, 0, "%lu", (LONG)-1);
    CHECK(length == 10);
}

static void refusals(void)
{
    int written = 99;
    errno = 0;
    NUMBER(snprintf(narrow, sizeof narrow, "abc%n", &written), -1);
    NUMBER(errno, EINVAL);
    NUMBER(written, 99);
    NUMBER(swprintf(wide, _countof(wide), L"abc%n", &written), -1);
    NUMBER(written, 99);
    /* What is no conversion stands for itself, except in the secure forms. */
    FORMAT("y7", "%y%d", 7);
    FORMAT("a%b", "a%5%b");
    FORMAT("\xc3\xa4", "%\xc3\xa4");
    FORMAT("abc", "abc%");
    FORMAT("abc", "abc%-08.3I64");
    WFORMAT(L"\u20acy7", L"%\u20ac%-5.3I64y%d", 7);
    WFORMAT(L"abc", L"abc%");
    NUMBER(_snprintf(narrow, 10, "%y"), 1);
    NUMBER(wsprintfA(narrow, "100%"), 3);
    NUMBER(StringCchPrintfA(narrow, 20, "a%yb"), S_OK);
    NARROW(narrow, "ayb");
    errno = 0;
    NUMBER(sprintf_s(narrow, sizeof narrow, "a%y"), -1);
    NUMBER(errno, EINVAL);
    NARROW(narrow, "");
    NUMBER(sprintf_s(narrow, sizeof narrow, "a%"), -1);
    NUMBER(_snprintf_s(narrow, sizeof narrow, _TRUNCATE, "a%y"), -1);
    NUMBER(swprintf_s(wide, _countof(wide), L"a%"), -1);
    NUMBER(_snwprintf_s(wide, _countof(wide), _TRUNCATE, L"a%y"), -1);
    NUMBER(StringCchPrintfA(narrow, 20, "%n", &written), STRSAFE_E_INVALID_PARAMETER);
    NUMBER(snprintf(narrow, sizeof narrow, "%99999999999d", 1), -1);
    NUMBER(errno, EOVERFLOW);
    NUMBER(snprintf(NULL, 0, "%2147483647d", 1), INT_MAX);
    NUMBER(snprintf(NULL, 0, "%2147483647d%d", 1, 1), -1);
    NUMBER(snprintf(NULL, 0, "%*d", INT_MIN, 1), -1);
    NUMBER(snprintf(narrow, 5, "%1000000000d", 1), 1000000000);
    NARROW(narrow, "    ");
}

static void buffers(void)
{
    char small[4];
    wchar_t wide_small[4];

    NUMBER(snprintf(small, 4, "abcdef"), 6);
    NARROW(small, "abc");
    NUMBER(snprintf(small, 0, "abcdef"), 6);
    NARROW(small, "abc");
    NUMBER(swprintf(wide_small, 4, L"abc"), 3);
    NUMBER(swprintf(wide_small, 4, L"abcd"), -1);
    WIDE(wide_small, L"abc");
    NUMBER(sprintf(narrow, "%d-%s", 5, "x"), 3);
    NUMBER(_swprintf(wide, L"%d-%s", 5, L"x"), 3);
    WIDE(wide, L"5-x");

    /* _snprintf: no terminator when the buffer is full. */
    memset(narrow, '#', 8);
    NUMBER(_snprintf(narrow, 4, "abc"), 3);
    NARROW(narrow, "abc");
    memset(narrow, '#', 8);
    NUMBER(_snprintf(narrow, 4, "abcd"), 4);
    CHECK(memcmp(narrow, "abcd####", 8) == 0);
    NUMBER(_snprintf(narrow, 4, "abcde"), -1);
    CHECK(memcmp(narrow, "abcd####", 8) == 0);
    NUMBER(_snprintf(NULL, 0, "abcde"), 5);
    wmemset(wide, L'#', 8);
    NUMBER(_snwprintf(wide, 4, L"%s", L"abcd"), 4);
    CHECK(wmemcmp(wide, L"abcd####", 8) == 0);
    NUMBER(_snwprintf(wide, 4, L"abcde"), -1);
    NUMBER(_scprintf("%d", 12345), 5);
    NUMBER(_scwprintf(L"%d", 12345), 5);

    /* The secure forms. */
    NUMBER(sprintf_s(small, 4, "%d", 123), 3);
    NARROW(small, "123");
    errno = 0;
    NUMBER(sprintf_s(small, 4, "%d", 1234), -1);
    NUMBER(errno, ERANGE);
    NARROW(small, "");
    NUMBER(sprintf_s((char *)NULL, 4, "x"), -1);
    NUMBER(errno, EINVAL);
    NUMBER(swprintf_s(wide_small, 4, L"%d", 123), 3);
    NUMBER(swprintf_s(wide_small, 4, L"%d", 1234), -1);
    WIDE(wide_small, L"");
    NUMBER(_snprintf_s(small, 4, _TRUNCATE, "abcdef"), -1);
    NARROW(small, "abc");
    NUMBER(_snprintf_s(small, 4, _TRUNCATE, "abc"), 3);
    NUMBER(_snprintf_s(small, 4, 2, "abc"), -1);
    NARROW(small, "ab");
    NUMBER(_snprintf_s(small, 4, 3, "abc"), 3);
    NUMBER(_snprintf_s(small, 4, 9, "abc"), 3);
    NUMBER(_snprintf_s(small, 4, 9, "abcd"), -1);
    NARROW(small, "");
    NUMBER(_snwprintf_s(wide_small, 4, _TRUNCATE, L"abcdef"), -1);
    WIDE(wide_small, L"abc");
    NUMBER(wsprintfA(narrow, "%s %S %lu", "a", L"b", (DWORD)7), 5);
    NUMBER(wsprintfW(wide, L"%s %S %lu", L"a", "b", (DWORD)7), 5);
    WIDE(wide, L"a b 7");
    NUMBER(wsprintfA(narrow, "%2000d", 1), 1023);
}

static void streams(void)
{
    char found[100] = { 0 };
    FILE *file = tmpfile();
    if (file == NULL) {
        report(__LINE__, "no temporary file");
        return;
    }
    NUMBER(fprintf(file, "%s %S\n", "narrow", L"\u00e4"), 10);
    NUMBER(fwprintf(file, L"%s %S%5d\n", L"\u20ac", "\xc3\xa4", 42), 9);
    NUMBER(fputws(L"text\u00e4\n", file), 0);
    NUMBER(fputwc(L'\u20ac', file), 0x20ac);
    NUMBER(fwprintf(file, L"%lc%lc.", (wint_t)0xD83D, (wint_t)0xDE00), 3);
    NUMBER(fprintf(file, "%lu\n", (DWORD)-1), 11);
    rewind(file);
    CHECK(fread(found, 1, sizeof found - 1, file) > 0);
    /* Two halves make a character, if this program has halves. */
    sprintf_s(narrow, sizeof narrow, "%s%s.4294967295\n",
        "narrow \xc3\xa4\n\xe2\x82\xac \xc3\xa4   42\ntext\xc3\xa4\n\xe2\x82\xac",
        sizeof(wchar_t) == 2 ? "\xf0\x9f\x98\x80" : "\xef\xbf\xbd\xef\xbf\xbd");
    NARROW(found, narrow);
    fclose(file);

    /* The same file, as wide functions of the C library write it: what it wrote before and writes then must stand. */
    file = tmpfile();
    if (file == NULL || fwide(file, 1) <= 0) return;
    memset(found, 0, sizeof found);
    NUMBER(fprintf(file, "%s %S\n", "narrow", L"wide"), 12);
    NUMBER(fwprintf(file, L"%s%5d\n", L"wide", 42), 10);
    NUMBER(fputws(L"text\n", file), 0);
    NUMBER(fputwc(L'c', file), 'c');
    NUMBER(fprintf(file, "%600d", 5), 600);
    NUMBER(fprintf_s(file, "%y"), -1);
    NUMBER(fwprintf_s(file, L"%d%y", 7), -1);
    rewind(file);
    CHECK(fgetwc(file) == L'n');
    CHECK(fflush(file) == 0 && lseek(_fileno(file), 0, SEEK_SET) == 0 && read(_fileno(file), found, 34) == 34);
    NARROW(found, "narrow wide\nwide   42\ntext\nc      ");
    NUMBER(lseek(_fileno(file), 0, SEEK_END), 12 + 10 + 5 + 1 + 600 + 1);
    fclose(file);

    file = fopen("/dev/full", "w");
    if (file == NULL) return;
    setvbuf(file, NULL, _IONBF, 0);
    NUMBER(fprintf(file, "%d", 5), -1);
    NUMBER(fwprintf(file, L"%2147483647d", 5), -1);
    NUMBER(fputws(L"x", file), -1);
    fclose(file);
}

static void wide_text(void)
{
    wchar_t text[20] = L"_Total";
    wchar_t *rest = NULL, *end = NULL;

    NUMBER(wcslen(text), 6);
    NUMBER(wcsnlen(text, 15), 6);
    NUMBER(wcsnlen(text, 3), 3);
    wcscpy(text, L"one");
    wcscat(text, L",two");
    WIDE(text, L"one,two");
    wcsncat(text, L";three", 2);
    WIDE(text, L"one,two;t");
    CHECK(wcscmp(L"abc", L"abd") < 0 && wcscmp(L"b", L"abc") > 0 && wcscmp(L"", L"") == 0);
    CHECK(wcsncmp(L"abcX", L"abcY", 3) == 0 && wcsncmp(L"abcX", L"abcY", 4) < 0);
    CHECK(_wcsicmp(L"Processor", L"PROCESSOR") == 0 && _wcsicmp(L"a", L"B") < 0 && _wcsnicmp(L"ABx", L"aby", 2) == 0);
    CHECK(wcschr(text, L',') == text + 3 && wcschr(text, L'?') == NULL && wcschr(text, 0) == text + 9);
    CHECK(wcsrchr(text, L't') == text + 8 && wcsstr(text, L"two") == text + 4 && wcsstr(text, L"six") == NULL);
    CHECK(wcsstr(text, L"") == text && wcspbrk(text, L";,") == text + 3 && wcspbrk(text, L"?") == NULL);
    CHECK(wcsspn(L"aabc", L"ab") == 3 && wcscspn(L"aabc", L"cb") == 2);
    WIDE(wcstok(text, L",;", &rest), L"one");
    WIDE(wcstok(NULL, L",;", &rest), L"two");
    WIDE(wcstok(NULL, L",;", &rest), L"t");
    CHECK(wcstok(NULL, L",;", &rest) == NULL);
    wmemset(text, L'z', 3);
    wcsncpy(text, L"ab", 6);
    CHECK(wmemcmp(text, L"ab\0\0\0\0", 6) == 0);
    wmemcpy(text, L"12345", 6);
    wmemmove(text + 1, text, 3);
    WIDE(text, L"11235");
    CHECK(wmemchr(text, L'3', 5) == text + 3 && wmemchr(text, L'9', 5) == NULL);
    rest = _wcsdup(L"copy");
    WIDE(rest, L"copy");
    WIDE(_wcsupr(rest), L"COPY");
    free(rest);

    NUMBER(wcstol(L"  -42x", &end, 10), -42);
    WIDE(end, L"x");
    NUMBER(wcstol(L"0x1F", NULL, 0), 31);
    NUMBER(wcstol(L"0x", &end, 16), 0);
    WIDE(end, L"x");
    NUMBER(wcstol(L"z", &end, 10), 0);
    WIDE(end, L"z");
    NUMBER(wcstoul(L"017", NULL, 0), 15);
    NUMBER(wcstoul(L"zz", NULL, 36), 35 * 36 + 35);
    NUMBER(wcstoll(L"-9223372036854775808", NULL, 10), LLONG_MIN);
    errno = 0;
    NUMBER(wcstoll(L"9223372036854775808", NULL, 10), LLONG_MAX);
    NUMBER(errno, ERANGE);
    CHECK(wcstoull(L"18446744073709551615", NULL, 10) == ULLONG_MAX);
    CHECK(wcstoull(L"-1", NULL, 10) == ULLONG_MAX);
    CHECK(wcstod(L" 2.5e3kg", &end) == 2500.0);
    WIDE(end, L"kg");
    const int bases[] = { 37, 1, -1 };
    for (size_t index = 0; index < _countof(bases); index++) {
        const wchar_t *digits = L"12";
        errno = 0;
        NUMBER(_wcstoi64(digits, &end, bases[index]), 0);
        CHECK(end == digits && errno == EINVAL);
        errno = 0;
        NUMBER(_wcstoui64(digits, &end, bases[index]), 0);
        CHECK(end == digits && errno == EINVAL);
        NUMBER(wcstol(digits, NULL, bases[index]), 0);
    }
    NUMBER(_wcstoi64(L"!", &end, 36), 0);
    WIDE(end, L"!");
    for (size_t index = 0; index < 1500; index++) wide[index] = L'0';
    wcscpy(wide + 1500, L"25.5e1kg");
    CHECK(wcstod(wide, &end) == 255.0 && wcstof(wide, NULL) == 255.0f && wcstold(wide, NULL) == 255.0L);
    CHECK(end == wide + 1506 && _wtof(wide) == 255.0);
    NUMBER(_wtoi(L" 12abc"), 12);
    NUMBER(_wtoi(L"99999999999"), INT_MAX);
    NUMBER(_wtol(L"-7"), -7);
    NUMBER(_wtoi64(L"1234567890123"), 1234567890123LL);

    NUMBER(mbstowcs(wide, "abc", 10), 3);
    WIDE(wide, L"abc");
    NUMBER(wcstombs(narrow, L"abc", 10), 3);
    NARROW(narrow, "abc");
    if (sizeof(wchar_t) == 2) {
        /* Then it is our function, for which narrow text is UTF-8 in any locale. */
        NUMBER(mbstowcs(wide, "\xc3\xa4\xf0\x9f\x98\x80", 10), 3);
        WIDE(wide, L"\u00e4\U0001F600");
        NUMBER(mbstowcs(NULL, "\xc3\xa4\xf0\x9f\x98\x80", 0), 3);
        NUMBER(wcstombs(narrow, L"\u00e4\U0001F600", 10), 6);
        NARROW(narrow, "\xc3\xa4\xf0\x9f\x98\x80");
        NUMBER(wcstombs(narrow, L"\u00e4\U0001F600", 5), 2);
        NUMBER(mbstowcs(wide, "\xff", 10), (size_t)-1);
    }
    NUMBER(_stricmp("Global", "GLOBAL"), 0);
    NUMBER(_strnicmp("abX", "ABY", 2), 0);
}

static void secure(void)
{
    char small[4] = "";
    wchar_t wide_small[4] = L"";

    NUMBER(strcpy_s(small, 4, "abc"), 0);
    NARROW(small, "abc");
    NUMBER(strcpy_s(small, 4, "abcd"), ERANGE);
    NARROW(small, "");
    NUMBER(strcpy_s((char *)NULL, 4, "a"), EINVAL);
    strcpy_s(small, 4, "x");
    NUMBER(strcpy_s(small, 4, NULL), EINVAL);
    NARROW(small, "");
    NUMBER(wcscpy_s(wide_small, 4, L"abc"), 0);
    WIDE(wide_small, L"abc");
    NUMBER(wcscpy_s(wide_small, 4, L"abcd"), ERANGE);
    WIDE(wide_small, L"");

    NUMBER(wcsncpy_s(wide_small, 4, L"abcdef", 2), 0);
    WIDE(wide_small, L"ab");
    NUMBER(wcsncpy_s(wide_small, 4, L"abcdef", 4), ERANGE);
    WIDE(wide_small, L"");
    NUMBER(wcsncpy_s(wide_small, 4, L"abcdef", _TRUNCATE), STRUNCATE);
    WIDE(wide_small, L"abc");
    NUMBER(wcsncpy_s(wide_small, 4, L"abc", _TRUNCATE), 0);
    NUMBER(wcsncpy_s(wide_small, 4, L"abc", 100), 0);
    NUMBER(wcsncpy_s(wide_small, 4, L"abc", 0), 0);
    WIDE(wide_small, L"");
    NUMBER(wcsncpy_s((wchar_t *)NULL, 0, L"abc", 0), 0);
    NUMBER(wcsncpy_s(wide_small, 0, L"abc", 1), EINVAL);

    NUMBER(wcscpy_s(wide_small, 4, L"a"), 0);
    NUMBER(wcscat_s(wide_small, 4, L"bc"), 0);
    WIDE(wide_small, L"abc");
    NUMBER(wcscat_s(wide_small, 4, L"d"), ERANGE);
    WIDE(wide_small, L"");
    wcscpy_s(wide_small, 4, L"ab");
    NUMBER(wcsncat_s(wide_small, 4, L"cdef", _TRUNCATE), STRUNCATE);
    WIDE(wide_small, L"abc");
    wcscpy_s(wide_small, 4, L"ab");
    NUMBER(wcsncat_s(wide_small, 4, L"cdef", 1), 0);
    WIDE(wide_small, L"abc");
    wmemcpy(wide_small, L"full", 4);
    NUMBER(wcscat_s(wide_small, 4, L"x"), EINVAL);
    strcpy_s(small, 4, "ab");
    NUMBER(strncat_s(small, 4, "cdef", _TRUNCATE), STRUNCATE);
    NARROW(small, "abc");

    NUMBER(_itow_s(-255, wide, 20, 10), 0);
    WIDE(wide, L"-255");
    NUMBER(_itow_s(-1, wide, 20, 16), 0);
    WIDE(wide, L"ffffffff");
    NUMBER(_itow_s(1234, wide, 4, 10), ERANGE);
    WIDE(wide, L"");
    NUMBER(_itow_s(5, wide, 20, 1), EINVAL);
    NUMBER(_ultow_s((DWORD)-1, wide, 20, 10), 0);
    WIDE(wide, L"4294967295");
    NUMBER(_ui64tow_s(ULLONG_MAX, wide, 65, 2), 0);
    NUMBER(wcslen(wide), 64);
    NUMBER(_i64tow_s(LLONG_MIN, wide, 65, 10), 0);
    WIDE(wide, L"-9223372036854775808");
    NUMBER(_itoa_s(0, narrow, 2, 10), 0);
    NARROW(narrow, "0");
    NARROW(_itoa(-7, narrow, 10), "-7");
    WIDE(_itow(35, wide, 36), L"z");

#ifdef __cplusplus
    NUMBER(wcscpy_s(wide_small, L"abcd"), ERANGE);
    NUMBER(wcsncpy_s(wide_small, L"abcd", _TRUNCATE), STRUNCATE);
    NUMBER(strcpy_s(small, "abc"), 0);
    NUMBER(swprintf_s(wide_small, L"%d", 123), 3);
    NUMBER(_snwprintf_s(wide_small, _TRUNCATE, L"%d", 12345), -1);
    WIDE(wide_small, L"123");
    NUMBER(sprintf_s(small, "%d", 1234), -1);
    NUMBER(_itow_s(12, wide_small, 10), 0);
    NUMBER(swprintf(wide, L"%s-%d", L"old", 5), 5);
#endif
}

static void strsafe(void)
{
    char small[4] = "";
    WCHAR wide_small[4] = L"";
    size_t length = 99;

    NUMBER(StringCchCopyA(small, 4, "abc"), S_OK);
    NUMBER(StringCchCopyA(small, 4, "abcd"), STRSAFE_E_INSUFFICIENT_BUFFER);
    NARROW(small, "abc");
    NUMBER(StringCchCopyW(wide_small, 4, L"abcd"), STRSAFE_E_INSUFFICIENT_BUFFER);
    WIDE(wide_small, L"abc");
    NUMBER(StringCchCopyW(wide_small, 0, L"abcd"), STRSAFE_E_INVALID_PARAMETER);
    NUMBER(StringCchCopyW(wide_small, (size_t)STRSAFE_MAX_CCH + 1, L"abcd"), STRSAFE_E_INVALID_PARAMETER);
    NUMBER(StringCchCopyNW(wide_small, 4, L"abcdef", 2), S_OK);
    WIDE(wide_small, L"ab");
    NUMBER(StringCchCatW(wide_small, 4, L"c"), S_OK);
    NUMBER(StringCchCatW(wide_small, 4, L"d"), STRSAFE_E_INSUFFICIENT_BUFFER);
    WIDE(wide_small, L"abc");
    StringCchCopyA(small, 4, "a");
    NUMBER(StringCchCatNA(small, 4, "bcdef", 2), S_OK);
    NARROW(small, "abc");
    NUMBER(StringCchLengthW(wide_small, 4, &length), S_OK);
    NUMBER(length, 3);
    NUMBER(StringCchLengthW(wide_small, 3, &length), STRSAFE_E_INVALID_PARAMETER);
    NUMBER(StringCchLengthA(NULL, 3, NULL), STRSAFE_E_INVALID_PARAMETER);
    NUMBER(StringCchPrintfW(wide_small, 4, L"%lu", (DWORD)12345), STRSAFE_E_INSUFFICIENT_BUFFER);
    WIDE(wide_small, L"123");
    NUMBER(StringCchPrintfA(narrow, 20, "%s %S", "a", L"b"), S_OK);
    NARROW(narrow, "a b");
    NUMBER(StringCbCopyW(wide_small, sizeof wide_small, L"abc"), S_OK);
    NUMBER(StringCbCopyW(wide_small, sizeof wide_small, L"abcd"), STRSAFE_E_INSUFFICIENT_BUFFER);
    NUMBER(StringCbPrintfW(wide_small, sizeof wide_small, L"%d", 1234), STRSAFE_E_INSUFFICIENT_BUFFER);
    NUMBER(StringCbLengthW(wide_small, sizeof wide_small, &length), S_OK);
    NUMBER(length, 3 * sizeof(WCHAR));
    NUMBER(StringCchCopy(wide_small, 4, L"abc"), S_OK);
    CHECK(FAILED(STRSAFE_E_INSUFFICIENT_BUFFER) && SUCCEEDED(S_OK));
}

DEFINE_GUID(processor_information, 0xb4fc721a, 0x0378, 0x476f, 0x89, 0xba, 0xa5, 0xa7, 0x9f, 0x81, 0x0b, 0x36);

#ifdef __cplusplus
#define BY_REFERENCE(guid) guid
#else
#define BY_REFERENCE(guid) &guid
#endif

static void guids(void)
{
    GUID read;
    NUMBER(StringFromGUID2(BY_REFERENCE(processor_information), wide, 39), 39);
    WIDE(wide, L"{B4FC721A-0378-476F-89BA-A5A79F810B36}");
    NUMBER(StringFromGUID2(BY_REFERENCE(processor_information), wide, 38), 0);
    NUMBER(CLSIDFromString(L"{b4fc721a-0378-476F-89BA-A5A79F810B36}", &read), S_OK);
    CHECK(memcmp(&read, &processor_information, sizeof read) == 0);
#ifdef __cplusplus
    CHECK(read == processor_information && !(read != processor_information));
    CHECK(IsEqualGUID(read, processor_information));
    CHECK(GUID_NULL != read);
#else
    CHECK(IsEqualGUID(&read, &processor_information) && !IsEqualIID(&read, &GUID_NULL));
#endif
    NUMBER(CLSIDFromString(L"b4fc721a-0378-476F-89BA-A5A79F810B36", &read), CO_E_CLASSSTRING);
    NUMBER(CLSIDFromString(L"{b4fc721a-0378-476F-89BA-A5A79F810B36", &read), CO_E_CLASSSTRING);
    NUMBER(CLSIDFromString(L"{b4fc721a-0378-476F-89BA-A5A79F810B36} ", &read), CO_E_CLASSSTRING);
    NUMBER(CLSIDFromString(L"{g4fc721a-0378-476F-89BA-A5A79F810B36}", &read), CO_E_CLASSSTRING);
    NUMBER(CLSIDFromString(NULL, &read), S_OK);
    CHECK(memcmp(&read, &GUID_NULL, sizeof read) == 0);
}

static void code_pages(void)
{
    BOOL was_replaced = FALSE;
    int units = sizeof(wchar_t) == 2 ? 2 : 1;

    NUMBER(MultiByteToWideChar(CP_UTF8, 0, "\xc3\xa4\xf0\x9f\x98\x80", -1, wide, 10), 2 + units);
    WIDE(wide, L"\u00e4\U0001F600");
    NUMBER(MultiByteToWideChar(CP_ACP, 0, "\xc3\xa4xyz", 3, wide, 10), 2);
    NUMBER(MultiByteToWideChar(CP_UTF8, 0, "abc", -1, NULL, 0), 4);
    SetLastError(0);
    NUMBER(MultiByteToWideChar(CP_UTF8, 0, "abc", -1, wide, 3), 0);
    NUMBER(GetLastError(), ERROR_INSUFFICIENT_BUFFER);
    NUMBER(MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, "a\xff", -1, wide, 9), 0);
    NUMBER(GetLastError(), ERROR_NO_UNICODE_TRANSLATION);
    NUMBER(MultiByteToWideChar(CP_UTF8, 0, "a\xff", -1, wide, 9), 3);
    WIDE(wide, L"a\ufffd");
    NUMBER(MultiByteToWideChar(CP_UTF8, 0, "a", 0, wide, 9), 0);
    NUMBER(GetLastError(), ERROR_INVALID_PARAMETER);
    NUMBER(MultiByteToWideChar(932, 0, "a", 1, wide, 9), 0);
    NUMBER(GetLastError(), ERROR_INVALID_PARAMETER);
    NUMBER(MultiByteToWideChar(CP_UTF8, 0x100, "a", 1, wide, 9), 0);
    NUMBER(GetLastError(), ERROR_INVALID_FLAGS);
    NUMBER(MultiByteToWideChar(1252, 0, "\x80\xe4", -1, wide, 9), 3);
    WIDE(wide, L"\u20ac\u00e4");
    NUMBER(MultiByteToWideChar(28591, 0, "\xe4", -1, wide, 9), 2);
    WIDE(wide, L"\u00e4");

    NUMBER(WideCharToMultiByte(CP_UTF8, 0, L"\u00e4\U0001F600", -1, narrow, 10, NULL, NULL), 7);
    NARROW(narrow, "\xc3\xa4\xf0\x9f\x98\x80");
    NUMBER(WideCharToMultiByte(CP_ACP, 0, L"abc", 2, NULL, 0, NULL, NULL), 2);
    NUMBER(WideCharToMultiByte(CP_UTF8, 0, L"abc", -1, narrow, 3, NULL, NULL), 0);
    NUMBER(GetLastError(), ERROR_INSUFFICIENT_BUFFER);
    NUMBER(WideCharToMultiByte(CP_UTF8, 0, L"abc", -1, narrow, 9, "?", NULL), 0);
    NUMBER(GetLastError(), ERROR_INVALID_PARAMETER);
    /* Who does not name UTF-8 need not know that the machine's code page is it. */
    was_replaced = TRUE;
    NUMBER(WideCharToMultiByte(CP_ACP, 0, L"\u00e4b", -1, narrow, 9, "?", &was_replaced), 4);
    NARROW(narrow, "\xc3\xa4" "b");
    NUMBER(was_replaced, FALSE);
    NUMBER(WideCharToMultiByte(CP_ACP, 0, L"\u00e4b", -1, narrow, 9, "?", NULL), 4);
    const DWORD flags = WC_COMPOSITECHECK | WC_NO_BEST_FIT_CHARS;
    NUMBER(WideCharToMultiByte(CP_OEMCP, flags, L"ab", -1, narrow, 9, NULL, NULL), 3);
    NUMBER(WideCharToMultiByte(CP_THREAD_ACP, 0x10000, L"ab", -1, narrow, 9, NULL, NULL), 0);
    NUMBER(GetLastError(), ERROR_INVALID_FLAGS);
    NUMBER(WideCharToMultiByte(CP_UTF8, WC_NO_BEST_FIT_CHARS, L"ab", -1, narrow, 9, NULL, NULL), 0);
    NUMBER(GetLastError(), ERROR_INVALID_FLAGS);
    wide[0] = 0xD800;
    wide[1] = 0;
    NUMBER(WideCharToMultiByte(CP_ACP, 0, wide, -1, narrow, 9, "?", &was_replaced), 2);
    NARROW(narrow, "?");
    NUMBER(was_replaced, TRUE);
    NUMBER(WideCharToMultiByte(CP_UTF8, 0, wide, -1, narrow, 9, NULL, NULL), 4);
    NARROW(narrow, "\xef\xbf\xbd");
    NUMBER(WideCharToMultiByte(CP_UTF8, WC_ERR_INVALID_CHARS, wide, -1, narrow, 9, NULL, NULL), 0);
    NUMBER(GetLastError(), ERROR_NO_UNICODE_TRANSLATION);
    NUMBER(WideCharToMultiByte(1252, 0, L"\u20ac\u00e4\u0431", -1, narrow, 9, "#", &was_replaced), 4);
    NARROW(narrow, "\x80\xe4#");
    NUMBER(was_replaced, TRUE);
    NUMBER(WideCharToMultiByte(28591, 0, L"\u00e4\u20ac", -1, narrow, 9, NULL, &was_replaced), 3);
    NARROW(narrow, "\xe4?");
}

static void memory(void)
{
    BYTE *block = (BYTE *)LocalAlloc(LPTR, 100);
    DWORD size = 0;
    CHECK(block != NULL && block[0] == 0 && block[99] == 0);
    CHECK(LocalFree(block) == NULL);
    block = (BYTE *)HeapAlloc(GetProcessHeap(), 0, 10);
    memset(block, 1, 10);
    block = (BYTE *)HeapReAlloc(GetProcessHeap(), HEAP_ZERO_MEMORY, block, 1000);
    CHECK(block[9] == 1 && block[10] == 0 && block[999] == 0);
    NUMBER(HeapSize(GetProcessHeap(), 0, block), 1000);
    CHECK(HeapFree(GetProcessHeap(), 0, block));
    CHECK(GlobalFree(GlobalAlloc(GMEM_FIXED, 0)) == NULL);
    SetLastError(0);
    CHECK(LocalAlloc(LPTR, (SIZE_T)-1) == NULL);
    NUMBER(GetLastError(), ERROR_NOT_ENOUGH_MEMORY);

    NUMBER(lstrlenA(NULL), 0);
    NUMBER(lstrlenW(L"abc"), 3);
    NUMBER(lstrcmpiW(L"Memory", L"MEMORY"), 0);
    CHECK(lstrcmpiA("a", "B") < 0);
    WIDE(lstrcpynW(wide, L"abcdef", 4), L"abc");
    NARROW(lstrcatA(lstrcpyA(narrow, "a"), "b"), "ab");

    CHECK(!GetComputerNameW(wide, &size));
    NUMBER(GetLastError(), ERROR_BUFFER_OVERFLOW);
    CHECK(size > 1 && GetComputerNameW(wide, &size) && wcslen(wide) == size && size > 0);
    CHECK(GetCurrentProcessId() != 0);
}

static void dates(void)
{
    FILETIME time = { 0, 0 }, back;
    SYSTEMTIME date;
    ULARGE_INTEGER value;
    ULONGLONG before;

    CHECK(FileTimeToSystemTime(&time, &date));
    CHECK(date.wYear == 1601 && date.wMonth == 1 && date.wDay == 1 && date.wDayOfWeek == 1 && date.wHour == 0);
    /* 2024-02-29 12:34:56.789, a Thursday. */
    value.QuadPart = 133536836967890000ULL;
    time.dwLowDateTime = value.u.LowPart;
    time.dwHighDateTime = value.u.HighPart;
    CHECK(FileTimeToSystemTime(&time, &date));
    CHECK(date.wYear == 2024 && date.wMonth == 2 && date.wDay == 29 && date.wDayOfWeek == 4);
    CHECK(date.wHour == 12 && date.wMinute == 34 && date.wSecond == 56 && date.wMilliseconds == 789);
    CHECK(SystemTimeToFileTime(&date, &back) && CompareFileTime(&time, &back) == 0);
    time.dwHighDateTime = 0x80000000u;
    CHECK(!FileTimeToSystemTime(&time, &date));
    NUMBER(GetLastError(), ERROR_INVALID_PARAMETER);
    time.dwHighDateTime = 0x7FFFFFFF;
    time.dwLowDateTime = 0xFFFFFFFF;
    CHECK(FileTimeToSystemTime(&time, &date) && date.wYear == 30828 && date.wMonth == 9 && date.wDay == 14);
    date.wMonth = 13;
    CHECK(!SystemTimeToFileTime(&date, &back));
    before = GetTickCount64();
    Sleep(2);
    CHECK(GetTickCount64() >= before + 1);
}

static void version(void)
{
    OSVERSIONINFOA narrow_info;
    OSVERSIONINFOEX info;
    narrow_info.dwOSVersionInfoSize = sizeof narrow_info;
    CHECK(GetVersionExA(&narrow_info) && narrow_info.dwMajorVersion == 10 && narrow_info.szCSDVersion[0] == 0);
    memset(&info, 0xFF, sizeof info);
    info.dwOSVersionInfoSize = sizeof info;
    CHECK(GetVersionEx((LPOSVERSIONINFO)&info) && info.dwPlatformId == VER_PLATFORM_WIN32_NT);
    CHECK(info.wServicePackMajor == 0 && info.dwOSVersionInfoSize == sizeof info);
    info.dwOSVersionInfoSize = sizeof info - 1;
    CHECK(!GetVersionEx((LPOSVERSIONINFO)&info));
    NUMBER(GetLastError(), ERROR_INSUFFICIENT_BUFFER);
    NUMBER(PRIMARYLANGID(GetUserDefaultUILanguage()), LANG_ENGLISH);
    NUMBER(sizeof(WNODE_HEADER), 48);
    const UNALIGNED ULONGLONG value = 7;
    NUMBER(value, 7);
}

/* Attributes as MS C writes them: on either side of `static`, with and without an argument. */
typedef struct __declspec(align(32)) aligned_part {
    char byte;
} aligned_part;
__declspec(thread) static int in_each_thread = 5;
static __declspec(thread) DECLSPEC_ALIGN(64) char aligned_in_each_thread;
extern __declspec(selectany) int perhaps_elsewhere;
__declspec(selectany) int perhaps_elsewhere = 6;
__declspec(deprecated) int old_function(void);
__declspec(deprecated("use another")) int older_function(void);
__declspec(dllexport) __declspec(noinline) int __cdecl exported(void);
DECLSPEC_NORETURN void no_way_back(void);
int exported(void)
{
    return in_each_thread + perhaps_elsewhere + aligned_in_each_thread;
}

/* The names of the printf family may be names of other things. */
struct writer {
    int (*printf)(const char *format, ...);
    int (*sprintf)(char *buffer, const char *format, ...);
};
__attribute__((format(printf, 1, 2))) static int print_nothing(const char *format, ...)
{
    return format[0];
}

static void names(void)
{
    struct writer writer = { print_nothing, sprintf };
    NUMBER(writer.printf("a%d", 1), 'a');
    NUMBER(writer.sprintf(narrow, "%lu", (DWORD)-1), 10);
    NUMBER(exported(), 11);
    NUMBER(sizeof(aligned_part), 32);
    NUMBER((uintptr_t)&aligned_in_each_thread % 64, 0);
    NUMBER(sizeof(TBYTE), sizeof(WCHAR));
    CHECK(sizeof(DWORD) == 4 && sizeof(LONG) == 4 && sizeof(HKEY) == sizeof(void *) && sizeof(TCHAR) == sizeof(WCHAR));
    CHECK((INT_PTR)HKEY_PERFORMANCE_DATA == (INT_PTR)(LONG)0x80000004);
    NUMBER(ARRAYSIZE(wide), 2000);
    NUMBER(KEY_READ, 0x20019);
    NUMBER(HRESULT_FROM_WIN32(ERROR_MORE_DATA), (LONG)0x800700EA);
    NUMBER(sizeof(__int64), 8);
    NUMBER(_tcslen(_T("abc")), 3);
    NUMBER(max(min(3, 5), 2), 3);
}

static void messages(void)
{
    const DWORD from_system = FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS;
    WCHAR *text = NULL;
    char small[4] = "";
    const DWORD allocating = from_system | FORMAT_MESSAGE_ALLOCATE_BUFFER;
    DWORD length = FormatMessage(allocating, NULL, ERROR_ACCESS_DENIED, 0, (LPWSTR)&text, 0, NULL);
    CHECK(length > 4 && text != NULL);
    if (text == NULL) return;
    CHECK(wcslen(text) == length && wcscmp(text + length - 3, L".\r\n") == 0);
    WIDE(_wcsupr(text), L"ACCESS DENIED.\r\n");
    LocalFree(text);
    NUMBER(FormatMessageA(from_system | FORMAT_MESSAGE_MAX_WIDTH_MASK, NULL, 0x80070005, 0, narrow, 100, NULL), 15);
    NARROW(narrow, "Access denied. ");
    NUMBER(FormatMessageA(from_system, NULL, 5, 0, small, sizeof small, NULL), 0);
    NUMBER(GetLastError(), ERROR_INSUFFICIENT_BUFFER);
    NUMBER(FormatMessageA(from_system, NULL, 999999, 0, narrow, 100, NULL), 0);
    NUMBER(GetLastError(), ERROR_MR_MID_NOT_FOUND);
    NUMBER(FormatMessageA(FORMAT_MESSAGE_FROM_STRING, "text", 0, 0, narrow, 100, NULL), 0);
    NUMBER(GetLastError(), ERROR_INVALID_PARAMETER);

    strcpy_s(small, sizeof small, "abc");
    NUMBER(memcpy_s(small, sizeof small, "xy", 2), 0);
    NARROW(small, "xyc");
    NUMBER(memmove_s(small, sizeof small, "12345", 5), ERANGE);
    NARROW(small, "xyc");
    NUMBER(memcpy_s(small, sizeof small, "12345", 5), ERANGE);
    CHECK(memcmp(small, "\0\0\0", 4) == 0);
    NUMBER(memcpy_s(small, sizeof small, NULL, 1), EINVAL);
    NUMBER(wmemcpy_s(wide, 4, L"abc", 4), 0);
    WIDE(wide, L"abc");
    NUMBER(wmemcpy_s(wide, 3, L"abcd", 4), ERANGE);
    NUMBER(wmemmove_s(wide, SIZE_MAX, L"z", 1), 0);
    NUMBER(strerror_s(small, sizeof small, EINVAL), 0);
    CHECK(strlen(small) == 3 && strncmp(small, strerror(EINVAL), 3) == 0);
    strcpy_s(small, sizeof small, "aBc");
    NARROW(_strupr(small), "ABC");
    NARROW(_strlwr(small), "abc");
    NARROW(_strrev(small), "cba");

    NUMBER(_setmode(_fileno(stdout), _O_U16TEXT), _O_TEXT);
    LPOLESTR guid = NULL;
    NUMBER(StringFromCLSID(BY_REFERENCE(processor_information), &guid), S_OK);
    WIDE(guid, L"{B4FC721A-0378-476F-89BA-A5A79F810B36}");
    CoTaskMemFree(guid);
    wcscpy(wide, L"aBc");
    WIDE(_tcsupr(wide), L"ABC");
    CHECK(_ttof(L"2.5") == 2.5 && __max(1, 2) == 2 && __min(1, 2) == 1);
    NUMBER(_ARRAYSIZE(wide), 2000);
    __pragma(warning(disable : 4996))
    __noop("nothing", 5);
}

int main(void)
{
    integers();
    floats();
    texts();
    lengths();
    refusals();
    buffers();
    streams();
    wide_text();
    secure();
    strsafe();
    guids();
    code_pages();
    memory();
    dates();
    version();
    messages();
    names();
    if (failures != 0) {
        fprintf(stderr, "shim: %d of %d checks failed\n", failures, checks);
        return 1;
    }
    printf("shim: %d checks passed\n", checks);
    return 0;
}
