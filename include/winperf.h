/* Performance data, V1: what Windows declares in its winperf.h.
 *
 * The structures of the block that HKEY_PERFORMANCE_DATA is answered with, and the counter types that both it and
 * PerfLib V2 use. A block holds
 *
 *     PERF_DATA_BLOCK, the system's name
 *     NumObjectTypes times:  PERF_OBJECT_TYPE, NumCounters times PERF_COUNTER_DEFINITION, and then, by NumInstances,
 *         PERF_NO_INSTANCES  one PERF_COUNTER_BLOCK
 *         n, also 0          n times PERF_INSTANCE_DEFINITION, its name, PERF_COUNTER_BLOCK
 *         the others         nothing
 *
 * and each is found by the length fields before it, never by sizeof. Nothing promises that a value is aligned: copy it.
 *
 * C11 or C++11. Sources: Microsoft Learn, winperf.h reference and "Performance Data Format"; [MS-PCQ] 2.2.4.2.
 */
#ifndef PERFLIB_WINPERF_H
#define PERFLIB_WINPERF_H

#include "perflib_types.h"

PERFLIB_STATIC_ASSERT(sizeof(DWORD) == 4 && sizeof(LONG) == 4,
    "winperf.h: DWORD and LONG of the windows.h before it must have 32 bits: uint32_t and int32_t, not long");
PERFLIB_STATIC_ASSERT(sizeof(WCHAR) == PERFLIB_WCHAR_SIZE,
    "winperf.h: WCHAR of the windows.h before it has another size: define PERFLIB_WCHAR_SIZE as 2 or 4 to say which");
PERFLIB_STATIC_ASSERT(sizeof(LARGE_INTEGER) == 8 && sizeof(SYSTEMTIME) == 16,
    "winperf.h: LARGE_INTEGER of the windows.h before it must have 8 bytes, SYSTEMTIME 16");

PERFLIB_BEGIN_C

#define PERF_DATA_VERSION  1
#define PERF_DATA_REVISION 1

/* Begins a block. Names have the units of this program's WCHAR; the signature has UTF-16 units everywhere. */
typedef struct _PERF_DATA_BLOCK {
#if PERFLIB_WCHAR_SIZE == 2
    WCHAR Signature[4];      /* PERF, without NUL */
#else
    uint16_t Signature[4];   /* PERF, without NUL: compare with memcmp(Signature, u"PERF", 8) */
#endif
    DWORD LittleEndian;      /* 1; 0 is big-endian */
    DWORD Version;
    DWORD Revision;
    DWORD TotalByteLength;   /* bytes of all */
    DWORD HeaderLength;      /* bytes to the first PERF_OBJECT_TYPE */
    DWORD NumObjectTypes;
    LONG DefaultObject;      /* a title index, for people to begin with */
    SYSTEMTIME SystemTime;   /* UTC; local time in some logs */
    LARGE_INTEGER PerfTime __attribute__((aligned(8))); /* ticks of the high-resolution clock */
    LARGE_INTEGER PerfFreq;        /* ticks a second */
    LARGE_INTEGER PerfTime100nSec; /* 100 ns since 1601-01-01, UTC */
    DWORD SystemNameLength;  /* bytes, NUL included */
    DWORD SystemNameOffset;  /* bytes from here */
} PERF_DATA_BLOCK, *PPERF_DATA_BLOCK;

/* An object. Title members hold 4 bytes of nothing; the texts are found by title index. */
typedef struct _PERF_OBJECT_TYPE {
    DWORD TotalByteLength;      /* bytes to the next object */
    DWORD DefinitionLength;     /* bytes to the first PERF_INSTANCE_DEFINITION or PERF_COUNTER_BLOCK */
    DWORD HeaderLength;         /* bytes to the first PERF_COUNTER_DEFINITION */
    DWORD ObjectNameTitleIndex;
    DWORD ObjectNameTitle;
    DWORD ObjectHelpTitleIndex;
    DWORD ObjectHelpTitle;
    DWORD DetailLevel;
    DWORD NumCounters;
    LONG DefaultCounter;        /* position of a counter, from 0; -1: none */
    LONG NumInstances;          /* or PERF_NO_INSTANCES and its siblings */
    DWORD CodePage;             /* of instance names; 0: they have WCHAR units */
    LARGE_INTEGER PerfTime;     /* the object's own clock, for PERF_OBJECT_TIMER */
    LARGE_INTEGER PerfFreq;     /* its ticks a second */
} PERF_OBJECT_TYPE, *PPERF_OBJECT_TYPE;

/* NumInstances without instances. */
#define PERF_NO_INSTANCES                (-1) /* the object never has any */
#define PERF_METADATA_MULTIPLE_INSTANCES (-2) /* definitions only, of an object that may have some */
#define PERF_METADATA_NO_INSTANCES       (-3) /* definitions only, of an object that never has any */

/* A counter of an object. A base directly follows the counter that it is the base of. */
typedef struct _PERF_COUNTER_DEFINITION {
    DWORD ByteLength;            /* bytes to the next definition */
    DWORD CounterNameTitleIndex;
    DWORD CounterNameTitle;
    DWORD CounterHelpTitleIndex;
    DWORD CounterHelpTitle;
    LONG DefaultScale;           /* a power of ten to show the value by */
    DWORD DetailLevel;
    DWORD CounterType;
    DWORD CounterSize;           /* bytes of the value; it rules where the type says otherwise */
    DWORD CounterOffset;         /* bytes from the PERF_COUNTER_BLOCK to the value */
} PERF_COUNTER_DEFINITION, *PPERF_COUNTER_DEFINITION;

/* An instance. Its name and its PERF_COUNTER_BLOCK follow. */
typedef struct _PERF_INSTANCE_DEFINITION {
    DWORD ByteLength;             /* bytes to its PERF_COUNTER_BLOCK */
    DWORD ParentObjectTitleIndex; /* 0: no parent */
    DWORD ParentObjectInstance;   /* position among the parent object's instances, from 0 */
    LONG UniqueID;                /* PERF_NO_UNIQUE_ID: the name identifies it */
    DWORD NameOffset;             /* bytes from here */
    DWORD NameLength;             /* bytes, NUL included; 0: no name */
} PERF_INSTANCE_DEFINITION, *PPERF_INSTANCE_DEFINITION;

#define PERF_NO_UNIQUE_ID (-1)

/* Values, each at the CounterOffset of its definition. */
typedef struct _PERF_COUNTER_BLOCK {
    DWORD ByteLength; /* bytes of this and the values */
} PERF_COUNTER_BLOCK, *PPERF_COUNTER_BLOCK;

#define PERFLIB_SIZE(type, size) PERFLIB_STATIC_ASSERT(sizeof(type) == (size), "winperf.h: size of " #type)
#define PERFLIB_AT(type, field, at) \
    PERFLIB_STATIC_ASSERT(offsetof(type, field) == (at), "winperf.h: offset of " #type "." #field)
PERFLIB_SIZE(PERF_DATA_BLOCK, 88);
PERFLIB_AT(PERF_DATA_BLOCK, SystemTime, 36);
PERFLIB_AT(PERF_DATA_BLOCK, PerfTime, 56);
PERFLIB_AT(PERF_DATA_BLOCK, PerfTime100nSec, 72);
PERFLIB_SIZE(PERF_OBJECT_TYPE, 64);
PERFLIB_AT(PERF_OBJECT_TYPE, PerfTime, 48);
PERFLIB_SIZE(PERF_COUNTER_DEFINITION, 40);
PERFLIB_SIZE(PERF_INSTANCE_DEFINITION, 24);
PERFLIB_SIZE(PERF_COUNTER_BLOCK, 4);
#undef PERFLIB_SIZE
#undef PERFLIB_AT

/* Whom a counter is for: everybody, and so on to those who build the system. */
#define PERF_DETAIL_NOVICE   100
#define PERF_DETAIL_ADVANCED 200
#define PERF_DETAIL_EXPERT   300
#define PERF_DETAIL_WIZARD   400

/* A counter type is made of the parts that follow, one of each group at most. */

/* Size of the value. */
#define PERF_SIZE_DWORD        0x00000000
#define PERF_SIZE_LARGE        0x00000100 /* 8 bytes */
#define PERF_SIZE_ZERO         0x00000200 /* no value */
#define PERF_SIZE_VARIABLE_LEN 0x00000300

/* Kind. */
#define PERF_TYPE_NUMBER  0x00000000 /* shown as it is */
#define PERF_TYPE_COUNTER 0x00000400 /* grows, or needs a formula */
#define PERF_TYPE_TEXT    0x00000800
#define PERF_TYPE_ZERO    0x00000C00 /* always 0 */

/* Of a number: how it is shown. */
#define PERF_NUMBER_HEX      0x00000000
#define PERF_NUMBER_DECIMAL  0x00010000
#define PERF_NUMBER_DEC_1000 0x00020000 /* divided by 1000 */

/* Of a counter: which formula. */
#define PERF_COUNTER_VALUE     0x00000000
#define PERF_COUNTER_RATE      0x00010000 /* by the time */
#define PERF_COUNTER_FRACTION  0x00020000 /* by the base */
#define PERF_COUNTER_BASE      0x00030000 /* is the base of the one before */
#define PERF_COUNTER_ELAPSED   0x00040000 /* from the value to the time */
#define PERF_COUNTER_QUEUELEN  0x00050000
#define PERF_COUNTER_HISTOGRAM 0x00060000
#define PERF_COUNTER_PRECISION 0x00070000 /* by a time that is its base */

/* Of a text: its units. */
#define PERF_TEXT_UNICODE 0x00000000
#define PERF_TEXT_ASCII   0x00010000

/* Which clock is the time. */
#define PERF_TIMER_TICK   0x00000000 /* PerfTime and PerfFreq of the block */
#define PERF_TIMER_100NS  0x00100000 /* PerfTime100nSec of the block */
#define PERF_OBJECT_TIMER 0x00200000 /* PerfTime and PerfFreq of the object */

/* What is done before or after. */
#define PERF_DELTA_COUNTER   0x00400000 /* the difference of two values */
#define PERF_DELTA_BASE      0x00800000 /* the difference of two bases */
#define PERF_INVERSE_COUNTER 0x01000000 /* what is left to 100 % */
#define PERF_MULTI_COUNTER   0x02000000 /* over as many items as its base says */

/* What is written behind the value. */
#define PERF_DISPLAY_NO_SUFFIX 0x00000000
#define PERF_DISPLAY_PER_SEC   0x10000000
#define PERF_DISPLAY_PERCENT   0x20000000
#define PERF_DISPLAY_SECONDS   0x30000000
#define PERF_DISPLAY_NOSHOW    0x40000000 /* is not shown */

/* Counter types. Behind each: the number that it must be. */
#define PERF_COUNTER_COUNTER /* 0x10410400 */ \
    (PERF_SIZE_DWORD | PERF_TYPE_COUNTER | PERF_COUNTER_RATE | PERF_TIMER_TICK | PERF_DELTA_COUNTER \
        | PERF_DISPLAY_PER_SEC)
#define PERF_COUNTER_TIMER /* 0x20410500 */ \
    (PERF_SIZE_LARGE | PERF_TYPE_COUNTER | PERF_COUNTER_RATE | PERF_TIMER_TICK | PERF_DELTA_COUNTER \
        | PERF_DISPLAY_PERCENT)
#define PERF_COUNTER_QUEUELEN_TYPE /* 0x00450400 */ \
    (PERF_SIZE_DWORD | PERF_TYPE_COUNTER | PERF_COUNTER_QUEUELEN | PERF_TIMER_TICK | PERF_DELTA_COUNTER \
        | PERF_DISPLAY_NO_SUFFIX)
#define PERF_COUNTER_LARGE_QUEUELEN_TYPE /* 0x00450500 */ \
    (PERF_SIZE_LARGE | PERF_TYPE_COUNTER | PERF_COUNTER_QUEUELEN | PERF_TIMER_TICK | PERF_DELTA_COUNTER \
        | PERF_DISPLAY_NO_SUFFIX)
#define PERF_COUNTER_100NS_QUEUELEN_TYPE /* 0x00550500 */ \
    (PERF_SIZE_LARGE | PERF_TYPE_COUNTER | PERF_COUNTER_QUEUELEN | PERF_TIMER_100NS | PERF_DELTA_COUNTER \
        | PERF_DISPLAY_NO_SUFFIX)
#define PERF_COUNTER_OBJ_TIME_QUEUELEN_TYPE /* 0x00650500 */ \
    (PERF_SIZE_LARGE | PERF_TYPE_COUNTER | PERF_COUNTER_QUEUELEN | PERF_OBJECT_TIMER | PERF_DELTA_COUNTER \
        | PERF_DISPLAY_NO_SUFFIX)
#define PERF_COUNTER_BULK_COUNT /* 0x10410500 */ \
    (PERF_SIZE_LARGE | PERF_TYPE_COUNTER | PERF_COUNTER_RATE | PERF_TIMER_TICK | PERF_DELTA_COUNTER \
        | PERF_DISPLAY_PER_SEC)
#define PERF_COUNTER_TEXT /* 0x00000B00 */ \
    (PERF_SIZE_VARIABLE_LEN | PERF_TYPE_TEXT | PERF_TEXT_UNICODE | PERF_DISPLAY_NO_SUFFIX)
#define PERF_COUNTER_RAWCOUNT /* 0x00010000 */ \
    (PERF_SIZE_DWORD | PERF_TYPE_NUMBER | PERF_NUMBER_DECIMAL | PERF_DISPLAY_NO_SUFFIX)
#define PERF_COUNTER_LARGE_RAWCOUNT /* 0x00010100 */ \
    (PERF_SIZE_LARGE | PERF_TYPE_NUMBER | PERF_NUMBER_DECIMAL | PERF_DISPLAY_NO_SUFFIX)
#define PERF_COUNTER_RAWCOUNT_HEX /* 0x00000000 */ \
    (PERF_SIZE_DWORD | PERF_TYPE_NUMBER | PERF_NUMBER_HEX | PERF_DISPLAY_NO_SUFFIX)
#define PERF_COUNTER_LARGE_RAWCOUNT_HEX /* 0x00000100 */ \
    (PERF_SIZE_LARGE | PERF_TYPE_NUMBER | PERF_NUMBER_HEX | PERF_DISPLAY_NO_SUFFIX)
#define PERF_SAMPLE_FRACTION /* 0x20C20400 */ \
    (PERF_SIZE_DWORD | PERF_TYPE_COUNTER | PERF_COUNTER_FRACTION | PERF_DELTA_COUNTER | PERF_DELTA_BASE \
        | PERF_DISPLAY_PERCENT)
#define PERF_SAMPLE_COUNTER /* 0x00410400 */ \
    (PERF_SIZE_DWORD | PERF_TYPE_COUNTER | PERF_COUNTER_RATE | PERF_TIMER_TICK | PERF_DELTA_COUNTER \
        | PERF_DISPLAY_NO_SUFFIX)
#define PERF_COUNTER_NODATA /* 0x40000200 */ \
    (PERF_SIZE_ZERO | PERF_DISPLAY_NOSHOW)
#define PERF_COUNTER_TIMER_INV /* 0x21410500 */ \
    (PERF_COUNTER_TIMER | PERF_INVERSE_COUNTER)
#define PERF_SAMPLE_BASE /* 0x40030401 */ \
    (PERF_SIZE_DWORD | PERF_TYPE_COUNTER | PERF_COUNTER_BASE | PERF_DISPLAY_NOSHOW | 0x00000001)
#define PERF_AVERAGE_TIMER /* 0x30020400 */ \
    (PERF_SIZE_DWORD | PERF_TYPE_COUNTER | PERF_COUNTER_FRACTION | PERF_DISPLAY_SECONDS)
#define PERF_AVERAGE_BASE /* 0x40030402 */ \
    (PERF_SIZE_DWORD | PERF_TYPE_COUNTER | PERF_COUNTER_BASE | PERF_DISPLAY_NOSHOW | 0x00000002)
#define PERF_AVERAGE_BULK /* 0x40020500 */ \
    (PERF_SIZE_LARGE | PERF_TYPE_COUNTER | PERF_COUNTER_FRACTION | PERF_DISPLAY_NOSHOW)
#define PERF_OBJ_TIME_TIMER /* 0x20610500 */ \
    (PERF_SIZE_LARGE | PERF_TYPE_COUNTER | PERF_COUNTER_RATE | PERF_OBJECT_TIMER | PERF_DELTA_COUNTER \
        | PERF_DISPLAY_PERCENT)
#define PERF_100NSEC_TIMER /* 0x20510500 */ \
    (PERF_SIZE_LARGE | PERF_TYPE_COUNTER | PERF_COUNTER_RATE | PERF_TIMER_100NS | PERF_DELTA_COUNTER \
        | PERF_DISPLAY_PERCENT)
#define PERF_100NSEC_TIMER_INV /* 0x21510500 */ \
    (PERF_100NSEC_TIMER | PERF_INVERSE_COUNTER)
#define PERF_COUNTER_MULTI_TIMER /* 0x22410500 */ \
    (PERF_COUNTER_TIMER | PERF_MULTI_COUNTER)
#define PERF_COUNTER_MULTI_TIMER_INV /* 0x23410500 */ \
    (PERF_COUNTER_TIMER | PERF_MULTI_COUNTER | PERF_INVERSE_COUNTER)
#define PERF_COUNTER_MULTI_BASE /* 0x42030500 */ \
    (PERF_SIZE_LARGE | PERF_TYPE_COUNTER | PERF_COUNTER_BASE | PERF_MULTI_COUNTER | PERF_DISPLAY_NOSHOW)
#define PERF_100NSEC_MULTI_TIMER /* 0x22510500 */ \
    (PERF_100NSEC_TIMER | PERF_MULTI_COUNTER)
#define PERF_100NSEC_MULTI_TIMER_INV /* 0x23510500 */ \
    (PERF_100NSEC_TIMER | PERF_MULTI_COUNTER | PERF_INVERSE_COUNTER)
#define PERF_RAW_FRACTION /* 0x20020400 */ \
    (PERF_SIZE_DWORD | PERF_TYPE_COUNTER | PERF_COUNTER_FRACTION | PERF_DISPLAY_PERCENT)
#define PERF_LARGE_RAW_FRACTION /* 0x20020500 */ \
    (PERF_SIZE_LARGE | PERF_TYPE_COUNTER | PERF_COUNTER_FRACTION | PERF_DISPLAY_PERCENT)
#define PERF_RAW_BASE /* 0x40030403 */ \
    (PERF_SIZE_DWORD | PERF_TYPE_COUNTER | PERF_COUNTER_BASE | PERF_DISPLAY_NOSHOW | 0x00000003)
#define PERF_LARGE_RAW_BASE /* 0x40030500 */ \
    (PERF_SIZE_LARGE | PERF_TYPE_COUNTER | PERF_COUNTER_BASE | PERF_DISPLAY_NOSHOW)
#define PERF_ELAPSED_TIME /* 0x30240500 */ \
    (PERF_SIZE_LARGE | PERF_TYPE_COUNTER | PERF_COUNTER_ELAPSED | PERF_OBJECT_TIMER | PERF_DISPLAY_SECONDS)
#define PERF_COUNTER_HISTOGRAM_TYPE 0x80000000
#define PERF_COUNTER_DELTA /* 0x00400400 */ \
    (PERF_SIZE_DWORD | PERF_TYPE_COUNTER | PERF_COUNTER_VALUE | PERF_DELTA_COUNTER | PERF_DISPLAY_NO_SUFFIX)
#define PERF_COUNTER_LARGE_DELTA /* 0x00400500 */ \
    (PERF_SIZE_LARGE | PERF_TYPE_COUNTER | PERF_COUNTER_VALUE | PERF_DELTA_COUNTER | PERF_DISPLAY_NO_SUFFIX)
#define PERF_PRECISION_SYSTEM_TIMER /* 0x20470500 */ \
    (PERF_SIZE_LARGE | PERF_TYPE_COUNTER | PERF_COUNTER_PRECISION | PERF_TIMER_TICK | PERF_DELTA_COUNTER \
        | PERF_DISPLAY_PERCENT)
#define PERF_PRECISION_100NS_TIMER /* 0x20570500 */ \
    (PERF_SIZE_LARGE | PERF_TYPE_COUNTER | PERF_COUNTER_PRECISION | PERF_TIMER_100NS | PERF_DELTA_COUNTER \
        | PERF_DISPLAY_PERCENT)
#define PERF_PRECISION_OBJECT_TIMER /* 0x20670500 */ \
    (PERF_SIZE_LARGE | PERF_TYPE_COUNTER | PERF_COUNTER_PRECISION | PERF_OBJECT_TIMER | PERF_DELTA_COUNTER \
        | PERF_DISPLAY_PERCENT)
#define PERF_PRECISION_TIMESTAMP PERF_LARGE_RAW_BASE

#define PERFLIB_IS(type, number) PERFLIB_STATIC_ASSERT((type) == (number), "winperf.h: " #type)
PERFLIB_IS(PERF_COUNTER_COUNTER, 0x10410400);
PERFLIB_IS(PERF_COUNTER_TIMER, 0x20410500);
PERFLIB_IS(PERF_COUNTER_QUEUELEN_TYPE, 0x00450400);
PERFLIB_IS(PERF_COUNTER_LARGE_QUEUELEN_TYPE, 0x00450500);
PERFLIB_IS(PERF_COUNTER_100NS_QUEUELEN_TYPE, 0x00550500);
PERFLIB_IS(PERF_COUNTER_OBJ_TIME_QUEUELEN_TYPE, 0x00650500);
PERFLIB_IS(PERF_COUNTER_BULK_COUNT, 0x10410500);
PERFLIB_IS(PERF_COUNTER_TEXT, 0x00000B00);
PERFLIB_IS(PERF_COUNTER_RAWCOUNT, 0x00010000);
PERFLIB_IS(PERF_COUNTER_LARGE_RAWCOUNT, 0x00010100);
PERFLIB_IS(PERF_COUNTER_RAWCOUNT_HEX, 0x00000000);
PERFLIB_IS(PERF_COUNTER_LARGE_RAWCOUNT_HEX, 0x00000100);
PERFLIB_IS(PERF_SAMPLE_FRACTION, 0x20C20400);
PERFLIB_IS(PERF_SAMPLE_COUNTER, 0x00410400);
PERFLIB_IS(PERF_COUNTER_NODATA, 0x40000200);
PERFLIB_IS(PERF_COUNTER_TIMER_INV, 0x21410500);
PERFLIB_IS(PERF_SAMPLE_BASE, 0x40030401);
PERFLIB_IS(PERF_AVERAGE_TIMER, 0x30020400);
PERFLIB_IS(PERF_AVERAGE_BASE, 0x40030402);
PERFLIB_IS(PERF_AVERAGE_BULK, 0x40020500);
PERFLIB_IS(PERF_OBJ_TIME_TIMER, 0x20610500);
PERFLIB_IS(PERF_100NSEC_TIMER, 0x20510500);
PERFLIB_IS(PERF_100NSEC_TIMER_INV, 0x21510500);
PERFLIB_IS(PERF_COUNTER_MULTI_TIMER, 0x22410500);
PERFLIB_IS(PERF_COUNTER_MULTI_TIMER_INV, 0x23410500);
PERFLIB_IS(PERF_COUNTER_MULTI_BASE, 0x42030500);
PERFLIB_IS(PERF_100NSEC_MULTI_TIMER, 0x22510500);
PERFLIB_IS(PERF_100NSEC_MULTI_TIMER_INV, 0x23510500);
PERFLIB_IS(PERF_RAW_FRACTION, 0x20020400);
PERFLIB_IS(PERF_LARGE_RAW_FRACTION, 0x20020500);
PERFLIB_IS(PERF_RAW_BASE, 0x40030403);
PERFLIB_IS(PERF_LARGE_RAW_BASE, 0x40030500);
PERFLIB_IS(PERF_ELAPSED_TIME, 0x30240500);
PERFLIB_IS(PERF_COUNTER_DELTA, 0x00400400);
PERFLIB_IS(PERF_COUNTER_LARGE_DELTA, 0x00400500);
PERFLIB_IS(PERF_PRECISION_SYSTEM_TIMER, 0x20470500);
PERFLIB_IS(PERF_PRECISION_100NS_TIMER, 0x20570500);
PERFLIB_IS(PERF_PRECISION_OBJECT_TIMER, 0x20670500);
PERFLIB_IS(PERF_PRECISION_TIMESTAMP, 0x40030500);
#undef PERFLIB_IS

/* The entry points of a performance DLL. Only their types: the library loads no such DLLs.
 *
 * A collect function is given the value name, writes objects at *lppData, moves it behind them and sets how many bytes
 * (a multiple of 8) and how many objects they were. If they do not fit it returns ERROR_MORE_DATA and sets both to 0.
 */
typedef DWORD (CALLBACK PM_OPEN_PROC)(LPWSTR pContext);
typedef DWORD (CALLBACK PM_COLLECT_PROC)(LPWSTR lpValueName, LPVOID *lppData, LPDWORD lpcbTotalBytes,
    LPDWORD lpNumObjectTypes);
typedef DWORD (CALLBACK PM_CLOSE_PROC)(void);
typedef DWORD (CALLBACK PM_QUERY_PROC)(LPDWORD lpdwQueryFlags, LPVOID *lppData, LPDWORD lpcbTotalBytes,
    LPDWORD lpNumObjectTypes);

/* Of the obsolete query function: how many objects it may be asked, and for which. */
#define MAX_PERF_OBJECTS_IN_QUERY_FUNCTION 64

#define PERF_QUERY_OBJECTS ((LONG)0x80000000)
#define PERF_QUERY_GLOBAL  ((LONG)0x80000001)
#define PERF_QUERY_COSTLY  ((LONG)0x80000002)

/* How much a performance DLL writes to the event log. */
#define WINPERF_LOG_NONE    0
#define WINPERF_LOG_USER    1 /* errors */
#define WINPERF_LOG_DEBUG   2 /* and warnings */
#define WINPERF_LOG_VERBOSE 3 /* and everything else */

PERFLIB_END_C

#endif
