/* Wide text as <wchar.h> has it, for programs whose wchar_t has 2 bytes: the C library's functions take 4.
 * The functions that only MS C has are here for both sizes.
 */
#include "internal.h"

#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <stdlib.h>
#include <wchar.h>
#include <wctype.h>

#pragma GCC visibility push(hidden)

#define UNIT 2
#include "wide_units.h"
#include "wide_number_units.h"
#include "wide_stream_units.h"
#undef UNIT
#define UNIT 4
#include "wide_units.h"
#include "wide_number_units.h"
#include "wide_stream_units.h"
#undef UNIT

#pragma GCC visibility pop
