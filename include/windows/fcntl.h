/* <fcntl.h> of the C library, with the modes of Windows' streams. See io.h. */
#pragma GCC system_header

#include_next <fcntl.h>

#ifndef PERFLIB_WINDOWS_FCNTL_H
#define PERFLIB_WINDOWS_FCNTL_H

#define _O_TEXT    0x4000
#define _O_BINARY  0x8000
#define _O_WTEXT   0x10000
#define _O_U16TEXT 0x20000
#define _O_U8TEXT  0x40000

#endif
