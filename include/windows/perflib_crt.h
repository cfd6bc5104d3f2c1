/* The C library's headers, without those functions that mean something else on Windows or need another wchar_t.
 * All wrappers of C headers in this folder include this one.
 *
 * A function that is to be replaced gets another name while the system's header is read. So nothing that the system
 * knows about it, such as a symbol, an inline body or a checked variant, can get in the way of our own declaration.
 */
#ifndef PERFLIB_CRT_H
#define PERFLIB_CRT_H

#pragma GCC system_header

#include <perflib_shim.h>

#include <stdarg.h>

/* Some platforms define macros of these names. */
#undef printf
#undef fprintf
#undef vprintf
#undef vfprintf
#undef sprintf
#undef vsprintf
#undef snprintf
#undef vsnprintf
#undef wprintf
#undef fwprintf
#undef vwprintf
#undef vfwprintf
#undef swprintf
#undef vswprintf
#undef fputws
#undef fputwc
#undef putwc
#undef putwchar

#define printf perflib_system_printf
#define fprintf perflib_system_fprintf
#define vprintf perflib_system_vprintf
#define vfprintf perflib_system_vfprintf
#define sprintf perflib_system_sprintf
#define vsprintf perflib_system_vsprintf
#define snprintf perflib_system_snprintf
#define vsnprintf perflib_system_vsnprintf
#define wprintf perflib_system_wprintf
#define fwprintf perflib_system_fwprintf
#define vwprintf perflib_system_vwprintf
#define vfwprintf perflib_system_vfwprintf
#define swprintf perflib_system_swprintf
#define vswprintf perflib_system_vswprintf
#define fputws perflib_system_fputws
#define fputwc perflib_system_fputwc
#define putwc perflib_system_putwc
#define putwchar perflib_system_putwchar
#if __SIZEOF_WCHAR_T__ == 2
#define wcslen perflib_system_wcslen
#define wcsnlen perflib_system_wcsnlen
#define wcscpy perflib_system_wcscpy
#define wcpcpy perflib_system_wcpcpy
#define wcsncpy perflib_system_wcsncpy
#define wcscat perflib_system_wcscat
#define wcsncat perflib_system_wcsncat
#define wcscmp perflib_system_wcscmp
#define wcsncmp perflib_system_wcsncmp
#define wcscasecmp perflib_system_wcscasecmp
#define wcsncasecmp perflib_system_wcsncasecmp
#define wcscoll perflib_system_wcscoll
#define wcschr perflib_system_wcschr
#define wcsrchr perflib_system_wcsrchr
#define wcsstr perflib_system_wcsstr
#define wcspbrk perflib_system_wcspbrk
#define wcsspn perflib_system_wcsspn
#define wcscspn perflib_system_wcscspn
#define wcstok perflib_system_wcstok
#define wcsdup perflib_system_wcsdup
#define wmemcpy perflib_system_wmemcpy
#define wmempcpy perflib_system_wmempcpy
#define wmemmove perflib_system_wmemmove
#define wmemset perflib_system_wmemset
#define wmemcmp perflib_system_wmemcmp
#define wmemchr perflib_system_wmemchr
#define wcstol perflib_system_wcstol
#define wcstoul perflib_system_wcstoul
#define wcstoll perflib_system_wcstoll
#define wcstoull perflib_system_wcstoull
#define wcstod perflib_system_wcstod
#define wcstof perflib_system_wcstof
#define wcstold perflib_system_wcstold
#define mbstowcs perflib_system_mbstowcs
#define wcstombs perflib_system_wcstombs
#define wcsxfrm perflib_system_wcsxfrm
#define wcsftime perflib_system_wcsftime
#define wcswidth perflib_system_wcswidth
#define wcpncpy perflib_system_wcpncpy
#define wcschrnul perflib_system_wcschrnul
#define mbrtowc perflib_system_mbrtowc
#define mbtowc perflib_system_mbtowc
#define mbsrtowcs perflib_system_mbsrtowcs
#define wcsrtombs perflib_system_wcsrtombs
#define mbsnrtowcs perflib_system_mbsnrtowcs
#define wcsnrtombs perflib_system_wcsnrtombs
#define fgetws perflib_system_fgetws
#define fwscanf perflib_system_fwscanf
#define wscanf perflib_system_wscanf
#define swscanf perflib_system_swscanf
#define vfwscanf perflib_system_vfwscanf
#define vwscanf perflib_system_vwscanf
#define vswscanf perflib_system_vswscanf
#define open_wmemstream perflib_system_open_wmemstream
#define fputws_unlocked perflib_system_fputws_unlocked
#define fgetws_unlocked perflib_system_fgetws_unlocked
#define wcstol_l perflib_system_wcstol_l
#define wcstoul_l perflib_system_wcstoul_l
#define wcstoll_l perflib_system_wcstoll_l
#define wcstoull_l perflib_system_wcstoull_l
#define wcstod_l perflib_system_wcstod_l
#define wcstof_l perflib_system_wcstof_l
#define wcstold_l perflib_system_wcstold_l
#define wcscasecmp_l perflib_system_wcscasecmp_l
#define wcsncasecmp_l perflib_system_wcsncasecmp_l
#define wcscoll_l perflib_system_wcscoll_l
#define wcsxfrm_l perflib_system_wcsxfrm_l
#define wcsftime_l perflib_system_wcsftime_l
#define wcswcs perflib_system_wcswcs
#define wcstoq perflib_system_wcstoq
#define wcstouq perflib_system_wcstouq
#define wcstof16 perflib_system_wcstof16
#define wcstof16_l perflib_system_wcstof16_l
#define wcstof32 perflib_system_wcstof32
#define wcstof32_l perflib_system_wcstof32_l
#define wcstof64 perflib_system_wcstof64
#define wcstof64_l perflib_system_wcstof64_l
#define wcstof128 perflib_system_wcstof128
#define wcstof128_l perflib_system_wcstof128_l
#define wcstof32x perflib_system_wcstof32x
#define wcstof32x_l perflib_system_wcstof32x_l
#define wcstof64x perflib_system_wcstof64x
#define wcstof64x_l perflib_system_wcstof64x_l
#define wcstof128x perflib_system_wcstof128x
#define wcstof128x_l perflib_system_wcstof128x_l
#endif

/* Only the header of C; that of C++ comes by the wrapper. */
#ifdef __cplusplus
#pragma push_macro("_GLIBCXX_INCLUDE_NEXT_C_HEADERS")
#undef _GLIBCXX_INCLUDE_NEXT_C_HEADERS
#define _GLIBCXX_INCLUDE_NEXT_C_HEADERS
#endif
#include_next <stdio.h>
#include_next <stdlib.h>
#include_next <string.h>
#include_next <wchar.h>
#ifdef __cplusplus
#pragma pop_macro("_GLIBCXX_INCLUDE_NEXT_C_HEADERS")
#endif

#undef printf
#undef fprintf
#undef vprintf
#undef vfprintf
#undef sprintf
#undef vsprintf
#undef snprintf
#undef vsnprintf
#undef wprintf
#undef fwprintf
#undef vwprintf
#undef vfwprintf
#undef swprintf
#undef vswprintf
#undef fputws
#undef fputwc
#undef putwc
#undef putwchar
#if __SIZEOF_WCHAR_T__ == 2
#undef wcslen
#undef wcsnlen
#undef wcscpy
#undef wcpcpy
#undef wcsncpy
#undef wcscat
#undef wcsncat
#undef wcscmp
#undef wcsncmp
#undef wcscasecmp
#undef wcsncasecmp
#undef wcscoll
#undef wcschr
#undef wcsrchr
#undef wcsstr
#undef wcspbrk
#undef wcsspn
#undef wcscspn
#undef wcstok
#undef wcsdup
#undef wmemcpy
#undef wmempcpy
#undef wmemmove
#undef wmemset
#undef wmemcmp
#undef wmemchr
#undef wcstol
#undef wcstoul
#undef wcstoll
#undef wcstoull
#undef wcstod
#undef wcstof
#undef wcstold
#undef mbstowcs
#undef wcstombs
#undef wcsxfrm
#undef wcsftime
#undef wcswidth
#undef wcpncpy
#undef wcschrnul
#undef mbrtowc
#undef mbtowc
#undef mbsrtowcs
#undef wcsrtombs
#undef mbsnrtowcs
#undef wcsnrtombs
#undef fgetws
#undef fwscanf
#undef wscanf
#undef swscanf
#undef vfwscanf
#undef vwscanf
#undef vswscanf
#undef open_wmemstream
#undef fputws_unlocked
#undef fgetws_unlocked
#undef wcstol_l
#undef wcstoul_l
#undef wcstoll_l
#undef wcstoull_l
#undef wcstod_l
#undef wcstof_l
#undef wcstold_l
#undef wcscasecmp_l
#undef wcsncasecmp_l
#undef wcscoll_l
#undef wcsxfrm_l
#undef wcsftime_l
#undef wcswcs
#undef wcstoq
#undef wcstouq
#undef wcstof16
#undef wcstof16_l
#undef wcstof32
#undef wcstof32_l
#undef wcstof64
#undef wcstof64_l
#undef wcstof128
#undef wcstof128_l
#undef wcstof32x
#undef wcstof32x_l
#undef wcstof64x
#undef wcstof64x_l
#undef wcstof128x
#undef wcstof128x_l
#endif

#include <perflib_crt_printf.h>
#include <perflib_crt_wide.h>
#include <perflib_crt_secure.h>

#endif
