/* What all headers of this folder share. Programs do not include this one.
 *
 * The folder holds what source written for Windows includes beside perflib.h and winperf.h, and wrappers around headers
 * of C: it must come first in the include path. A program is linked with -lperflib-windows -lperflib.
 *
 * Functions keep their Windows names in the source, but no such name is taken in the process: each is declared with the
 * name that it has in the library.
 */
#ifndef PERFLIB_SHIM_H
#define PERFLIB_SHIM_H

#pragma GCC system_header

#include <perflib_types.h>

#if PERFLIB_WCHAR_SIZE != __SIZEOF_WCHAR_T__
#error "Windows source needs a WCHAR that is wchar_t: use -fshort-wchar for 2 bytes, and leave PERFLIB_WCHAR_SIZE alone"
#endif

/* A function that has no wide text, and one that has. */
#define PERFLIB_SYMBOL(name)      __asm__("perflib_" name)
#define PERFLIB_WIDE_SYMBOL(name) PERFLIB_WIDE("perflib_" name)

/* Templates and overloads, even where a program includes these headers inside extern "C". */
#ifdef __cplusplus
#define PERFLIB_BEGIN_CXX extern "C++" {
#define PERFLIB_END_CXX }
#endif

/* The elements of an array; in C++ nothing else has any. */
#ifdef __cplusplus
PERFLIB_BEGIN_CXX
template <typename Item, size_t Size>
char (*perflib_count_of(Item (&)[Size]))[Size];
PERFLIB_END_CXX
#define PERFLIB_COUNT_OF(array) (sizeof(*perflib_count_of(array)))
#else
#define PERFLIB_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#endif

/* Tells the start-up code which arguments wmain wants, and that all sources of a program agree about it. */
PERFLIB_BEGIN_C
#if __SIZEOF_WCHAR_T__ == 2
extern char perflib_wchar_has_2_bytes __attribute__((__weak__, __visibility__("hidden")));
char perflib_wchar_has_2_bytes __attribute__((__weak__, __visibility__("hidden"))) = 1;
#else
extern char perflib_wchar_has_4_bytes __attribute__((__weak__, __visibility__("hidden")));
char perflib_wchar_has_4_bytes __attribute__((__weak__, __visibility__("hidden"))) = 1;
#endif
PERFLIB_END_C

/* Keywords of MS C. The integers are macros because sources write `unsigned __int64` and `__int64 unsigned`. */
#ifndef __int8
#define __int8  char
#define __int16 short
#define __int32 int
#define __int64 long long
#endif

#ifndef _MSC_VER
/* What changes how a program works, or what compilers say of it, is kept; what only tells how it is linked is not. The
 * name may come before or after `static`, and may have an argument or none. One name to a __declspec.
 */
#undef __declspec
#define __declspec(attribute) PERFLIB_DECLSPEC_##attribute ))
#ifdef __cplusplus
#define PERFLIB_DECLSPEC_thread     thread_local __attribute__((
#else
#define PERFLIB_DECLSPEC_thread     _Thread_local __attribute__((
#endif
#define PERFLIB_DECLSPEC_           __attribute__((
#define PERFLIB_DECLSPEC_align      __attribute__((__aligned__
#define PERFLIB_DECLSPEC_selectany  __attribute__((__weak__
#define PERFLIB_DECLSPEC_noreturn   __attribute__((__noreturn__
#define PERFLIB_DECLSPEC_noinline   __attribute__((__noinline__
#define PERFLIB_DECLSPEC_deprecated __attribute__((__deprecated__
#define PERFLIB_DECLSPEC_dllexport  __attribute__((
#define PERFLIB_DECLSPEC_dllimport  __attribute__((
#define PERFLIB_DECLSPEC_novtable   __attribute__((
#define PERFLIB_DECLSPEC_nothrow    __attribute__((
#define PERFLIB_DECLSPEC_restrict   __attribute__((
#define PERFLIB_DECLSPEC_noalias    __attribute__((
#define PERFLIB_DECLSPEC_naked      __attribute__((
#define PERFLIB_DECLSPEC_allocator  __attribute__((
#define PERFLIB_DECLSPEC_safebuffers        __attribute__((
#define PERFLIB_DECLSPEC_empty_bases        __attribute__((
#define PERFLIB_DECLSPEC_uuid(text)         __attribute__((
#define PERFLIB_DECLSPEC_allocate(section)  __attribute__((
#define PERFLIB_DECLSPEC_code_seg(section)  __attribute__((
#define PERFLIB_DECLSPEC_guard(kind)        __attribute__((
#define PERFLIB_DECLSPEC_spectre(kind)      __attribute__((
#undef __cdecl
#define __cdecl
#undef __stdcall
#define __stdcall
#undef __fastcall
#define __fastcall
#undef __thiscall
#define __thiscall
#undef __vectorcall
#define __vectorcall
#undef __forceinline
#define __forceinline __inline __attribute__((__always_inline__))
#define _inline       __inline
#define _cdecl
#define _stdcall
#define __unaligned
#define __w64
#define __ptr64
#define __ptr32
#define __wchar_t wchar_t
#define __pragma(text)
#define __noop(...) ((void)0)
#endif

#endif
