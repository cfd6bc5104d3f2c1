/* Functions of the system: errors, clocks, memory, text, the machine's name.
 */
#ifndef PERFLIB_WINDOWS_WINBASE_H
#define PERFLIB_WINDOWS_WINBASE_H

#include <winerror.h>
#include <winnt.h>

#include <stdarg.h>
#include <string.h>

#define INVALID_HANDLE_VALUE ((HANDLE)(LONG_PTR)-1)
#define INFINITE             0xFFFFFFFFu

#define ZeroMemory RtlZeroMemory
#define FillMemory RtlFillMemory
#define CopyMemory RtlCopyMemory
#define MoveMemory RtlMoveMemory
#define SecureZeroMemory(to, count) (memset((to), 0, (count)), __asm__ volatile("" : : "r"(to) : "memory"))

#define LMEM_FIXED    0x0000
#define LMEM_MOVEABLE 0x0002
#define LMEM_ZEROINIT 0x0040
#define LHND          (LMEM_MOVEABLE | LMEM_ZEROINIT)
#define LPTR          (LMEM_FIXED | LMEM_ZEROINIT)
#define GMEM_FIXED    0x0000
#define GMEM_MOVEABLE 0x0002
#define GMEM_ZEROINIT 0x0040
#define GHND          (GMEM_MOVEABLE | GMEM_ZEROINIT)
#define GPTR          (GMEM_FIXED | GMEM_ZEROINIT)

#define HEAP_NO_SERIALIZE          0x00000001
#define HEAP_GENERATE_EXCEPTIONS   0x00000004
#define HEAP_ZERO_MEMORY           0x00000008
#define HEAP_REALLOC_IN_PLACE_ONLY 0x00000010

#define MAX_COMPUTERNAME_LENGTH 15

#define FORMAT_MESSAGE_ALLOCATE_BUFFER 0x00000100
#define FORMAT_MESSAGE_IGNORE_INSERTS  0x00000200
#define FORMAT_MESSAGE_FROM_STRING     0x00000400
#define FORMAT_MESSAGE_FROM_HMODULE    0x00000800
#define FORMAT_MESSAGE_FROM_SYSTEM     0x00001000
#define FORMAT_MESSAGE_ARGUMENT_ARRAY  0x00002000
#define FORMAT_MESSAGE_MAX_WIDTH_MASK  0x000000FF

PERFLIB_BEGIN_C

DWORD GetLastError(void) PERFLIB_SYMBOL("GetLastError");
void SetLastError(DWORD code) PERFLIB_SYMBOL("SetLastError");

/* What an error code means, for the codes of winerror.h. The texts are ours, in English, and have no inserts. */
DWORD FormatMessageA(DWORD flags, LPCVOID source, DWORD code, DWORD language, LPSTR buffer, DWORD size,
    va_list *arguments) PERFLIB_SYMBOL("FormatMessageA");
DWORD FormatMessageW(DWORD flags, LPCVOID source, DWORD code, DWORD language, LPWSTR buffer, DWORD size,
    va_list *arguments) PERFLIB_WIDE_SYMBOL("FormatMessageW");

/* Clocks; the first three are the ones of the performance library. */
BOOL QueryPerformanceCounter(LARGE_INTEGER *count) PERFLIB_SYMBOL("QueryPerformanceCounter");
BOOL QueryPerformanceFrequency(LARGE_INTEGER *frequency) PERFLIB_SYMBOL("QueryPerformanceFrequency");
void GetSystemTimeAsFileTime(FILETIME *time) PERFLIB_SYMBOL("GetSystemTimeAsFileTime");
void GetSystemTimePreciseAsFileTime(FILETIME *time) PERFLIB_SYMBOL("GetSystemTimeAsFileTime");
void GetSystemTime(SYSTEMTIME *time) PERFLIB_SYMBOL("GetSystemTime");
void GetLocalTime(SYSTEMTIME *time) PERFLIB_SYMBOL("GetLocalTime");
BOOL FileTimeToSystemTime(const FILETIME *time, SYSTEMTIME *date) PERFLIB_SYMBOL("FileTimeToSystemTime");
BOOL SystemTimeToFileTime(const SYSTEMTIME *date, FILETIME *time) PERFLIB_SYMBOL("SystemTimeToFileTime");
BOOL FileTimeToLocalFileTime(const FILETIME *time, FILETIME *local) PERFLIB_SYMBOL("FileTimeToLocalFileTime");
LONG CompareFileTime(const FILETIME *left, const FILETIME *right) PERFLIB_SYMBOL("CompareFileTime");
DWORD GetTickCount(void) PERFLIB_SYMBOL("GetTickCount");
ULONGLONG GetTickCount64(void) PERFLIB_SYMBOL("GetTickCount64");
void Sleep(DWORD milliseconds) PERFLIB_SYMBOL("Sleep");

/* Memory. What is movable stays where it is, so its handle is its address. */
HLOCAL LocalAlloc(UINT flags, SIZE_T bytes) PERFLIB_SYMBOL("LocalAlloc");
HLOCAL LocalReAlloc(HLOCAL memory, SIZE_T bytes, UINT flags) PERFLIB_SYMBOL("LocalReAlloc");
HLOCAL LocalFree(HLOCAL memory) PERFLIB_SYMBOL("LocalFree");
HGLOBAL GlobalAlloc(UINT flags, SIZE_T bytes) PERFLIB_SYMBOL("LocalAlloc");
HGLOBAL GlobalReAlloc(HGLOBAL memory, SIZE_T bytes, UINT flags) PERFLIB_SYMBOL("LocalReAlloc");
HGLOBAL GlobalFree(HGLOBAL memory) PERFLIB_SYMBOL("LocalFree");
#define LocalLock(memory)    ((LPVOID)(memory))
#define LocalUnlock(memory)  ((void)(memory), FALSE)
#define GlobalLock(memory)   ((LPVOID)(memory))
#define GlobalUnlock(memory) ((void)(memory), FALSE)
HANDLE GetProcessHeap(void) PERFLIB_SYMBOL("GetProcessHeap");
LPVOID HeapAlloc(HANDLE heap, DWORD flags, SIZE_T bytes) PERFLIB_SYMBOL("HeapAlloc");
LPVOID HeapReAlloc(HANDLE heap, DWORD flags, LPVOID memory, SIZE_T bytes) PERFLIB_SYMBOL("HeapReAlloc");
BOOL HeapFree(HANDLE heap, DWORD flags, LPVOID memory) PERFLIB_SYMBOL("HeapFree");
SIZE_T HeapSize(HANDLE heap, DWORD flags, LPCVOID memory) PERFLIB_SYMBOL("HeapSize");

/* Text. */
int lstrlenA(LPCSTR text) PERFLIB_SYMBOL("lstrlenA");
int lstrlenW(LPCWSTR text) PERFLIB_WIDE_SYMBOL("lstrlenW");
int lstrcmpA(LPCSTR left, LPCSTR right) PERFLIB_SYMBOL("lstrcmpA");
int lstrcmpW(LPCWSTR left, LPCWSTR right) PERFLIB_WIDE_SYMBOL("lstrcmpW");
int lstrcmpiA(LPCSTR left, LPCSTR right) PERFLIB_SYMBOL("lstrcmpiA");
int lstrcmpiW(LPCWSTR left, LPCWSTR right) PERFLIB_WIDE_SYMBOL("lstrcmpiW");
LPSTR lstrcpyA(LPSTR to, LPCSTR from) PERFLIB_SYMBOL("lstrcpyA");
LPWSTR lstrcpyW(LPWSTR to, LPCWSTR from) PERFLIB_WIDE_SYMBOL("lstrcpyW");
LPSTR lstrcpynA(LPSTR to, LPCSTR from, int size) PERFLIB_SYMBOL("lstrcpynA");
LPWSTR lstrcpynW(LPWSTR to, LPCWSTR from, int size) PERFLIB_WIDE_SYMBOL("lstrcpynW");
LPSTR lstrcatA(LPSTR to, LPCSTR from) PERFLIB_SYMBOL("lstrcatA");
LPWSTR lstrcatW(LPWSTR to, LPCWSTR from) PERFLIB_WIDE_SYMBOL("lstrcatW");
int wsprintfA(LPSTR buffer, LPCSTR format, ...) PERFLIB_WIDE_SYMBOL("wsprintfA");
int wsprintfW(LPWSTR buffer, LPCWSTR format, ...) PERFLIB_WIDE_SYMBOL("wsprintfW");
int wvsprintfA(LPSTR buffer, LPCSTR format, va_list arguments) PERFLIB_WIDE_SYMBOL("wvsprintfA");
int wvsprintfW(LPWSTR buffer, LPCWSTR format, va_list arguments) PERFLIB_WIDE_SYMBOL("wvsprintfW");

/* The machine and the process. */
BOOL GetComputerNameA(LPSTR name, LPDWORD size) PERFLIB_SYMBOL("GetComputerNameA");
BOOL GetComputerNameW(LPWSTR name, LPDWORD size) PERFLIB_WIDE_SYMBOL("GetComputerNameW");
DWORD GetCurrentProcessId(void) PERFLIB_SYMBOL("GetCurrentProcessId");
DWORD GetCurrentThreadId(void) PERFLIB_SYMBOL("GetCurrentThreadId");
DECLSPEC_NORETURN void ExitProcess(UINT code) PERFLIB_SYMBOL("ExitProcess");

PERFLIB_END_C

/* What programs want to know by it is whether the system is old. It is not: the answer is that of a late Windows 10. */
FORCEINLINE BOOL perflib_version(void *info, DWORD size, DWORD plain, DWORD extended)
{
    const DWORD version[] = { size, 10, 0, 19045, VER_PLATFORM_WIN32_NT };
    if (size != plain && size != extended) {
        SetLastError(ERROR_INSUFFICIENT_BUFFER);
        return FALSE;
    }
    memset(info, 0, size);
    memcpy(info, version, sizeof version);
    return TRUE;
}

FORCEINLINE BOOL GetVersionExA(LPOSVERSIONINFOA info)
{
    return perflib_version(info, info->dwOSVersionInfoSize, sizeof(OSVERSIONINFOA), sizeof(OSVERSIONINFOEXA));
}

FORCEINLINE BOOL GetVersionExW(LPOSVERSIONINFOW info)
{
    return perflib_version(info, info->dwOSVersionInfoSize, sizeof(OSVERSIONINFOW), sizeof(OSVERSIONINFOEXW));
}

#ifdef UNICODE
#define FormatMessage FormatMessageW
#define GetVersionEx GetVersionExW
#define lstrlen lstrlenW
#define lstrcmp lstrcmpW
#define lstrcmpi lstrcmpiW
#define lstrcpy lstrcpyW
#define lstrcpyn lstrcpynW
#define lstrcat lstrcatW
#define wsprintf wsprintfW
#define wvsprintf wvsprintfW
#define GetComputerName GetComputerNameW
#else
#define FormatMessage FormatMessageA
#define GetVersionEx GetVersionExA
#define lstrlen lstrlenA
#define lstrcmp lstrcmpA
#define lstrcmpi lstrcmpiA
#define lstrcpy lstrcpyA
#define lstrcpyn lstrcpynA
#define lstrcat lstrcatA
#define wsprintf wsprintfA
#define wvsprintf wvsprintfA
#define GetComputerName GetComputerNameA
#endif

#endif
