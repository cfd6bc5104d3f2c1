/* The basic types of Windows, on top of those that the performance headers need.
 *
 * A LONG and a DWORD have 32 bits, whatever the long of this system has.
 */
#ifndef PERFLIB_WINDOWS_WINDEF_H
#define PERFLIB_WINDOWS_WINDEF_H

#pragma GCC system_header

#include <perflib_shim.h>

#include <sal.h>

#ifndef _MINWINDEF_
#define _MINWINDEF_
#endif

#define VOID  void
#define CONST const

#ifndef IN
#define IN
#endif
#ifndef OUT
#define OUT
#endif
#ifndef OPTIONAL
#define OPTIONAL
#endif
#ifndef FAR
#define FAR
#define NEAR
#endif

#ifndef TRUE
#define TRUE 1
#endif
#ifndef FALSE
#define FALSE 0
#endif

#define MAX_PATH 260

/* All functions are called alike. */
#undef WINAPI
#define WINAPI
#undef CALLBACK
#define CALLBACK
#define WINAPIV
#define APIENTRY    WINAPI
#define APIPRIVATE  WINAPI
#define PASCAL      WINAPI
#define CDECL
#define NTAPI
#define STDAPICALLTYPE
#define STDMETHODCALLTYPE
/* In C an EXTERN_C may stand before it, and before a variable with a value: there it must say nothing. A variable that
 * is only declared takes a plain `extern`.
 */
#undef EXTERN_C
#ifdef __cplusplus
#define EXTERN_C    extern "C"
#define FORCEINLINE __forceinline
#else
#define EXTERN_C
#define FORCEINLINE static __forceinline
#endif
#define WINBASEAPI
#define WINADVAPI
#define DECLSPEC_IMPORT
#define DECLSPEC_ALIGN(bytes)  __declspec(align(bytes))
#define DECLSPEC_DEPRECATED    __declspec(deprecated)
#define DECLSPEC_NOINLINE      __declspec(noinline)
#define DECLSPEC_NORETURN      __declspec(noreturn)
#define DECLSPEC_NOTHROW       __declspec(nothrow)
#define DECLSPEC_NOVTABLE      __declspec(novtable)
#define DECLSPEC_SELECTANY     __declspec(selectany)
#define DECLSPEC_UUID(text)    __declspec(uuid(text))

typedef BYTE BOOLEAN, *PBOOLEAN;
typedef int8_t INT8, *PINT8;
typedef int16_t INT16, *PINT16;
typedef int32_t INT32, *PINT32, LONG32, *PLONG32;
typedef long long INT64, *PINT64;
typedef uint8_t UINT8, *PUINT8;
typedef uint16_t UINT16, *PUINT16;
typedef uint32_t UINT32, *PUINT32, ULONG32, *PULONG32, DWORD32, *PDWORD32;
typedef unsigned long long UINT64, *PUINT64;
typedef float FLOAT, *PFLOAT;
typedef double DOUBLE;
typedef intptr_t SSIZE_T, *PSSIZE_T;
typedef LONG NTSTATUS, HRESULT, SCODE;
typedef WORD ATOM, LANGID;
typedef DWORD LCID, ACCESS_MASK, *PACCESS_MASK, COLORREF;
typedef UINT_PTR WPARAM;
typedef LONG_PTR LPARAM, LRESULT;

typedef BOOL *PBOOL, *LPBOOL;
typedef INT *PINT, *LPINT;
typedef UINT *PUINT, *LPUINT;
typedef SHORT *PSHORT;
typedef USHORT *PUSHORT;
typedef UCHAR *PUCHAR;
typedef LONGLONG *PLONGLONG;
typedef ULONGLONG *PULONGLONG;
typedef LONG64 *PLONG64;
typedef ULONG64 *PULONG64;
typedef DWORD64 *PDWORD64;
typedef DWORDLONG *PDWORDLONG;
typedef DWORD_PTR *PDWORD_PTR;
typedef ULONG_PTR *PULONG_PTR;
typedef LONG_PTR *PLONG_PTR;
typedef INT_PTR *PINT_PTR;
typedef UINT_PTR *PUINT_PTR;
typedef SIZE_T *PSIZE_T;
typedef const DWORD *PCDWORD;

typedef HANDLE HLOCAL, HGLOBAL;
typedef struct HKEY__ *HKEY;
typedef HKEY *PHKEY;
typedef struct HINSTANCE__ *HINSTANCE;
typedef HINSTANCE HMODULE;
typedef struct HWND__ *HWND;
typedef intptr_t (*FARPROC)(void);

#ifndef _FILETIME_
#define _FILETIME_
typedef struct _FILETIME {
    DWORD dwLowDateTime;
    DWORD dwHighDateTime;
} FILETIME, *PFILETIME, *LPFILETIME;
#endif

typedef union _ULARGE_INTEGER {
    __extension__ struct {
        DWORD LowPart;
        DWORD HighPart;
    };
    struct {
        DWORD LowPart;
        DWORD HighPart;
    } u;
    ULONGLONG QuadPart;
} ULARGE_INTEGER, *PULARGE_INTEGER;

#define MAKEWORD(low, high) ((WORD)(LOBYTE(low) | (WORD)(LOBYTE(high) << 8)))
#define MAKELONG(low, high) ((LONG)(LOWORD(low) | (DWORD)LOWORD(high) << 16))
#define LOWORD(value) ((WORD)(((DWORD_PTR)(value)) & 0xFFFF))
#define HIWORD(value) ((WORD)((((DWORD_PTR)(value)) >> 16) & 0xFFFF))
#define LOBYTE(value) ((BYTE)(((DWORD_PTR)(value)) & 0xFF))
#define HIBYTE(value) ((BYTE)((((DWORD_PTR)(value)) >> 8) & 0xFF))

/* In C++ these are functions: as macros they would break the headers of the language. */
#ifndef NOMINMAX
#ifdef __cplusplus
#if !defined(min) && !defined(max)
PERFLIB_BEGIN_CXX
template <typename Left, typename Right>
constexpr auto min(const Left &left, const Right &right) -> decltype(true ? left + 0 : right + 0)
{
    return left < right ? left : right;
}
template <typename Left, typename Right>
constexpr auto max(const Left &left, const Right &right) -> decltype(true ? left + 0 : right + 0)
{
    return left > right ? left : right;
}
PERFLIB_END_CXX
#endif
#else
#ifndef max
#define max(left, right) (((left) > (right)) ? (left) : (right))
#endif
#ifndef min
#define min(left, right) (((left) < (right)) ? (left) : (right))
#endif
#endif
#endif

#include <guiddef.h>
#include <winnt.h>

#endif
