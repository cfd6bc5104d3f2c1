/* What error codes mean, in short texts of our own: for FormatMessage. */
#include "internal.h"

#pragma GCC visibility push(hidden)

enum {
    WIDTH_MASK = 0xFF,
    ALLOCATE_BUFFER = 0x100,
    FROM_STRING = 0x400,
    FROM_MODULE = 0x800,
    FROM_SYSTEM = 0x1000,
    NO_SUCH_MESSAGE = 317
};

/* What makes an HRESULT of an error code. */
#define RESULT_MASK 0xFFFF0000u
#define RESULT_OF_CODE 0x80070000u

/* The codes of winerror.h, in order. */
static const struct {
    uint16_t code;
    char text[56];
} messages[] = {
    { 0, "No error" },
    { 1, "This function is not there" },
    { 2, "There is no such file or object" },
    { 3, "There is no such path" },
    { 4, "Too many files are open" },
    { 5, "Access denied" },
    { 6, "The handle is not valid" },
    { 8, "Not enough memory" },
    { 10, "The environment is wrong" },
    { 11, "The format is wrong" },
    { 12, "The kind of access is not valid" },
    { 13, "The data is not valid" },
    { 14, "Out of memory" },
    { 18, "No more files" },
    { 21, "The device is not ready" },
    { 24, "The length is wrong" },
    { 31, "The device does not work" },
    { 32, "Somebody else uses the file" },
    { 33, "Somebody else has locked a part of the file" },
    { 38, "The end of the file" },
    { 50, "Not supported" },
    { 53, "The machine cannot be found" },
    { 64, "The connection has ended" },
    { 67, "There is no such name in the network" },
    { 80, "The file exists" },
    { 87, "A parameter is wrong" },
    { 111, "The name is too long" },
    { 120, "The function is not implemented" },
    { 121, "The time to wait for a semaphore has passed" },
    { 122, "The buffer is too small" },
    { 123, "The name is not valid" },
    { 126, "There is no such module" },
    { 127, "There is no such procedure" },
    { 167, "The region cannot be locked" },
    { 170, "Busy" },
    { 183, "It exists already" },
    { 203, "There is no such environment variable" },
    { 231, "All instances of the pipe are busy" },
    { 232, "There is no data" },
    { 234, "There is more data" },
    { 258, "The time to wait has passed" },
    { 259, "No more items" },
    { 317, "There is no text for this number" },
    { 1004, "The flags are not valid" },
    { 1009, "The registry is damaged" },
    { 1010, "The registry key is not valid" },
    { 1011, "The registry key cannot be opened" },
    { 1012, "The registry key cannot be read" },
    { 1013, "The registry key cannot be written" },
    { 1018, "The registry key is marked for deletion" },
    { 1062, "The service is not running" },
    { 1113, "The text has a character that cannot be converted" },
    { 1114, "A library could not start" },
    { 1168, "Not found" },
    { 1223, "Cancelled" },
    { 1237, "It did not work and may be tried again" },
    { 1314, "A privilege is missing" },
    { 1359, "Internal error" },
    { 1450, "Not enough resources" },
    { 1460, "The time has run out" },
    { 1630, "Data of this type is not supported" },
    { 1722, "The server cannot be reached" },
    { 1723, "The server is too busy" },
    { 1726, "The call to the server failed" },
    { 1784, "The buffer is not valid for this request" },
    { 1812, "There is no resource section" },
    { 1813, "There is no resource of this type" },
    { 1814, "There is no resource of this name" },
    { 1815, "There is no resource in this language" },
    { 4200, "There is no such GUID" },
    { 4201, "There is no such instance" },
    { 4202, "There is no such item" },
    { 4203, "Try again" },
    { 4204, "There is no such data provider" },
    { 4206, "It is enabled already" },
    { 4207, "The GUID is no longer available" },
    { 4208, "The service cannot be reached" },
    { 4209, "The data provider failed" },
    { 4210, "The description of the data is not valid" },
    { 4211, "The registration is not valid" },
    { 4212, "It is disabled already" },
    { 4213, "It can only be read" },
    { 4214, "It could not be set" },
};

static const char *text_of(uint32_t code)
{
    if ((code & RESULT_MASK) == RESULT_OF_CODE) code &= ~RESULT_MASK;
    for (size_t index = 0; index < sizeof messages / sizeof *messages; index++)
        if (messages[index].code == code) return messages[index].text;
    return NULL;
}

extern void *perflib_LocalAlloc(unsigned flags, size_t bytes);

/* Returns the units in front of the terminator. With ALLOCATE_BUFFER the buffer is the address of a pointer. */
static uint32_t format_message(uint32_t flags, uint32_t code, void *buffer, uint32_t size, unsigned unit)
{
    bool is_new = (flags & ALLOCATE_BUFFER) != 0;
    const char *text = text_of(code);
    uint32_t error = PERFLIB_NO_ERROR;
    if (buffer == NULL || (flags & FROM_SYSTEM) == 0 || (flags & (FROM_STRING | FROM_MODULE)) != 0)
        error = PERFLIB_INVALID_PARAMETER;
    else if (text == NULL)
        error = NO_SUCH_MESSAGE;
    if (buffer != NULL && is_new) memset(buffer, 0, sizeof(void *));
    if (error != PERFLIB_NO_ERROR) {
        perflib_SetLastError(error);
        return 0;
    }
    /* Windows' texts end a line, unless the caller wants no line breaks. */
    const char *end = (flags & WIDTH_MASK) == WIDTH_MASK ? ". " : ".\r\n";
    size_t length = strlen(text), all = length + strlen(end);
    char *to = buffer;
    if (is_new) {
        to = perflib_LocalAlloc(0, (all < size ? size : all + 1) * (size_t)unit);
        if (to == NULL) return 0;
        memcpy(buffer, &to, sizeof to);
    } else if (all >= size) {
        perflib_SetLastError(PERFLIB_INSUFFICIENT_BUFFER);
        return 0;
    }
    for (size_t index = 0; index <= all; index++) {
        char what = index < length ? text[index] : end[index - length];
        perflib_text_write(to + index * unit, unit, (unsigned char)what);
    }
    return (uint32_t)all;
}

#define FORMAT_MESSAGE(name, unit)                                                                                     \
    uint32_t name(uint32_t, const void *, uint32_t, uint32_t, void *, uint32_t, void *);                               \
    uint32_t name(uint32_t flags, const void *source, uint32_t code, uint32_t language, void *buffer, uint32_t size,   \
                  void *arguments)                                                                                     \
    {                                                                                                                  \
        (void)source;                                                                                                  \
        (void)language;                                                                                                \
        (void)arguments;                                                                                               \
        return format_message(flags, code, buffer, size, unit);                                                        \
    }
FORMAT_MESSAGE(perflib_FormatMessageA, 1)
FORMAT_MESSAGE(perflib_FormatMessageW, 2)
FORMAT_MESSAGE(perflib_FormatMessageW_utf32, 4)

#pragma GCC visibility pop
