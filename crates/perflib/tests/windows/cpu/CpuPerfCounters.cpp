#include "CpuPerfCounters.h"
#include <windows.h>
#include <winperf.h>
#include <perflib.h> // needs windows.h before it
#include <stdlib.h>

// {B4FC721A-0378-476F-89BA-A5A79F810B36}
static GUID const ProcessorInformationGuid =
    { 0xb4fc721a, 0x0378, 0x476f, { 0x89, 0xba, 0xa5, 0xa7, 0x9f, 0x81, 0x0b, 0x36 } };

typedef __int64 unsigned CpuPerfData::* CpuPerfField;

// Where the value of a counter goes. The ids are fixed for ever by the counterset's manifest.
static struct { DWORD CounterId; CpuPerfField Field; } const Fields[] = {
    { 0, &CpuPerfData::PercentProcessorTime },
    { 1, &CpuPerfData::PercentUserTime },
    { 2, &CpuPerfData::PercentPrivilegedTime },
    { 3, &CpuPerfData::InterruptsPerSec },
    { 4, &CpuPerfData::PercentDpcTime },
    { 5, &CpuPerfData::PercentInterruptTime },
    { 6, &CpuPerfData::DpcsQueuedPerSec },
    { 7, &CpuPerfData::DpcRate },
    { 8, &CpuPerfData::PercentIdleTime },
    { 9, &CpuPerfData::PercentC1Time },
    { 10, &CpuPerfData::PercentC2Time },
    { 11, &CpuPerfData::PercentC3Time },
    { 12, &CpuPerfData::C1TransitionsPerSec },
    { 13, &CpuPerfData::C2TransitionsPerSec },
    { 14, &CpuPerfData::C3TransitionsPerSec },
    { 15, &CpuPerfData::PercentPriorityTime },
    { 16, &CpuPerfData::ParkingStatus },
    { 17, &CpuPerfData::ProcessorFrequency },
    { 18, &CpuPerfData::PercentOfMaximumFrequency },
    { 19, &CpuPerfData::ProcessorStateFlags },
    { 20, &CpuPerfData::ClockInterruptsPerSec },
    { 21, &CpuPerfData::AverageIdleTime },
    { 22, &CpuPerfData::AverageIdleTimeBase },
    { 23, &CpuPerfData::IdleBreakEventsPerSec },
    { 24, &CpuPerfData::PercentProcessorPerformance },
    { 25, &CpuPerfData::PercentProcessorPerformanceBase },
    { 26, &CpuPerfData::PercentProcessorUtility },
    { 27, &CpuPerfData::ProcessorUtilityBase },
    { 28, &CpuPerfData::PercentPrivilegedUtility },
    { 30, &CpuPerfData::PercentPerformanceLimit },
    { 31, &CpuPerfData::PerformanceLimitFlags },
};

// One entry of a query: all counters of the instances that the name matches.
struct WildcardEntry
{
    PERF_COUNTER_IDENTIFIER Id;
    WCHAR Name[4]; // pads the entry to a multiple of 8 bytes
};

// What of a block is still to be read. The bytes come from other processes, and nobody has checked them.
struct Bytes
{
    LPCBYTE Next;
    DWORD Count;
};

// Reads a structure that carries its own size: the fixed part, then what lies between it and that size.
// `size` is the field that says how many bytes both have together.
template<class Header>
_Success_(return == ERROR_SUCCESS)
static DWORD
Take(_Inout_ Bytes& bytes, _In_ ULONG Header::* size, _Out_ Header& header, _Out_ Bytes& content)
{
    memset(&header, 0, sizeof(header));
    content.Next = NULL;
    content.Count = 0;
    if (bytes.Count < sizeof(Header))
    {
        return ERROR_INVALID_DATA;
    }

    memcpy(&header, bytes.Next, sizeof(header)); // nothing promises that it is aligned
    DWORD const whole = header.*size;
    if (whole < sizeof(Header) || whole > bytes.Count)
    {
        return ERROR_INVALID_DATA;
    }

    content.Next = bytes.Next + sizeof(Header);
    content.Count = whole - static_cast<DWORD>(sizeof(Header));
    bytes.Next += whole;
    bytes.Count -= whole;
    return ERROR_SUCCESS;
}

static CpuPerfField
FieldOfCounter(DWORD counterId)
{
    for (size_t i = 0; i != sizeof(Fields) / sizeof(Fields[0]); i += 1)
    {
        if (Fields[i].CounterId == counterId)
        {
            return Fields[i].Field;
        }
    }
    return NULL; // newer systems have counters that this program does not know
}

// One instance: its name, then a value for each of the counters. `instance` is NULL if the caller has no room for it.
_Success_(return == ERROR_SUCCESS)
static DWORD
ReadInstance(_Inout_ Bytes& bytes, _In_ LPCBYTE counterIds, DWORD counterCount, _Out_opt_ CpuPerfData* instance)
{
    PERF_INSTANCE_HEADER instanceHeader;
    Bytes name;
    DWORD status = Take(bytes, &PERF_INSTANCE_HEADER::Size, instanceHeader, name);
    if (status != ERROR_SUCCESS)
    {
        return status;
    }

    WCHAR const* const text = reinterpret_cast<WCHAR const*>(name.Next);
    size_t const capacity = name.Count / sizeof(WCHAR);
    if (wcsnlen(text, capacity) == capacity)
    {
        return ERROR_INVALID_DATA; // no end inside its block
    }

    if (instance != NULL)
    {
        memset(instance, 0, sizeof(*instance));
        wcsncpy_s(instance->InstanceName, text, _TRUNCATE);
    }

    for (DWORD i = 0; i != counterCount; i += 1)
    {
        PERF_COUNTER_DATA dataHeader;
        Bytes value;
        status = Take(bytes, &PERF_COUNTER_DATA::dwSize, dataHeader, value);
        if (status != ERROR_SUCCESS)
        {
            return status;
        }
        if (dataHeader.dwDataSize > value.Count || value.Count < 8)
        {
            return ERROR_INVALID_DATA;
        }

        DWORD counterId;
        memcpy(&counterId, counterIds + i * sizeof(counterId), sizeof(counterId));
        CpuPerfField const field = FieldOfCounter(counterId);
        if (instance == NULL || field == NULL)
        {
            continue;
        }

        if (dataHeader.dwDataSize == sizeof(DWORD))
        {
            DWORD narrow;
            memcpy(&narrow, value.Next, sizeof(narrow));
            instance->*field = narrow;
        }
        else if (dataHeader.dwDataSize == sizeof(unsigned __int64))
        {
            memcpy(&(instance->*field), value.Next, sizeof(unsigned __int64));
        }
    }

    return ERROR_SUCCESS;
}

CpuPerfCounters::CpuPerfCounters() noexcept
    : m_query(NULL)
    , m_block(NULL)
    , m_blockSize(0)
    , m_capacity(0)
{
}

CpuPerfCounters::~CpuPerfCounters()
{
    Close();
    Free(m_block);
}

unsigned
CpuPerfCounters::Open()
{
    if (m_query != NULL)
    {
        return ERROR_SUCCESS;
    }

    HANDLE query = NULL;
    DWORD status = PerfOpenQueryHandle(NULL, &query);
    if (status != ERROR_SUCCESS)
    {
        return status;
    }
    m_query = query;

    WildcardEntry entry = {};
    entry.Id.CounterSetGuid = ProcessorInformationGuid;
    entry.Id.Size = sizeof(entry);
    entry.Id.CounterId = PERF_WILDCARD_COUNTER;
    entry.Id.InstanceId = 0xffffffff; // whatever id the instance has
    entry.Name[0] = L'*';             // whatever name it has

    status = PerfAddCounters(query, &entry.Id, sizeof(entry));
    if (status == ERROR_SUCCESS)
    {
        status = entry.Id.Status; // the call can do well and the entry not
    }
    if (status != ERROR_SUCCESS)
    {
        Close(); // the next reading tries again
    }
    return status;
}

void
CpuPerfCounters::Close()
{
    if (m_query != NULL)
    {
        PerfCloseQueryHandle(m_query);
        m_query = NULL;
    }
}

// Fills m_block. How large an answer gets is only known from a try, and processors may come before the next one.
unsigned
CpuPerfCounters::Query()
{
    for (;;)
    {
        DWORD needed = 0;
        DWORD const status =
            PerfQueryCounterData(m_query, reinterpret_cast<PERF_DATA_HEADER*>(m_block), m_capacity, &needed);
        if (status != ERROR_NOT_ENOUGH_MEMORY)
        {
            m_blockSize = status == ERROR_SUCCESS ? needed : 0;
            return status;
        }
        if (needed <= m_capacity)
        {
            return ERROR_INVALID_DATA; // or this would never end
        }

        Free(m_block);
        m_capacity = 0;
        m_block = static_cast<LPBYTE>(Allocate(needed));
        if (m_block == NULL)
        {
            return ERROR_OUTOFMEMORY;
        }
        m_capacity = needed;
    }
}

unsigned
CpuPerfCounters::Read(
    _Out_opt_ CpuPerfTimestamp* timestamp,
    _Out_cap_post_count_(instanceCapacity, *instanceCount) CpuPerfData* instances,
    _In_ unsigned instanceCapacity,
    _Out_ unsigned* instanceCount)
{
    *instanceCount = 0;

    DWORD status = Open();
    if (status != ERROR_SUCCESS)
    {
        return status;
    }

    status = Query();
    if (status != ERROR_SUCCESS)
    {
        return status;
    }

    Bytes block = { m_block, m_blockSize };
    PERF_DATA_HEADER dataHeader;
    Bytes results;
    status = Take(block, &PERF_DATA_HEADER::dwTotalSize, dataHeader, results);
    if (status != ERROR_SUCCESS)
    {
        return status;
    }

    // The query has a single entry, so there is a single result.
    PERF_COUNTER_HEADER counterHeader;
    Bytes result;
    if (dataHeader.dwNumCounters != 1)
    {
        return ERROR_INVALID_DATA;
    }
    status = Take(results, &PERF_COUNTER_HEADER::dwSize, counterHeader, result);
    if (status != ERROR_SUCCESS)
    {
        return status;
    }

    if (counterHeader.dwType == PERF_ERROR_RETURN)
    {
        return counterHeader.dwStatus;
    }
    if (counterHeader.dwType != PERF_COUNTERSET)
    {
        return ERROR_INVALID_DATA;
    }

    PERF_MULTI_COUNTERS countersHeader;
    Bytes counterIds;
    status = Take(result, &PERF_MULTI_COUNTERS::dwSize, countersHeader, counterIds);
    if (status != ERROR_SUCCESS)
    {
        return status;
    }
    if (counterIds.Count / sizeof(DWORD) < countersHeader.dwCounters)
    {
        return ERROR_INVALID_DATA;
    }

    PERF_MULTI_INSTANCES instancesHeader;
    Bytes rows;
    status = Take(result, &PERF_MULTI_INSTANCES::dwTotalSize, instancesHeader, rows);
    if (status != ERROR_SUCCESS)
    {
        return status;
    }

    for (DWORD i = 0; i != instancesHeader.dwInstances; i += 1)
    {
        CpuPerfData* const instance = i < instanceCapacity ? &instances[i] : NULL;
        status = ReadInstance(rows, counterIds.Next, countersHeader.dwCounters, instance);
        if (status != ERROR_SUCCESS)
        {
            return status;
        }
    }

    if (timestamp != NULL)
    {
        timestamp->PerfTimeStamp = dataHeader.PerfTimeStamp;
        timestamp->PerfTime100NSec = dataHeader.PerfTime100NSec;
        timestamp->PerfFreq = dataHeader.PerfFreq;
    }
    *instanceCount = instancesHeader.dwInstances;
    return instancesHeader.dwInstances <= instanceCapacity ? ERROR_SUCCESS : ERROR_MORE_DATA;
}

void*
CpuPerfCounters::Allocate(_In_ unsigned byteCount)
{
    return malloc(byteCount);
}

void
CpuPerfCounters::Free(_Pre_maybenull_ _Post_invalid_ void* bytes)
{
    free(bytes);
}
