/* Performance counters, PerfLib V2: what Windows declares in its perflib.h.
 *
 * A consumer opens a query, adds PERF_COUNTER_IDENTIFIER blocks to it and collects as often as it likes:
 *
 *     HANDLE Query;
 *     PerfOpenQueryHandle(NULL, &Query);
 *     PerfAddCounters(Query, Identifiers, IdentifiersSize);      each Status says how its entry fared
 *     PerfQueryCounterData(Query, Data, DataSize, &DataActual);  raw values; their types are in winperf.h
 *     PerfCloseQueryHandle(Query);
 *
 * Functions return a Win32 code, 0 for success, and leave the last error alone, but for two that return a pointer.
 * Blocks have variable length: go on by their size fields, never by sizeof or a sum of your own.
 *
 * C11 or C++11. Sources: Microsoft Learn, perflib.h reference and "Using the PerfLib Functions to Consume Counter
 * Data"; [MS-PCQ] Performance Counter Query Protocol.
 */
#ifndef PERFLIB_H
#define PERFLIB_H

#include "perflib_types.h"

PERFLIB_STATIC_ASSERT(sizeof(DWORD) == 4 && sizeof(ULONG) == 4 && sizeof(LONG) == 4,
    "perflib.h: DWORD, ULONG and LONG of the windows.h before it must have 32 bits: uint32_t and int32_t, not long");
PERFLIB_STATIC_ASSERT(sizeof(LONGLONG) == 8 && sizeof(ULONGLONG) == 8,
    "perflib.h: LONGLONG and ULONGLONG of the windows.h before it must have 64 bits");
PERFLIB_STATIC_ASSERT(sizeof(WCHAR) == PERFLIB_WCHAR_SIZE,
    "perflib.h: WCHAR of the windows.h before it has another size: define PERFLIB_WCHAR_SIZE as 2 or 4 to say which");
PERFLIB_STATIC_ASSERT(sizeof(GUID) == 16, "perflib.h: GUID of the windows.h before it must have 16 bytes");
PERFLIB_STATIC_ASSERT(sizeof(SYSTEMTIME) == 16, "perflib.h: SYSTEMTIME of the windows.h before it must have 16 bytes");

/* These functions are called as any other of this system. A windows.h that makes WINAPI or CALLBACK a convention of
 * Windows fails here: define both as empty.
 */
typedef void (*perflib_WINAPI_must_be_empty)(void);
typedef void (WINAPI *perflib_WINAPI_must_be_empty)(void);
typedef void (*perflib_CALLBACK_must_be_empty)(void);
typedef void (CALLBACK *perflib_CALLBACK_must_be_empty)(void);

PERFLIB_BEGIN_C

/* Kinds of providers. */
#define PERF_PROVIDER_USER_MODE   0
#define PERF_PROVIDER_KERNEL_MODE 1
#define PERF_PROVIDER_DRIVER      2

/* InstanceType of a counterset, by its parts. */
#define PERF_COUNTERSET_FLAG_MULTIPLE  2
#define PERF_COUNTERSET_FLAG_AGGREGATE 4
#define PERF_COUNTERSET_FLAG_HISTORY   8
#define PERF_COUNTERSET_FLAG_INSTANCE  16

#define PERF_COUNTERSET_SINGLE_INSTANCE          0
#define PERF_COUNTERSET_MULTI_INSTANCES          PERF_COUNTERSET_FLAG_MULTIPLE
#define PERF_COUNTERSET_SINGLE_AGGREGATE         PERF_COUNTERSET_FLAG_AGGREGATE
#define PERF_COUNTERSET_MULTI_AGGREGATE          (PERF_COUNTERSET_FLAG_AGGREGATE | PERF_COUNTERSET_FLAG_MULTIPLE)
#define PERF_COUNTERSET_SINGLE_AGGREGATE_HISTORY (PERF_COUNTERSET_FLAG_HISTORY | PERF_COUNTERSET_SINGLE_AGGREGATE)
#define PERF_COUNTERSET_INSTANCE_AGGREGATE       (PERF_COUNTERSET_MULTI_AGGREGATE | PERF_COUNTERSET_FLAG_INSTANCE)

/* AggregateFunc: how many instances become one value. UNDEFINED has none. */
#define PERF_AGGREGATE_UNDEFINED 0
#define PERF_AGGREGATE_TOTAL     1
#define PERF_AGGREGATE_AVG       2
#define PERF_AGGREGATE_MIN       3
#define PERF_AGGREGATE_MAX       4

/* Attrib of a counter. Of the last three, an earlier one wins over a later one that contradicts it. */
#define PERF_ATTRIB_BY_REFERENCE       0x0000000000000001 /* the provider gave the value's address */
#define PERF_ATTRIB_NO_DISPLAYABLE     0x0000000000000002 /* serves other counters only: a base, a time */
#define PERF_ATTRIB_NO_GROUP_SEPARATOR 0x0000000000000004
#define PERF_ATTRIB_DISPLAY_AS_REAL    0x0000000000000008
#define PERF_ATTRIB_DISPLAY_AS_HEX     0x0000000000000010

/* Text constants have the units of WCHAR. */
#if PERFLIB_WCHAR_SIZE == __SIZEOF_WCHAR_T__
#define PERF_WILDCARD_INSTANCE  L"*"
#define PERF_AGGREGATE_INSTANCE L"_Total"
#else
#define PERF_WILDCARD_INSTANCE  u"*"
#define PERF_AGGREGATE_INSTANCE u"_Total"
#endif

/* As CounterId: all counters. As InstanceId, the same number means any id. */
#define PERF_WILDCARD_COUNTER 0xFFFFFFFF

/* Units that an instance name may have, its NUL included. */
#define PERF_MAX_INSTANCE_NAME 1024

/* RequestCode of a control callback. */
#define PERF_ADD_COUNTER    1
#define PERF_REMOVE_COUNTER 2
#define PERF_ENUM_INSTANCES 3
#define PERF_COLLECT_START  5
#define PERF_COLLECT_END    6
#define PERF_FILTER         9

/* What PerfQueryCounterSetRegistrationInfo is asked, and which block it answers with. */
typedef enum _PerfRegInfoType {
    PERF_REG_COUNTERSET_STRUCT = 1,       /* PERF_COUNTERSET_REG_INFO and all its counters */
    PERF_REG_COUNTER_STRUCT = 2,          /* PERF_COUNTER_REG_INFO of one counter */
    PERF_REG_COUNTERSET_NAME_STRING = 3,  /* text with its NUL, in a language */
    PERF_REG_COUNTERSET_HELP_STRING = 4,  /* text with its NUL, in a language */
    PERF_REG_COUNTER_NAME_STRINGS = 5,    /* PERF_STRING_BUFFER_HEADER block, in a language */
    PERF_REG_COUNTER_HELP_STRINGS = 6,    /* PERF_STRING_BUFFER_HEADER block, in a language */
    PERF_REG_PROVIDER_NAME = 7,           /* text with its NUL */
    PERF_REG_PROVIDER_GUID = 8,           /* GUID */
    PERF_REG_COUNTERSET_ENGLISH_NAME = 9, /* text with its NUL */
    PERF_REG_COUNTER_ENGLISH_NAMES = 10   /* PERF_STRING_BUFFER_HEADER block */
} PerfRegInfoType;

/* dwType of a PERF_COUNTER_HEADER: what follows it. A wildcard in the instance name makes it one of the last two. */
typedef enum _PerfCounterDataType {
    PERF_ERROR_RETURN = 0,       /* nothing; dwStatus says why */
    PERF_SINGLE_COUNTER = 1,     /* PERF_COUNTER_DATA */
    PERF_MULTIPLE_COUNTERS = 2,  /* PERF_MULTI_COUNTERS, then one PERF_COUNTER_DATA a counter */
    PERF_MULTIPLE_INSTANCES = 4, /* PERF_MULTI_INSTANCES, one PERF_COUNTER_DATA an instance */
    PERF_COUNTERSET = 6          /* PERF_MULTI_COUNTERS, then PERF_MULTI_INSTANCES, all those counters an instance */
} PerfCounterDataType;

PERFLIB_STATIC_ASSERT(sizeof(PerfRegInfoType) == 4, "perflib.h: enumerations must have 32 bits: no -fshort-enums");
PERFLIB_STATIC_ASSERT(PERF_COUNTERSET_MULTI_AGGREGATE == 6 && PERF_COUNTERSET_SINGLE_AGGREGATE_HISTORY == 12
    && PERF_COUNTERSET_INSTANCE_AGGREGATE == 22, "perflib.h: instance types");

/* Describes a counterset. NumCounters PERF_COUNTER_REG_INFO follow. */
typedef struct _PERF_COUNTERSET_REG_INFO {
    GUID CounterSetGuid;
    ULONG CounterSetType; /* 0 */
    ULONG DetailLevel;    /* PERF_DETAIL_NOVICE to PERF_DETAIL_WIZARD */
    ULONG NumCounters;
    ULONG InstanceType;   /* PERF_COUNTERSET_SINGLE_INSTANCE and its siblings */
} PERF_COUNTERSET_REG_INFO, *PPERF_COUNTERSET_REG_INFO;

/* Describes a counter. Where it names another counter, 0xFFFFFFFF is none. */
typedef struct _PERF_COUNTER_REG_INFO {
    ULONG CounterId;
    ULONG Type;          /* winperf.h: PERF_COUNTER_COUNTER and its siblings */
    ULONGLONG Attrib;    /* PERF_ATTRIB_BY_REFERENCE and its siblings */
    ULONG DetailLevel;
    LONG DefaultScale;   /* a power of ten, -10 to 10, to show the value by */
    ULONG BaseCounterId;
    ULONG PerfTimeId;
    ULONG PerfFreqId;
    ULONG MultiId;
    ULONG AggregateFunc; /* PERF_AGGREGATE_TOTAL and its siblings */
    ULONG Reserved;
} PERF_COUNTER_REG_INFO, *PPERF_COUNTER_REG_INFO;

/* Begins a block of texts. dwCounters PERF_STRING_COUNTER_HEADER follow, then the texts. */
typedef struct _STRING_BUFFER_HEADER {
    DWORD dwSize;     /* bytes of the whole block */
    DWORD dwCounters;
} PERF_STRING_BUFFER_HEADER, *PPERF_STRING_BUFFER_HEADER;

/* Where the text of a counter is. */
typedef struct _STRING_COUNTER_HEADER {
    DWORD dwCounterId;
    DWORD dwOffset; /* bytes from the PERF_STRING_BUFFER_HEADER to the text; 0xFFFFFFFF: it has none */
} PERF_STRING_COUNTER_HEADER, *PPERF_STRING_COUNTER_HEADER;

/* An instance. Its name with NUL follows. In counter data, PERF_COUNTER_DATA blocks begin behind Size bytes. */
typedef struct _PERF_INSTANCE_HEADER {
    ULONG Size; /* bytes of this, the name and its padding */
    ULONG InstanceId;
} PERF_INSTANCE_HEADER, *PPERF_INSTANCE_HEADER;

/* An entry of a query: which counters of which instances. The instance name with NUL follows: a pattern, in which *
 * stands for any units and ? for one. A single-instance counterset takes none, or an empty one.
 */
typedef struct _PERF_COUNTER_IDENTIFIER {
    GUID CounterSetGuid;
    ULONG Status;     /* of PerfAddCounters and PerfDeleteCounters: a Win32 code */
    ULONG Size;       /* bytes of this, the name and its padding: a multiple of 8 */
    ULONG CounterId;  /* PERF_WILDCARD_COUNTER: all */
    ULONG InstanceId; /* 0xFFFFFFFF: any */
    ULONG Index;      /* of PerfQueryCounterInfo: position of its PERF_COUNTER_HEADER in the data */
    ULONG Reserved;
} PERF_COUNTER_IDENTIFIER, *PPERF_COUNTER_IDENTIFIER;

/* Begins collected data. dwNumCounters PERF_COUNTER_HEADER blocks follow, one an entry of the query. */
typedef struct _PERF_DATA_HEADER {
    ULONG dwTotalSize;        /* bytes of all */
    ULONG dwNumCounters;
    LONGLONG PerfTimeStamp;   /* ticks of the high-resolution clock */
    LONGLONG PerfTime100NSec; /* 100 ns since 1601-01-01, UTC */
    LONGLONG PerfFreq;        /* ticks a second */
    SYSTEMTIME SystemTime;    /* UTC */
} PERF_DATA_HEADER, *PPERF_DATA_HEADER;

/* The data of one entry, or why there are none. */
typedef struct _PERF_COUNTER_HEADER {
    ULONG dwStatus;             /* a Win32 code */
    PerfCounterDataType dwType; /* what follows */
    ULONG dwSize;               /* bytes of this and what follows */
    ULONG Reserved;
} PERF_COUNTER_HEADER, *PPERF_COUNTER_HEADER;

/* The instances of an entry. dwInstances times a PERF_INSTANCE_HEADER block and its PERF_COUNTER_DATA blocks follow. */
typedef struct _PERF_MULTI_INSTANCES {
    ULONG dwTotalSize; /* bytes of this and what follows */
    ULONG dwInstances;
} PERF_MULTI_INSTANCES, *PPERF_MULTI_INSTANCES;

/* The counters of an entry, in the order of their data. dwCounters counter ids of 4 bytes follow. */
typedef struct _PERF_MULTI_COUNTERS {
    ULONG dwSize; /* bytes of this, the ids and their padding */
    ULONG dwCounters;
} PERF_MULTI_COUNTERS, *PPERF_MULTI_COUNTERS;

/* A raw value, which follows. */
typedef struct _PERF_COUNTER_DATA {
    ULONG dwDataSize; /* bytes of the value: 4 or 8; 0: there is none */
    ULONG dwSize;     /* bytes of this, the value and its padding */
} PERF_COUNTER_DATA, *PPERF_COUNTER_DATA;

/* A provider's description of a counterset. NumCounters PERF_COUNTER_INFO follow. */
typedef struct _PERF_COUNTERSET_INFO {
    GUID CounterSetGuid;
    GUID ProviderGuid;
    ULONG NumCounters;
    ULONG InstanceType;
} PERF_COUNTERSET_INFO, *PPERF_COUNTERSET_INFO;

/* A provider's description of a counter. */
typedef struct _PERF_COUNTER_INFO {
    ULONG CounterId;
    ULONG Type;
    ULONGLONG Attrib;
    ULONG Size;        /* bytes of the value: 4 or 8; by reference, of its address */
    ULONG DetailLevel;
    LONG Scale;        /* a power of ten */
    ULONG Offset;      /* set by PerfSetCounterSetInfo: bytes from the end of PERF_COUNTERSET_INSTANCE to the value */
} PERF_COUNTER_INFO, *PPERF_COUNTER_INFO;

/* An instance of a provider. The values follow, 8 bytes each in the order of the description, then the name. */
typedef struct _PERF_COUNTERSET_INSTANCE {
    GUID CounterSetGuid;
    ULONG dwSize;             /* bytes of all */
    ULONG InstanceId;
    ULONG InstanceNameOffset; /* bytes from here */
    ULONG InstanceNameSize;   /* bytes, NUL included */
} PERF_COUNTERSET_INSTANCE, *PPERF_COUNTERSET_INSTANCE;

/* What a control callback is told of an entry. The names follow. */
typedef struct _PERF_COUNTER_IDENTITY {
    GUID CounterSetGuid;
    ULONG BufferSize;    /* bytes of this and the names */
    ULONG CounterId;     /* PERF_WILDCARD_COUNTER: all */
    ULONG InstanceId;    /* 0xFFFFFFFF: any */
    ULONG MachineOffset; /* bytes from here */
    ULONG NameOffset;    /* bytes from here; 0: no name */
    ULONG Reserved;
} PERF_COUNTER_IDENTITY, *PPERF_COUNTER_IDENTITY;

/* A provider's control callback. Buffer holds a WNODE_HEADER of 48 bytes (wmistr.h), and behind it what RequestCode is
 * about: a PERF_COUNTER_IDENTITY to add and remove, else the machine's name. BufferSize counts the bytes of both.
 */
typedef ULONG (WINAPI *PERFLIBREQUEST)(ULONG RequestCode, PVOID Buffer, ULONG BufferSize);

/* A provider's own memory: both or neither. They are never called: instances are in shared memory. */
typedef LPVOID (CALLBACK *PERF_MEM_ALLOC)(SIZE_T AllocSize, LPVOID pContext);
typedef void (CALLBACK *PERF_MEM_FREE)(LPVOID pBuffer, LPVOID pContext);

/* How a provider is started. All but ContextSize may be 0. */
typedef struct _PROVIDER_CONTEXT {
    DWORD ContextSize; /* bytes of this */
    DWORD Reserved;
    PERFLIBREQUEST ControlCallback;
    PERF_MEM_ALLOC MemAllocRoutine;
    PERF_MEM_FREE MemFreeRoutine;
    LPVOID pMemContext; /* what both routines are given */
} PERF_PROVIDER_CONTEXT, *PPERF_PROVIDER_CONTEXT;

#define PERFLIB_SIZE(type, size) PERFLIB_STATIC_ASSERT(sizeof(type) == (size), "perflib.h: size of " #type)
#define PERFLIB_AT(type, field, at) \
    PERFLIB_STATIC_ASSERT(offsetof(type, field) == (at), "perflib.h: offset of " #type "." #field)
PERFLIB_SIZE(PERF_COUNTERSET_REG_INFO, 32);
PERFLIB_SIZE(PERF_COUNTER_REG_INFO, 48);
PERFLIB_AT(PERF_COUNTER_REG_INFO, Attrib, 8);
PERFLIB_SIZE(PERF_STRING_BUFFER_HEADER, 8);
PERFLIB_SIZE(PERF_STRING_COUNTER_HEADER, 8);
PERFLIB_SIZE(PERF_INSTANCE_HEADER, 8);
PERFLIB_SIZE(PERF_COUNTER_IDENTIFIER, 40);
PERFLIB_SIZE(PERF_DATA_HEADER, 48);
PERFLIB_AT(PERF_DATA_HEADER, PerfTimeStamp, 8);
PERFLIB_AT(PERF_DATA_HEADER, PerfTime100NSec, 16);
PERFLIB_AT(PERF_DATA_HEADER, PerfFreq, 24);
PERFLIB_AT(PERF_DATA_HEADER, SystemTime, 32);
PERFLIB_SIZE(PERF_COUNTER_HEADER, 16);
PERFLIB_SIZE(PERF_MULTI_INSTANCES, 8);
PERFLIB_SIZE(PERF_MULTI_COUNTERS, 8);
PERFLIB_SIZE(PERF_COUNTER_DATA, 8);
PERFLIB_SIZE(PERF_COUNTERSET_INFO, 40);
PERFLIB_SIZE(PERF_COUNTER_INFO, 32);
PERFLIB_AT(PERF_COUNTER_INFO, Attrib, 8);
PERFLIB_SIZE(PERF_COUNTERSET_INSTANCE, 32);
PERFLIB_SIZE(PERF_COUNTER_IDENTITY, 40);
PERFLIB_SIZE(PERF_PROVIDER_CONTEXT, 8 + 4 * sizeof(void *));
#undef PERFLIB_SIZE
#undef PERFLIB_AT

/* The consumer functions.
 *
 * szMachine: NULL is this machine. A buffer that is too small gives ERROR_NOT_ENOUGH_MEMORY and the size that would do,
 * and is left as it was; NULL with size 0 asks for that size. What is needed may grow: ask in a loop.
 */

/* GUIDs of all registered countersets. Counts GUIDs, not bytes. */
ULONG WINAPI PerfEnumerateCounterSet(LPCWSTR szMachine, LPGUID pCounterSetIds, DWORD cCounterSetIds,
    LPDWORD pcCounterSetIdsActual) PERFLIB_WIDE("PerfEnumerateCounterSet");

/* PERF_INSTANCE_HEADER blocks of the active instances, back to back. */
ULONG WINAPI PerfEnumerateCounterSetInstances(LPCWSTR szMachine, LPCGUID pCounterSetId,
    PPERF_INSTANCE_HEADER pInstances, DWORD cbInstances, LPDWORD pcbInstancesActual)
    PERFLIB_WIDE("PerfEnumerateCounterSetInstances");

/* Describes a counterset. requestLangId: a language id, 0 is the machine's; a counter id with PERF_REG_COUNTER_STRUCT.
 */
ULONG WINAPI PerfQueryCounterSetRegistrationInfo(LPCWSTR szMachine, LPCGUID pCounterSetId,
    PerfRegInfoType requestCode, DWORD requestLangId, LPBYTE pbRegInfo, DWORD cbRegInfo, LPDWORD pcbRegInfoActual)
    PERFLIB_WIDE("PerfQueryCounterSetRegistrationInfo");

/* Opens an empty query. On failure *phQuery is NULL. */
ULONG WINAPI PerfOpenQueryHandle(LPCWSTR szMachine, HANDLE *phQuery) PERFLIB_WIDE("PerfOpenQueryHandle");

ULONG WINAPI PerfCloseQueryHandle(HANDLE hQuery);

/* One PERF_COUNTER_IDENTIFIER block an entry of the query, each with its Index. Adding and deleting change indexes. */
ULONG WINAPI PerfQueryCounterInfo(HANDLE hQuery, PPERF_COUNTER_IDENTIFIER pCounters, DWORD cbCounters,
    LPDWORD pcbCountersActual) PERFLIB_WIDE("PerfQueryCounterInfo");

/* Collects all entries at once: a PERF_DATA_HEADER block. */
ULONG WINAPI PerfQueryCounterData(HANDLE hQuery, PPERF_DATA_HEADER pCounterBlock, DWORD cbCounterBlock,
    LPDWORD pcbCounterBlockActual) PERFLIB_WIDE("PerfQueryCounterData");

/* Both take blocks that fill cbCounters bytes exactly and write the Status of each; 0 says only that they could be
 * read.
 */
ULONG WINAPI PerfAddCounters(HANDLE hQuery, PPERF_COUNTER_IDENTIFIER pCounters, DWORD cbCounters)
    PERFLIB_WIDE("PerfAddCounters");
ULONG WINAPI PerfDeleteCounters(HANDLE hQuery, PPERF_COUNTER_IDENTIFIER pCounters, DWORD cbCounters)
    PERFLIB_WIDE("PerfDeleteCounters");

/* The provider functions: counters of this program, in shared memory that consumers read.
 *
 *     HANDLE Provider;
 *     PERF_COUNTERSET_INSTANCE *Instance;
 *     PerfStartProvider(&ProviderGuid, NULL, &Provider);
 *     PerfSetCounterSetInfo(Provider, &Template.Info, sizeof Template);   once for each counterset
 *     Instance = PerfCreateInstance(Provider, &CounterSetGuid, L"name", 0);
 *     PerfIncrementULongCounterValue(Provider, Instance, CounterId, 1);   or through a pointer to the value
 *     PerfDeleteInstance(Provider, Instance);
 *     PerfStopProvider(Provider);
 *
 * A callback runs on a thread of the library's, one at a time for each provider, while a consumer waits: at most
 * 100 ms, or as long as the variable PERFSET_DEADLINE says. One that takes longer counts as ERROR_SUCCESS. Handles that are none, or none any more, give ERROR_INVALID_PARAMETER.
 */
ULONG WINAPI PerfStartProvider(LPGUID ProviderGuid, PERFLIBREQUEST ControlCallback, HANDLE *phProvider)
    PERFLIB_WIDE("PerfStartProvider");
ULONG WINAPI PerfStartProviderEx(LPGUID ProviderGuid, PPERF_PROVIDER_CONTEXT ProviderContext, HANDLE *phProvider)
    PERFLIB_WIDE("PerfStartProviderEx");

/* Ends the provider's instances, and waits for its callback. */
ULONG WINAPI PerfStopProvider(HANDLE ProviderHandle);

/* Describes a counterset: Template and its counters, whose Offset is written. */
ULONG WINAPI PerfSetCounterSetInfo(HANDLE ProviderHandle, PPERF_COUNTERSET_INFO Template, ULONG TemplateSize);

/* NULL on failure, and the last error says why. The block is the library's; its values are yours to set, at
 * InstanceBlock + 1, 8 bytes each. One name and id exist once in a handle.
 */
PPERF_COUNTERSET_INSTANCE WINAPI PerfCreateInstance(HANDLE ProviderHandle, LPCGUID CounterSetGuid, LPCWSTR Name,
    ULONG Id) PERFLIB_WIDE("PerfCreateInstance");
PPERF_COUNTERSET_INSTANCE WINAPI PerfQueryInstance(HANDLE ProviderHandle, LPCGUID CounterSetGuid, LPCWSTR Name,
    ULONG Id) PERFLIB_WIDE("PerfQueryInstance");
ULONG WINAPI PerfDeleteInstance(HANDLE Provider, PPERF_COUNTERSET_INSTANCE InstanceBlock);

/* Address holds 4 or 8 bytes, by the counter's type, and must stay valid; NULL: no value. */
ULONG WINAPI PerfSetCounterRefValue(HANDLE Provider, PPERF_COUNTERSET_INSTANCE Instance, ULONG CounterId,
    PVOID Address);

/* Values wrap around silently. */
ULONG WINAPI PerfSetULongCounterValue(HANDLE Provider, PPERF_COUNTERSET_INSTANCE Instance, ULONG CounterId,
    ULONG Value);
ULONG WINAPI PerfSetULongLongCounterValue(HANDLE Provider, PPERF_COUNTERSET_INSTANCE Instance, ULONG CounterId,
    ULONGLONG Value);
ULONG WINAPI PerfIncrementULongCounterValue(HANDLE Provider, PPERF_COUNTERSET_INSTANCE Instance, ULONG CounterId,
    ULONG Value);
ULONG WINAPI PerfIncrementULongLongCounterValue(HANDLE Provider, PPERF_COUNTERSET_INSTANCE Instance, ULONG CounterId,
    ULONGLONG Value);
ULONG WINAPI PerfDecrementULongCounterValue(HANDLE Provider, PPERF_COUNTERSET_INSTANCE Instance, ULONG CounterId,
    ULONG Value);
ULONG WINAPI PerfDecrementULongLongCounterValue(HANDLE Provider, PPERF_COUNTERSET_INSTANCE Instance, ULONG CounterId,
    ULONGLONG Value);

PERFLIB_END_C

#endif
