/* Error codes: those that the performance functions answer with, and usual ones.
 */
#ifndef PERFLIB_WINDOWS_WINERROR_H
#define PERFLIB_WINDOWS_WINERROR_H

#pragma GCC system_header

#include <windef.h>

#define NO_ERROR 0
#define SEC_E_OK ((HRESULT)0x00000000)

#define ERROR_SUCCESS                 0
#define ERROR_INVALID_FUNCTION        1
#define ERROR_FILE_NOT_FOUND          2
#define ERROR_PATH_NOT_FOUND          3
#define ERROR_TOO_MANY_OPEN_FILES     4
#define ERROR_ACCESS_DENIED           5
#define ERROR_INVALID_HANDLE          6
#define ERROR_NOT_ENOUGH_MEMORY       8
#define ERROR_BAD_ENVIRONMENT         10
#define ERROR_BAD_FORMAT              11
#define ERROR_INVALID_ACCESS          12
#define ERROR_INVALID_DATA            13
#define ERROR_OUTOFMEMORY             14
#define ERROR_NO_MORE_FILES           18
#define ERROR_NOT_READY               21
#define ERROR_BAD_LENGTH              24
#define ERROR_GEN_FAILURE             31
#define ERROR_SHARING_VIOLATION       32
#define ERROR_LOCK_VIOLATION          33
#define ERROR_HANDLE_EOF              38
#define ERROR_NOT_SUPPORTED           50
#define ERROR_BAD_NETPATH             53
#define ERROR_NETNAME_DELETED         64
#define ERROR_BAD_NET_NAME            67
#define ERROR_FILE_EXISTS             80
#define ERROR_INVALID_PARAMETER       87
#define ERROR_BUFFER_OVERFLOW         111
#define ERROR_CALL_NOT_IMPLEMENTED    120
#define ERROR_SEM_TIMEOUT             121
#define ERROR_INSUFFICIENT_BUFFER     122
#define ERROR_INVALID_NAME            123
#define ERROR_MOD_NOT_FOUND           126
#define ERROR_PROC_NOT_FOUND          127
#define ERROR_LOCK_FAILED             167
#define ERROR_BUSY                    170
#define ERROR_ALREADY_EXISTS          183
#define ERROR_ENVVAR_NOT_FOUND        203
#define ERROR_PIPE_BUSY               231
#define ERROR_NO_DATA                 232
#define ERROR_MORE_DATA               234
#define ERROR_NO_MORE_ITEMS           259
#define ERROR_MR_MID_NOT_FOUND        317
#define ERROR_INVALID_FLAGS           1004
#define ERROR_BADDB                   1009
#define ERROR_BADKEY                  1010
#define ERROR_CANTOPEN                1011
#define ERROR_CANTREAD                1012
#define ERROR_CANTWRITE               1013
#define ERROR_KEY_DELETED             1018
#define ERROR_SERVICE_NOT_ACTIVE      1062
#define ERROR_NO_UNICODE_TRANSLATION  1113
#define ERROR_DLL_INIT_FAILED         1114
#define ERROR_NOT_FOUND               1168
#define ERROR_CANCELLED               1223
#define ERROR_RETRY                   1237
#define ERROR_PRIVILEGE_NOT_HELD      1314
#define ERROR_INTERNAL_ERROR          1359
#define ERROR_NO_SYSTEM_RESOURCES     1450
#define ERROR_TIMEOUT                 1460
#define ERROR_UNSUPPORTED_TYPE        1630
#define ERROR_INVALID_USER_BUFFER     1784
#define ERROR_RESOURCE_DATA_NOT_FOUND 1812
#define ERROR_RESOURCE_TYPE_NOT_FOUND 1813
#define ERROR_RESOURCE_NAME_NOT_FOUND 1814
#define ERROR_RESOURCE_LANG_NOT_FOUND 1815
#define ERROR_WMI_GUID_NOT_FOUND      4200
#define ERROR_WMI_INSTANCE_NOT_FOUND  4201
#define ERROR_WMI_ITEMID_NOT_FOUND    4202
#define ERROR_WMI_TRY_AGAIN           4203
#define ERROR_WMI_DP_NOT_FOUND        4204
#define ERROR_WMI_ALREADY_ENABLED     4206
#define ERROR_WMI_GUID_DISCONNECTED   4207
#define ERROR_WMI_SERVER_UNAVAILABLE  4208
#define ERROR_WMI_DP_FAILED           4209
#define ERROR_WMI_INVALID_MOF         4210
#define ERROR_WMI_INVALID_REGINFO     4211
#define ERROR_WMI_ALREADY_DISABLED    4212
#define ERROR_WMI_READ_ONLY           4213
#define ERROR_WMI_SET_FAILURE         4214

#define WAIT_TIMEOUT   258
#define WAIT_OBJECT_0  0
#define WAIT_FAILED    0xFFFFFFFFu

#define RPC_S_SERVER_UNAVAILABLE 1722
#define RPC_S_SERVER_TOO_BUSY    1723
#define RPC_S_CALL_FAILED        1726

/* An HRESULT is negative when it is an error. */
#define S_OK    ((HRESULT)0)
#define S_FALSE ((HRESULT)1)
#define NOERROR 0
#define PERFLIB_HRESULT(number) ((HRESULT)(number))
#define E_NOTIMPL      PERFLIB_HRESULT(0x80004001)
#define E_NOINTERFACE  PERFLIB_HRESULT(0x80004002)
#define E_POINTER      PERFLIB_HRESULT(0x80004003)
#define E_ABORT        PERFLIB_HRESULT(0x80004004)
#define E_FAIL         PERFLIB_HRESULT(0x80004005)
#define E_PENDING      PERFLIB_HRESULT(0x8000000A)
#define E_BOUNDS       PERFLIB_HRESULT(0x8000000B)
#define E_UNEXPECTED   PERFLIB_HRESULT(0x8000FFFF)
#define E_ACCESSDENIED PERFLIB_HRESULT(0x80070005)
#define E_HANDLE       PERFLIB_HRESULT(0x80070006)
#define E_OUTOFMEMORY  PERFLIB_HRESULT(0x8007000E)
#define E_INVALIDARG   PERFLIB_HRESULT(0x80070057)
#define CO_E_CLASSSTRING PERFLIB_HRESULT(0x800401F3)

#define SEVERITY_SUCCESS 0
#define SEVERITY_ERROR   1
#define FACILITY_NULL    0
#define FACILITY_ITF     4
#define FACILITY_WIN32   7

#define SUCCEEDED(result) (((HRESULT)(result)) >= 0)
#define FAILED(result)    (((HRESULT)(result)) < 0)
#define IS_ERROR(status)  (((ULONG)(status)) >> 31 == 1)
#define HRESULT_CODE(result)     ((result) & 0xFFFF)
#define HRESULT_FACILITY(result) (((result) >> 16) & 0x1fff)
#define HRESULT_SEVERITY(result) (((result) >> 31) & 0x1)
#define MAKE_HRESULT(severity, facility, code) \
    ((HRESULT)(((ULONG)(severity) << 31) | ((ULONG)(facility) << 16) | ((ULONG)(code))))

static inline HRESULT HRESULT_FROM_WIN32(ULONG code)
{
    return (HRESULT)code <= 0 ? (HRESULT)code : (HRESULT)((code & 0xFFFF) | (FACILITY_WIN32 << 16) | 0x80000000u);
}

#endif
