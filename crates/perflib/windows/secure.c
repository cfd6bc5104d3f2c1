/* The functions of MS C that know the size of their buffer, for narrow and for wide text. */
#include "internal.h"

#include <errno.h>

#pragma GCC visibility push(hidden)

#define UNIT 1
#include "secure_units.h"
#undef UNIT
#define UNIT 2
#include "secure_units.h"
#undef UNIT
#define UNIT 4
#include "secure_units.h"
#undef UNIT

#pragma GCC visibility pop
