/* Arithmetic that tells of overflow.
 */
#ifndef PERFLIB_WINDOWS_INTSAFE_H
#define PERFLIB_WINDOWS_INTSAFE_H

#pragma GCC system_header

#include <windef.h>
#include <winerror.h>

#ifndef DWORD_MAX
#define DWORD_MAX 0xffffffffu
#endif

#define INTSAFE_E_ARITHMETIC_OVERFLOW PERFLIB_HRESULT(0x80070216)

/* On overflow the result is the largest value, and the answer an error. */
#define PERFLIB_INTSAFE(name, type, operation, largest)                          \
    static inline HRESULT name(type left, type right, type *result)              \
    {                                                                            \
        if (!operation(left, right, result)) return S_OK;                        \
        *result = largest;                                                       \
        return INTSAFE_E_ARITHMETIC_OVERFLOW;                                    \
    }
PERFLIB_INTSAFE(UIntAdd, UINT, __builtin_add_overflow, (UINT)-1)
PERFLIB_INTSAFE(UIntSub, UINT, __builtin_sub_overflow, (UINT)-1)
PERFLIB_INTSAFE(UIntMult, UINT, __builtin_mul_overflow, (UINT)-1)
PERFLIB_INTSAFE(DWordAdd, DWORD, __builtin_add_overflow, (DWORD)-1)
PERFLIB_INTSAFE(DWordSub, DWORD, __builtin_sub_overflow, (DWORD)-1)
PERFLIB_INTSAFE(DWordMult, DWORD, __builtin_mul_overflow, (DWORD)-1)
PERFLIB_INTSAFE(ULongAdd, ULONG, __builtin_add_overflow, (ULONG)-1)
PERFLIB_INTSAFE(ULongSub, ULONG, __builtin_sub_overflow, (ULONG)-1)
PERFLIB_INTSAFE(ULongMult, ULONG, __builtin_mul_overflow, (ULONG)-1)
PERFLIB_INTSAFE(SizeTAdd, SIZE_T, __builtin_add_overflow, (SIZE_T)-1)
PERFLIB_INTSAFE(SizeTSub, SIZE_T, __builtin_sub_overflow, (SIZE_T)-1)
PERFLIB_INTSAFE(SizeTMult, SIZE_T, __builtin_mul_overflow, (SIZE_T)-1)
PERFLIB_INTSAFE(ULongLongAdd, ULONGLONG, __builtin_add_overflow, (ULONGLONG)-1)
PERFLIB_INTSAFE(ULongLongSub, ULONGLONG, __builtin_sub_overflow, (ULONGLONG)-1)
PERFLIB_INTSAFE(ULongLongMult, ULONGLONG, __builtin_mul_overflow, (ULONGLONG)-1)
#undef PERFLIB_INTSAFE

static inline HRESULT SizeTToDWord(SIZE_T value, DWORD *result)
{
    *result = value > 0xFFFFFFFFu ? 0xFFFFFFFFu : (DWORD)value;
    return value > 0xFFFFFFFFu ? INTSAFE_E_ARITHMETIC_OVERFLOW : S_OK;
}

static inline HRESULT SizeTToULong(SIZE_T value, ULONG *result)
{
    return SizeTToDWord(value, result);
}

#endif
