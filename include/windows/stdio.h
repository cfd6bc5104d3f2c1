/* <stdio.h> of the C library, with what Windows has in it. See perflib_crt.h. */
#ifndef PERFLIB_WINDOWS_STDIO_H
#define PERFLIB_WINDOWS_STDIO_H
#include <perflib_crt.h>
#endif
