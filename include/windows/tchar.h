/* Names that mean wide text with _UNICODE, and narrow text without.
 */
#ifndef PERFLIB_WINDOWS_TCHAR_H
#define PERFLIB_WINDOWS_TCHAR_H

#include <perflib_shim.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <wctype.h>

#ifdef _UNICODE
#ifndef _TCHAR_DEFINED
#define _TCHAR_DEFINED
typedef wchar_t TCHAR, *PTCHAR;
#endif
typedef wchar_t _TCHAR, _TSCHAR, _TUCHAR, _TXCHAR;
#define __T(text) L##text
#define _tmain        wmain
#define _tcslen       wcslen
#define _tcsnlen      wcsnlen
#define _tcscpy       wcscpy
#define _tcsncpy      wcsncpy
#define _tcscat       wcscat
#define _tcsncat      wcsncat
#define _tcscmp       wcscmp
#define _tcsncmp      wcsncmp
#define _tcsicmp      _wcsicmp
#define _tcsnicmp     _wcsnicmp
#define _tcschr       wcschr
#define _tcsrchr      wcsrchr
#define _tcsstr       wcsstr
#define _tcspbrk      wcspbrk
#define _tcsspn       wcsspn
#define _tcscspn      wcscspn
#define _tcsdup       _wcsdup
#define _tcstok_s     wcstok_s
#define _tcscpy_s     wcscpy_s
#define _tcsncpy_s    wcsncpy_s
#define _tcscat_s     wcscat_s
#define _tcsncat_s    wcsncat_s
#define _tprintf      wprintf
#define _tprintf_s    wprintf_s
#define _ftprintf     fwprintf
#define _ftprintf_s   fwprintf_s
#define _vtprintf     vwprintf
#define _vftprintf    vfwprintf
#define _sntprintf    _snwprintf
#define _vsntprintf   _vsnwprintf
#define _stprintf     _swprintf
#define _stprintf_s   swprintf_s
#define _vstprintf_s  vswprintf_s
#define _sntprintf_s  _snwprintf_s
#define _vsntprintf_s _vsnwprintf_s
#define _sctprintf    _scwprintf
#define _vsctprintf   _vscwprintf
#define _fputts       fputws
#define _putts        _putws
#define _fputtc       fputwc
#define _puttchar     putwchar
#define _ttoi         _wtoi
#define _ttol         _wtol
#define _ttoi64       _wtoi64
#define _tstoi        _wtoi
#define _tstol        _wtol
#define _tstof        _wtof
#define _tcstol       wcstol
#define _tcstoul      wcstoul
#define _tcstod       wcstod
#define _itot         _itow
#define _itot_s       _itow_s
#define _ltot_s       _ltow_s
#define _ultot_s      _ultow_s
#define _i64tot_s     _i64tow_s
#define _ui64tot_s    _ui64tow_s
#define _istalpha     iswalpha
#define _istdigit     iswdigit
#define _istspace     iswspace
#define _istalnum     iswalnum
#define _istupper     iswupper
#define _istlower     iswlower
#define _istprint     iswprint
#define _totupper     towupper
#define _totlower     towlower
#define _TEOF         WEOF
#define _tcstok       wcstok
#define _tcscoll      wcscoll
#define _tcsupr       _wcsupr
#define _tcslwr       _wcslwr
#define _tcsrev       _wcsrev
#define _tcsclen      wcslen
#define _tcsnccmp     wcsncmp
#define _tcsncicmp    _wcsnicmp
#define _tcsnccpy     wcsncpy
#define _tcsnccat     wcsncat
#define _vstprintf    _vswprintf
#define _vtprintf_s   vwprintf_s
#define _vftprintf_s  vfwprintf_s
#define _puttc        putwc
#define _ttof         _wtof
#define _tstoi64      _wtoi64
#define _tcstof       wcstof
#define _tcstoll      wcstoll
#define _tcstoull     wcstoull
#define _tcstoi64     _wcstoi64
#define _tcstoui64    _wcstoui64
#define _ltot         _ltow
#define _ultot        _ultow
#define _i64tot       _i64tow
#define _ui64tot      _ui64tow
#define _istxdigit    iswxdigit
#define _istpunct     iswpunct
#define _istcntrl     iswcntrl
#define _istgraph     iswgraph
#define _TINT         wint_t
#else
#ifndef _TCHAR_DEFINED
#define _TCHAR_DEFINED
typedef char TCHAR, *PTCHAR;
#endif
typedef char _TCHAR, _TSCHAR, _TUCHAR, _TXCHAR;
#define __T(text) text
#define _tmain        main
#define _tcslen       strlen
#define _tcsnlen      strnlen
#define _tcscpy       strcpy
#define _tcsncpy      strncpy
#define _tcscat       strcat
#define _tcsncat      strncat
#define _tcscmp       strcmp
#define _tcsncmp      strncmp
#define _tcsicmp      _stricmp
#define _tcsnicmp     _strnicmp
#define _tcschr       strchr
#define _tcsrchr      strrchr
#define _tcsstr       strstr
#define _tcspbrk      strpbrk
#define _tcsspn       strspn
#define _tcscspn      strcspn
#define _tcsdup       _strdup
#define _tcstok_s     strtok_s
#define _tcscpy_s     strcpy_s
#define _tcsncpy_s    strncpy_s
#define _tcscat_s     strcat_s
#define _tcsncat_s    strncat_s
#define _tprintf      printf
#define _tprintf_s    printf_s
#define _ftprintf     fprintf
#define _ftprintf_s   fprintf_s
#define _vtprintf     vprintf
#define _vftprintf    vfprintf
#define _sntprintf    _snprintf
#define _vsntprintf   _vsnprintf
#define _stprintf     sprintf
#define _stprintf_s   sprintf_s
#define _vstprintf_s  vsprintf_s
#define _sntprintf_s  _snprintf_s
#define _vsntprintf_s _vsnprintf_s
#define _sctprintf    _scprintf
#define _vsctprintf   _vscprintf
#define _fputts       fputs
#define _putts        puts
#define _fputtc       fputc
#define _puttchar     putchar
#define _ttoi         atoi
#define _ttol         atol
#define _ttoi64       _atoi64
#define _tstoi        atoi
#define _tstol        atol
#define _tstof        atof
#define _tcstol       strtol
#define _tcstoul      strtoul
#define _tcstod       strtod
#define _itot         _itoa
#define _itot_s       _itoa_s
#define _ltot_s       _ltoa_s
#define _ultot_s      _ultoa_s
#define _i64tot_s     _i64toa_s
#define _ui64tot_s    _ui64toa_s
#define _istalpha     isalpha
#define _istdigit     isdigit
#define _istspace     isspace
#define _istalnum     isalnum
#define _istupper     isupper
#define _istlower     islower
#define _istprint     isprint
#define _totupper     toupper
#define _totlower     tolower
#define _TEOF         EOF
#define _tcstok       strtok
#define _tcscoll      strcoll
#define _tcsupr       _strupr
#define _tcslwr       _strlwr
#define _tcsrev       _strrev
#define _tcsclen      strlen
#define _tcsnccmp     strncmp
#define _tcsncicmp    _strnicmp
#define _tcsnccpy     strncpy
#define _tcsnccat     strncat
#define _vstprintf    vsprintf
#define _vtprintf_s   vprintf_s
#define _vftprintf_s  vfprintf_s
#define _puttc        putc
#define _ttof         atof
#define _tstoi64      _atoi64
#define _tcstof       strtof
#define _tcstoll      strtoll
#define _tcstoull     strtoull
#define _tcstoi64     _strtoi64
#define _tcstoui64    _strtoui64
#define _ltot         _ltoa
#define _ultot        _ultoa
#define _i64tot       _i64toa
#define _ui64tot      _ui64toa
#define _istxdigit    isxdigit
#define _istpunct     ispunct
#define _istcntrl     iscntrl
#define _istgraph     isgraph
#define _fgetts       fgets
#define _TINT         int
#endif
#define _T(text)    __T(text)
#define _TEXT(text) __T(text)

#endif
