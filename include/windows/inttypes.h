/* <inttypes.h> of the C library. Its macros for printf say l for 64 bits on Linux, where our printf has 32, as Windows'
 * has; j says the same everywhere, to compilers that check formats, too.
 */
#pragma GCC system_header

#include <perflib_crt.h>

#if __SIZEOF_WCHAR_T__ == 2
#define wcstoimax perflib_system_wcstoimax
#define wcstoumax perflib_system_wcstoumax
#include_next <inttypes.h>
#undef wcstoimax
#undef wcstoumax
#else
#include_next <inttypes.h>
#endif

#ifndef PERFLIB_WINDOWS_INTTYPES_H
#define PERFLIB_WINDOWS_INTTYPES_H

#if __SIZEOF_WCHAR_T__ == 2
PERFLIB_BEGIN_C
intmax_t wcstoimax(const wchar_t *text, wchar_t **end, int base) PERFLIB_SYMBOL("wcstoll");
uintmax_t wcstoumax(const wchar_t *text, wchar_t **end, int base) PERFLIB_SYMBOL("wcstoull");
PERFLIB_END_C
#endif

#undef PRId64
#define PRId64 "jd"
#undef PRIi64
#define PRIi64 "ji"
#undef PRIo64
#define PRIo64 "jo"
#undef PRIu64
#define PRIu64 "ju"
#undef PRIx64
#define PRIx64 "jx"
#undef PRIX64
#define PRIX64 "jX"
#undef PRIdLEAST64
#define PRIdLEAST64 "jd"
#undef PRIiLEAST64
#define PRIiLEAST64 "ji"
#undef PRIoLEAST64
#define PRIoLEAST64 "jo"
#undef PRIuLEAST64
#define PRIuLEAST64 "ju"
#undef PRIxLEAST64
#define PRIxLEAST64 "jx"
#undef PRIXLEAST64
#define PRIXLEAST64 "jX"
#undef PRIdFAST64
#define PRIdFAST64 "jd"
#undef PRIiFAST64
#define PRIiFAST64 "ji"
#undef PRIoFAST64
#define PRIoFAST64 "jo"
#undef PRIuFAST64
#define PRIuFAST64 "ju"
#undef PRIxFAST64
#define PRIxFAST64 "jx"
#undef PRIXFAST64
#define PRIXFAST64 "jX"
#undef PRIdMAX
#define PRIdMAX "jd"
#undef PRIiMAX
#define PRIiMAX "ji"
#undef PRIoMAX
#define PRIoMAX "jo"
#undef PRIuMAX
#define PRIuMAX "ju"
#undef PRIxMAX
#define PRIxMAX "jx"
#undef PRIXMAX
#define PRIXMAX "jX"

/* As wide as an address. */
#if UINTPTR_MAX > 0xFFFFFFFFu
#undef PRIdPTR
#define PRIdPTR "jd"
#undef PRIiPTR
#define PRIiPTR "ji"
#undef PRIoPTR
#define PRIoPTR "jo"
#undef PRIuPTR
#define PRIuPTR "ju"
#undef PRIxPTR
#define PRIxPTR "jx"
#undef PRIXPTR
#define PRIXPTR "jX"
#endif

/* As wide as the C library likes. */
#if UINT_FAST16_MAX > 0xFFFFFFFFu
#undef PRIdFAST16
#define PRIdFAST16 "jd"
#undef PRIiFAST16
#define PRIiFAST16 "ji"
#undef PRIoFAST16
#define PRIoFAST16 "jo"
#undef PRIuFAST16
#define PRIuFAST16 "ju"
#undef PRIxFAST16
#define PRIxFAST16 "jx"
#undef PRIXFAST16
#define PRIXFAST16 "jX"
#endif
#if UINT_FAST32_MAX > 0xFFFFFFFFu
#undef PRIdFAST32
#define PRIdFAST32 "jd"
#undef PRIiFAST32
#define PRIiFAST32 "ji"
#undef PRIoFAST32
#define PRIoFAST32 "jo"
#undef PRIuFAST32
#define PRIuFAST32 "ju"
#undef PRIxFAST32
#define PRIxFAST32 "jx"
#undef PRIXFAST32
#define PRIXFAST32 "jX"
#endif

#endif
