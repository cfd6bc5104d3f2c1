/* What begins the buffer of a provider's control callback.
 */
#ifndef PERFLIB_WINDOWS_WMISTR_H
#define PERFLIB_WINDOWS_WMISTR_H

#include <winnt.h>

#pragma GCC system_header /* the unnamed structures are an extension, and those of Windows */

typedef struct _WNODE_HEADER {
    ULONG BufferSize; /* all of the buffer, in bytes */
    ULONG ProviderId;
    union {
        ULONG64 HistoricalContext;
        __extension__ struct {
            ULONG Version;
            ULONG Linkage;
        };
    };
    union {
        HANDLE KernelHandle;
        LARGE_INTEGER TimeStamp;
    };
    GUID Guid; /* the provider's */
    ULONG ClientContext;
    ULONG Flags;
} WNODE_HEADER, *PWNODE_HEADER;

C_ASSERT(sizeof(WNODE_HEADER) == 48);

#endif
