/* GUIDs: comparing and defining them.
 */
#ifndef PERFLIB_WINDOWS_GUIDDEF_H
#define PERFLIB_WINDOWS_GUIDDEF_H

#include <perflib_shim.h>

#include <string.h>

typedef GUID IID, *LPIID, CLSID, *LPCLSID, FMTID, *LPFMTID, UUID;

#define IID_NULL   GUID_NULL
#define CLSID_NULL GUID_NULL

#ifdef __cplusplus
#define REFGUID  const GUID &
#define REFIID   const IID &
#define REFCLSID const IID &
#define REFFMTID const IID &
#else
#define REFGUID  const GUID *
#define REFIID   const IID *
#define REFCLSID const IID *
#define REFFMTID const IID *
#endif

/* GUID_NULL is in the support library, under a name of its own. */
PERFLIB_BEGIN_C
extern const GUID GUID_NULL PERFLIB_SYMBOL("GUID_NULL");
PERFLIB_END_C

#ifdef __cplusplus
PERFLIB_BEGIN_CXX
inline int IsEqualGUID(REFGUID left, REFGUID right)
{
    return memcmp(&left, &right, sizeof left) == 0;
}
inline int InlineIsEqualGUID(REFGUID left, REFGUID right)
{
    return memcmp(&left, &right, sizeof left) == 0;
}
inline bool operator==(REFGUID left, REFGUID right)
{
    return memcmp(&left, &right, sizeof left) == 0;
}
inline bool operator!=(REFGUID left, REFGUID right)
{
    return memcmp(&left, &right, sizeof left) != 0;
}
PERFLIB_END_CXX
#else
#define IsEqualGUID(left, right)       (memcmp((left), (right), sizeof(GUID)) == 0)
#define InlineIsEqualGUID(left, right) (memcmp((left), (right), sizeof(GUID)) == 0)
#endif
#define IsEqualIID(left, right)   IsEqualGUID(left, right)
#define IsEqualCLSID(left, right) IsEqualGUID(left, right)

#endif

/* Outside of the guard: <initguid.h> may come later, and from there on GUIDs are not only declared. */
#ifdef __cplusplus
#define PERFLIB_GUID_LINKAGE extern "C"
#else
#define PERFLIB_GUID_LINKAGE extern
#endif
#undef DEFINE_GUID
#ifdef INITGUID
#ifdef __cplusplus
#define DEFINE_GUID(name, l, w1, w2, b1, b2, b3, b4, b5, b6, b7, b8)                    \
    extern "C" const GUID __attribute__((__weak__)) name = { l, w1, w2, { b1, b2, b3, b4, b5, b6, b7, b8 } }
#else
#define DEFINE_GUID(name, l, w1, w2, b1, b2, b3, b4, b5, b6, b7, b8) \
    const GUID __attribute__((__weak__)) name = { l, w1, w2, { b1, b2, b3, b4, b5, b6, b7, b8 } }
#endif
#else
#define DEFINE_GUID(name, l, w1, w2, b1, b2, b3, b4, b5, b6, b7, b8) PERFLIB_GUID_LINKAGE const GUID name
#endif
