/* The units that a source is compiled for; UNIT is their number of bytes: 1 for narrow text, 2 or 4 for wide text.
 * Included again for each size, by the sources named *_units.h.
 */
#undef TEXT
#undef WIDE
#undef NAME
#if UNIT == 1
#define TEXT char
#define NAME(narrow, wide) perflib_##narrow
#elif UNIT == 2
#define TEXT uint16_t
#define NAME(narrow, wide) perflib_##wide
#else
#define TEXT uint32_t
#define NAME(narrow, wide) perflib_##wide##_utf32
#endif

/* A function that has wide text only. */
#if UNIT == 4
#define WIDE(name) perflib_##name##_utf32
#else
#define WIDE(name) perflib_##name
#endif
