/* The copying functions of strsafe.h, for narrow and for wide text. */
#include "internal.h"

#include <limits.h>

#pragma GCC visibility push(hidden)

#define UNIT 1
#include "strsafe_units.h"
#undef UNIT
#define UNIT 2
#include "strsafe_units.h"
#undef UNIT
#define UNIT 4
#include "strsafe_units.h"
#undef UNIT

#pragma GCC visibility pop
