// Prints the names of the performance objects of this computer, of their instances and of their counters.
//
//     ObjectNames              every object
//     ObjectNames 238          the objects with these indexes
//
// Built with UNICODE defined.

#include <windows.h>
#include <winperf.h>
#include <strsafe.h>
#include <stdio.h>
#include <stdlib.h>

#pragma comment(lib, "advapi32.lib")

#define PERFLIB_KEY      L"SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion\\Perflib"
#define INITIAL_SIZE     (32 * 1024)
#define SIZE_STEP        (16 * 1024)
#define MAX_NAME         256
#define MAX_FULL_NAME    (2 * MAX_NAME)

// The bits of a counter type that tell what kind of value it has.
#define TYPE_AND_SUBTYPE 0x00070C00

// The text of each index: g_pNameTable[238] is "Processor". NULL where an index has none.
static LPWSTR  g_pNameText = NULL;
static LPWSTR *g_pNameTable = NULL;
static DWORD   g_cNames = 0;

// Highest index that a name has.
static LONG ReadLastCounter(LPDWORD pLastCounter)
{
    HKEY  hKey = NULL;
    DWORD dwSize = sizeof(DWORD);
    DWORD dwType = 0;

    LONG status = RegOpenKeyEx(HKEY_LOCAL_MACHINE, PERFLIB_KEY, 0, KEY_READ, &hKey);
    if (ERROR_SUCCESS != status)
    {
        wprintf(L"RegOpenKeyEx failed with %ld.\n", status);
        return status;
    }

    status = RegQueryValueEx(hKey, L"Last Counter", NULL, &dwType, (LPBYTE)pLastCounter, &dwSize);
    if (ERROR_SUCCESS != status)
    {
        wprintf(L"RegQueryValueEx failed for \"Last Counter\" with %ld.\n", status);
    }
    else if (REG_DWORD != dwType)
    {
        wprintf(L"\"Last Counter\" has the type %lu.\n", dwType);
        status = ERROR_INVALID_DATA;
    }

    RegCloseKey(hKey);
    return status;
}

// Reads pairs of texts, an index and its name, the last one followed by an empty text.
static LONG BuildNameTable(HKEY hTextKey)
{
    DWORD  dwLast = 0;
    DWORD  dwSize = 0;
    LPWSTR pIndex = NULL;

    LONG status = ReadLastCounter(&dwLast);
    if (ERROR_SUCCESS != status)
    {
        return status;
    }

    status = RegQueryValueEx(hTextKey, L"Counter", NULL, NULL, NULL, &dwSize);
    if (ERROR_SUCCESS != status)
    {
        wprintf(L"RegQueryValueEx failed for the size of \"Counter\" with %ld.\n", status);
        return status;
    }

    g_pNameText = (LPWSTR)malloc(dwSize + 2 * sizeof(WCHAR));
    g_pNameTable = (LPWSTR *)calloc(dwLast + 1, sizeof(LPWSTR));
    if (NULL == g_pNameText || NULL == g_pNameTable)
    {
        return ERROR_OUTOFMEMORY;
    }
    g_cNames = dwLast + 1;

    status = RegQueryValueEx(hTextKey, L"Counter", NULL, NULL, (LPBYTE)g_pNameText, &dwSize);
    if (ERROR_SUCCESS != status)
    {
        wprintf(L"RegQueryValueEx failed for \"Counter\" with %ld.\n", status);
        return status;
    }

    // Whatever the table ends with, the loop below ends.
    g_pNameText[dwSize / sizeof(WCHAR)] = L'\0';
    g_pNameText[dwSize / sizeof(WCHAR) + 1] = L'\0';

    pIndex = g_pNameText;
    while (L'\0' != *pIndex)
    {
        DWORD const dwIndex = (DWORD)_wtoi(pIndex);
        LPWSTR const pName = pIndex + wcslen(pIndex) + 1;
        if (dwIndex < g_cNames)
        {
            g_pNameTable[dwIndex] = pName;
        }
        pIndex = pName + wcslen(pName) + 1;
    }

    return ERROR_SUCCESS;
}

static LPCWSTR NameOf(DWORD dwIndex)
{
    return dwIndex < g_cNames && NULL != g_pNameTable[dwIndex] ? g_pNameTable[dwIndex] : L"(no name)";
}

// Reads a block. How large it gets is not known before, and the size is undefined after ERROR_MORE_DATA.
static LONG ReadPerformanceData(LPCWSTR pwszSource, LPBYTE *ppBuffer)
{
    DWORD  dwCapacity = INITIAL_SIZE;
    DWORD  dwSize = dwCapacity;
    LPBYTE pBuffer = (LPBYTE)malloc(dwCapacity);
    LONG   status = ERROR_SUCCESS;

    *ppBuffer = NULL;
    if (NULL == pBuffer)
    {
        return ERROR_OUTOFMEMORY;
    }

    while (ERROR_MORE_DATA ==
           (status = RegQueryValueEx(HKEY_PERFORMANCE_DATA, pwszSource, NULL, NULL, pBuffer, &dwSize)))
    {
        LPBYTE const pLarger = (LPBYTE)realloc(pBuffer, dwCapacity + SIZE_STEP);
        if (NULL == pLarger)
        {
            free(pBuffer);
            return ERROR_OUTOFMEMORY;
        }
        pBuffer = pLarger;
        dwCapacity += SIZE_STEP;
        dwSize = dwCapacity;
    }

    if (ERROR_SUCCESS != status)
    {
        wprintf(L"RegQueryValueEx failed for \"%s\" with %ld.\n", pwszSource, status);
        free(pBuffer);
        return status;
    }

    *ppBuffer = pBuffer;
    return ERROR_SUCCESS;
}

// The name of an instance alone: Unicode, or in the object's code page.
static BOOL GetInstanceName(PERF_OBJECT_TYPE *pObject, PERF_INSTANCE_DEFINITION *pInstance, LPWSTR pwszName)
{
    LPBYTE const pBytes = (LPBYTE)pInstance + pInstance->NameOffset;

    pwszName[0] = L'\0';
    if (0 == pInstance->NameLength)
    {
        return TRUE;
    }

    if (0 == pObject->CodePage)
    {
        HRESULT const hr = StringCchCopy(pwszName, MAX_NAME, (LPCWSTR)pBytes);
        return SUCCEEDED(hr) || STRSAFE_E_INSUFFICIENT_BUFFER == hr; // a long name is cut
    }

    int const length = MultiByteToWideChar(
        pObject->CodePage, 0, (LPCSTR)pBytes, (int)pInstance->NameLength, pwszName, MAX_NAME - 1);
    pwszName[length] = L'\0'; // the name may have no end of its own
    return 0 != length;
}

static PERF_OBJECT_TYPE *FirstObject(PERF_DATA_BLOCK *pBlock)
{
    return (PERF_OBJECT_TYPE *)((LPBYTE)pBlock + pBlock->HeaderLength);
}

static PERF_OBJECT_TYPE *NextObject(PERF_OBJECT_TYPE *pObject)
{
    return (PERF_OBJECT_TYPE *)((LPBYTE)pObject + pObject->TotalByteLength);
}

static PERF_INSTANCE_DEFINITION *FirstInstance(PERF_OBJECT_TYPE *pObject)
{
    return (PERF_INSTANCE_DEFINITION *)((LPBYTE)pObject + pObject->DefinitionLength);
}

// Behind an instance lie its counters, and behind them the next instance.
static PERF_INSTANCE_DEFINITION *NextInstance(PERF_INSTANCE_DEFINITION *pInstance)
{
    PERF_COUNTER_BLOCK *const pCounters = (PERF_COUNTER_BLOCK *)((LPBYTE)pInstance + pInstance->ByteLength);
    return (PERF_INSTANCE_DEFINITION *)((LPBYTE)pCounters + pCounters->ByteLength);
}

static PERF_OBJECT_TYPE *FindObject(PERF_DATA_BLOCK *pBlock, DWORD dwIndex)
{
    PERF_OBJECT_TYPE *pObject = FirstObject(pBlock);

    for (DWORD i = 0; i < pBlock->NumObjectTypes; i++)
    {
        if (pObject->ObjectNameTitleIndex == dwIndex)
        {
            return pObject;
        }
        pObject = NextObject(pObject);
    }
    return NULL;
}

// "parent/instance" if the instance has a parent in this block, such as the process of a thread.
static BOOL GetFullName(
    PERF_DATA_BLOCK *pBlock, PERF_OBJECT_TYPE *pObject, PERF_INSTANCE_DEFINITION *pInstance, LPWSTR pwszFullName)
{
    WCHAR wszName[MAX_NAME];
    WCHAR wszParent[MAX_NAME];
    PERF_OBJECT_TYPE *pParentObject = NULL;

    if (!GetInstanceName(pObject, pInstance, wszName))
    {
        return FALSE;
    }

    if (0 != pInstance->ParentObjectTitleIndex)
    {
        pParentObject = FindObject(pBlock, pInstance->ParentObjectTitleIndex);
    }

    if (NULL != pParentObject && (LONG)pInstance->ParentObjectInstance < pParentObject->NumInstances)
    {
        PERF_INSTANCE_DEFINITION *pParent = FirstInstance(pParentObject);
        for (DWORD i = 0; i < pInstance->ParentObjectInstance; i++)
        {
            pParent = NextInstance(pParent);
        }
        if (GetInstanceName(pParentObject, pParent, wszParent))
        {
            return SUCCEEDED(StringCchPrintf(pwszFullName, MAX_FULL_NAME, L"%s/%s", wszParent, wszName));
        }
    }

    return SUCCEEDED(StringCchCopy(pwszFullName, MAX_FULL_NAME, wszName));
}

static void PrintInstances(PERF_DATA_BLOCK *pBlock, PERF_OBJECT_TYPE *pObject)
{
    WCHAR wszFullName[MAX_FULL_NAME];
    PERF_INSTANCE_DEFINITION *pInstance = FirstInstance(pObject);

    if (PERF_NO_INSTANCES == pObject->NumInstances)
    {
        return;
    }

    wprintf(L"  %ld instances\n", pObject->NumInstances);
    for (LONG i = 0; i < pObject->NumInstances; i++)
    {
        if (!GetFullName(pBlock, pObject, pInstance, wszFullName))
        {
            wprintf(L"    (name cannot be read)\n");
        }
        else if (PERF_NO_UNIQUE_ID == pInstance->UniqueID)
        {
            wprintf(L"    %s\n", wszFullName);
        }
        else
        {
            wprintf(L"    %s, id %ld\n", wszFullName, pInstance->UniqueID);
        }
        pInstance = NextInstance(pInstance);
    }
}

static void PrintCounters(PERF_OBJECT_TYPE *pObject)
{
    PERF_COUNTER_DEFINITION *pCounter = (PERF_COUNTER_DEFINITION *)((LPBYTE)pObject + pObject->HeaderLength);

    wprintf(L"  %lu counters\n", pObject->NumCounters);
    for (DWORD i = 0; i < pObject->NumCounters; i++)
    {
        // A base serves the counter before it, and has that one's name.
        LPCWSTR const pwszBase =
            (PERF_TYPE_COUNTER | PERF_COUNTER_BASE) == (pCounter->CounterType & TYPE_AND_SUBTYPE) ? L" (base)" : L"";
        wprintf(L"    %-5u %s%s\n", pCounter->CounterNameTitleIndex, NameOf(pCounter->CounterNameTitleIndex), pwszBase);
        pCounter = (PERF_COUNTER_DEFINITION *)((LPBYTE)pCounter + pCounter->ByteLength);
    }
}

int wmain(int argc, WCHAR *argv[])
{
    LPBYTE pBuffer = NULL;
    WCHAR  wszSource[MAX_NAME] = L"Global";
    LONG   status = ERROR_SUCCESS;

    for (int i = 1; i < argc; i++)
    {
        HRESULT hr = S_OK;
        if (1 == i)
        {
            hr = StringCchCopy(wszSource, MAX_NAME, argv[i]);
        }
        else
        {
            hr = StringCchCat(wszSource, MAX_NAME, L" ");
            if (SUCCEEDED(hr))
            {
                hr = StringCchCat(wszSource, MAX_NAME, argv[i]);
            }
        }
        if (FAILED(hr))
        {
            wprintf(L"Too many indexes.\n");
            return ERROR_INVALID_PARAMETER;
        }
    }

    status = BuildNameTable(HKEY_PERFORMANCE_NLSTEXT);
    if (ERROR_SUCCESS == status)
    {
        status = ReadPerformanceData(wszSource, &pBuffer);
    }

    if (ERROR_SUCCESS == status)
    {
        PERF_DATA_BLOCK *const pBlock = (PERF_DATA_BLOCK *)pBuffer;
        PERF_OBJECT_TYPE *pObject = FirstObject(pBlock);

        wprintf(L"%lu objects of %s\n", pBlock->NumObjectTypes,
                (LPWSTR)((LPBYTE)pBlock + pBlock->SystemNameOffset));
        for (DWORD i = 0; i < pBlock->NumObjectTypes; i++)
        {
            wprintf(L"\n%s (%lu)\n", NameOf(pObject->ObjectNameTitleIndex), pObject->ObjectNameTitleIndex);
            PrintCounters(pObject);
            PrintInstances(pBlock, pObject);
            pObject = NextObject(pObject);
        }
    }

    // Lets go of what was loaded to serve the key.
    RegCloseKey(HKEY_PERFORMANCE_DATA);
    free(pBuffer);
    free(g_pNameTable);
    free(g_pNameText);
    return status;
}
