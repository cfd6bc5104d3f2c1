// Prints how busy the processors are, ten times, a second apart.

#include "CpuPerfCounters.h"
#include <windows.h>
#include <stdio.h>

#ifndef CPU_READINGS
#define CPU_READINGS 10
#endif
#ifndef CPU_PAUSE_MS
#define CPU_PAUSE_MS 1000
#endif

struct Reading
{
    CpuPerfTimestamp Timestamp;
    CpuPerfData Instances[30];
    unsigned InstanceCount;
};

// Processors may come and go, so the place in the array does not tell which is which.
_Check_return_ _Ret_maybenull_
static CpuPerfData const*
FindInstance(_In_ Reading const& reading, _In_ wchar_t const* name)
{
    for (unsigned i = 0; i != reading.InstanceCount; i += 1)
    {
        if (0 == wcscmp(reading.Instances[i].InstanceName, name))
        {
            return &reading.Instances[i];
        }
    }
    return NULL;
}

static void
PrintBusy(_In_ Reading const& before, _In_ Reading const& after)
{
    double const elapsed =
        static_cast<double>(after.Timestamp.PerfTime100NSec - before.Timestamp.PerfTime100NSec);

    for (unsigned i = 0; i != after.InstanceCount; i += 1)
    {
        CpuPerfData const& now = after.Instances[i];
        CpuPerfData const* const then = FindInstance(before, now.InstanceName);
        if (then == NULL || elapsed <= 0)
        {
            printf("       - %ls\n", now.InstanceName);
            continue;
        }

        // PERF_100NSEC_TIMER_INV: the value counts idle time, in units of 100 ns.
        double const idle = static_cast<double>(
            static_cast<__int64>(now.PercentProcessorTime - then->PercentProcessorTime));
        printf("%7.2f%% %ls/%ls\n", 100.0 * (1.0 - idle / elapsed), then->InstanceName, now.InstanceName);
    }
}

int wmain()
{
    static Reading readings[2];
    CpuPerfCounters counters;

    for (unsigned i = 0; i != CPU_READINGS; i += 1)
    {
        if (i != 0)
        {
            Sleep(CPU_PAUSE_MS);
        }

        Reading& after = readings[i % 2];
        Reading const& before = readings[(i + 1) % 2];
        unsigned const status = counters.Read(
            &after.Timestamp,
            after.Instances,
            sizeof(after.Instances) / sizeof(after.Instances[0]),
            &after.InstanceCount);
        if (status == ERROR_MORE_DATA)
        {
            fprintf(stderr, "%u instances are more than this program has room for.\n", after.InstanceCount);
            return ERROR_MORE_DATA;
        }
        if (status != ERROR_SUCCESS)
        {
            fprintf(stderr, "Reading %u failed with error %u.\n", i + 1, status);
            return static_cast<int>(status);
        }

        printf("Reading %u: %u instances.\n", i + 1, after.InstanceCount);
        if (i != 0)
        {
            PrintBusy(before, after);
        }
        fflush(stdout);
    }

    return 0;
}
