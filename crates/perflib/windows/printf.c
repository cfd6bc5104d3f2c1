/* The functions of the printf family: narrow ones and wide ones, for both sizes of wide text. */
#include "internal.h"

#include <errno.h>
#include <limits.h>

#pragma GCC visibility push(hidden)

#define UNIT 1
#define WIDE_UNIT 2
#include "printf_units.h"
#undef UNIT
#define UNIT 2
#include "printf_units.h"
#undef UNIT
#undef WIDE_UNIT

#define UNIT 1
#define WIDE_UNIT 4
#include "printf_units.h"
#undef UNIT
#define UNIT 4
#include "printf_units.h"
#undef UNIT
#undef WIDE_UNIT

#pragma GCC visibility pop
