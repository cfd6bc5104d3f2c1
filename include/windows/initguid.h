/* From here on DEFINE_GUID defines GUIDs, and does not only declare them. May be included again.
 */
#ifndef INITGUID
#define INITGUID
#endif
#include <guiddef.h>
