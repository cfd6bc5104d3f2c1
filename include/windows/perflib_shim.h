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

#if __SIZEOF_WCHAR_T__ == 2
/* Tells the start-up code which arguments wmain wants. */
PERFLIB_BEGIN_C
extern char perflib_wchar_has_2_bytes __attribute__((__weak__, __visibility__("hidden")));
char perflib_wchar_has_2_bytes __attribute__((__weak__, __visibility__("hidden"))) = 1;
PERFLIB_END_C
#endif

/* Keywords of MS C. The integers are macros because sources write `unsigned __int64` and `__int64 unsigned`. */
#ifndef __int8
#define __int8  char
#define __int16 short
#define __int32 int
#define __int64 long long
#endif

#ifndef _MSC_VER
#undef __declspec
#define __declspec(attribute)
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
#endif

#endif
