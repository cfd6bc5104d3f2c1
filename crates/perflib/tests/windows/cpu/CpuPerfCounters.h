// Raw processor counters through the PerfLib consumer functions.
//
// Windows source, as it would be written there: nothing in it knows that it may be built for something else.

#pragma once
#include <sal.h>

// When a reading was taken, by each of the clocks that the formulas need.
struct CpuPerfTimestamp
{
    __int64 PerfTimeStamp;   // QueryPerformanceCounter
    __int64 PerfTime100NSec; // 100 ns since 1601, UTC
    __int64 PerfFreq;        // ticks of PerfTimeStamp a second
};

// Raw values of one instance of the counterset "Processor Information". A value that did not come is 0.
struct CpuPerfData
{
    wchar_t InstanceName[16]; // "0,3", "0,_Total", "_Total"; cut if longer

    __int64 unsigned PercentProcessorTime;
    __int64 unsigned PercentUserTime;
    __int64 unsigned PercentPrivilegedTime;
    __int64 unsigned InterruptsPerSec;
    __int64 unsigned PercentDpcTime;
    __int64 unsigned PercentInterruptTime;
    __int64 unsigned DpcsQueuedPerSec;
    __int64 unsigned DpcRate;
    __int64 unsigned PercentIdleTime;
    __int64 unsigned PercentC1Time;
    __int64 unsigned PercentC2Time;
    __int64 unsigned PercentC3Time;
    __int64 unsigned C1TransitionsPerSec;
    __int64 unsigned C2TransitionsPerSec;
    __int64 unsigned C3TransitionsPerSec;
    __int64 unsigned PercentPriorityTime;
    __int64 unsigned ParkingStatus;
    __int64 unsigned ProcessorFrequency;
    __int64 unsigned PercentOfMaximumFrequency;
    __int64 unsigned ProcessorStateFlags;
    __int64 unsigned ClockInterruptsPerSec;
    __int64 unsigned AverageIdleTime;
    __int64 unsigned AverageIdleTimeBase;
    __int64 unsigned IdleBreakEventsPerSec;
    __int64 unsigned PercentProcessorPerformance;
    __int64 unsigned PercentProcessorPerformanceBase;
    __int64 unsigned PercentProcessorUtility;
    __int64 unsigned ProcessorUtilityBase;
    __int64 unsigned PercentPrivilegedUtility;
    __int64 unsigned PercentPerformanceLimit;
    __int64 unsigned PerformanceLimitFlags;
};

// Owns a query for all counters of all processors, opened by the first reading.
class CpuPerfCounters
{
public:
    CpuPerfCounters() noexcept;
    ~CpuPerfCounters();

    CpuPerfCounters(CpuPerfCounters const&) = delete;
    CpuPerfCounters& operator=(CpuPerfCounters const&) = delete;

    // Takes a reading. ERROR_MORE_DATA: *instanceCount says how many instances there are; the first of them are here.
    // After any other error there is no reading.
    _Success_(return == 0)
    _Check_return_
    unsigned Read(
        _Out_opt_ CpuPerfTimestamp* timestamp,
        _Out_cap_post_count_(instanceCapacity, *instanceCount) CpuPerfData* instances,
        _In_ unsigned instanceCapacity,
        _Out_ unsigned* instanceCount);

private:
    _Check_return_ unsigned Open();
    void Close();
    _Check_return_ unsigned Query();

    _Check_return_ _Ret_maybenull_ _Post_writable_byte_size_(byteCount)
    static void* Allocate(_In_ unsigned byteCount);
    static void Free(_Pre_maybenull_ _Post_invalid_ void* bytes);

    void* m_query;          // NULL until the first reading
    unsigned char* m_block; // the last answer
    unsigned m_blockSize;   // bytes of the answer
    unsigned m_capacity;    // bytes allocated
};
