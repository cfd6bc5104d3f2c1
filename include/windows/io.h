/* The mode of a stream. Wide output is UTF-8 here in any mode, so there is nothing to set.
 */
#ifndef PERFLIB_WINDOWS_IO_H
#define PERFLIB_WINDOWS_IO_H

#pragma GCC system_header

#include <perflib_crt.h>

#include <fcntl.h>

PERFLIB_BEGIN_C

int _isatty(int file) __asm__("isatty");

/* The mode that it had. */
static inline int _setmode(int file, int mode)
{
    (void)file;
    (void)mode;
    return _O_TEXT;
}

PERFLIB_END_C

#endif
