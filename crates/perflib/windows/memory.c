/* LocalAlloc, GlobalAlloc, HeapAlloc and their relatives, all on the C library's heap. Movable memory is not moved. */
#include "internal.h"

#include <stdlib.h>

#pragma GCC visibility push(hidden)

enum { ZERO_INIT = 0x40, HEAP_ZERO = 8, HEAP_IN_PLACE = 0x10 };

/* An address that is no memory: the one heap there is. */
static char the_heap;

/* In front of each block: its size, which HeapSize tells and growing needs. */
union header {
    size_t bytes;
    max_align_t alignment;
};

static union header *header_of(const void *memory)
{
    return (union header *)(uintptr_t)memory - 1;
}

static void *resize(void *memory, bool is_zero, size_t bytes)
{
    size_t before = memory == NULL ? 0 : header_of(memory)->bytes;
    union header *header = NULL;
    if (bytes <= PTRDIFF_MAX - sizeof *header)
        header = realloc(memory == NULL ? NULL : header_of(memory), sizeof *header + bytes);
    if (header == NULL) {
        perflib_SetLastError(PERFLIB_NOT_ENOUGH_MEMORY);
        return NULL;
    }
    header->bytes = bytes;
    if (is_zero && bytes > before) memset((char *)(header + 1) + before, 0, bytes - before);
    return header + 1;
}

static void release(void *memory)
{
    if (memory != NULL) free(header_of(memory));
}

void *perflib_LocalAlloc(unsigned flags, size_t bytes);
void *perflib_LocalAlloc(unsigned flags, size_t bytes)
{
    return resize(NULL, (flags & ZERO_INIT) != 0, bytes);
}

void *perflib_LocalReAlloc(void *memory, size_t bytes, unsigned flags);
void *perflib_LocalReAlloc(void *memory, size_t bytes, unsigned flags)
{
    return resize(memory, (flags & ZERO_INIT) != 0, bytes);
}

void *perflib_LocalFree(void *memory);
void *perflib_LocalFree(void *memory)
{
    release(memory);
    return NULL;
}

void *perflib_GetProcessHeap(void);
void *perflib_GetProcessHeap(void)
{
    return &the_heap;
}

void *perflib_HeapAlloc(void *heap, uint32_t flags, size_t bytes);
void *perflib_HeapAlloc(void *heap, uint32_t flags, size_t bytes)
{
    (void)heap;
    return resize(NULL, (flags & HEAP_ZERO) != 0, bytes);
}

void *perflib_HeapReAlloc(void *heap, uint32_t flags, void *memory, size_t bytes);
void *perflib_HeapReAlloc(void *heap, uint32_t flags, void *memory, size_t bytes)
{
    (void)heap;
    if (memory == NULL) return NULL;
    /* In place it can only shrink here. */
    if ((flags & HEAP_IN_PLACE) != 0) return bytes <= header_of(memory)->bytes ? memory : NULL;
    return resize(memory, (flags & HEAP_ZERO) != 0, bytes);
}

int perflib_HeapFree(void *heap, uint32_t flags, void *memory);
int perflib_HeapFree(void *heap, uint32_t flags, void *memory)
{
    (void)heap;
    (void)flags;
    release(memory);
    return 1;
}

size_t perflib_HeapSize(void *heap, uint32_t flags, const void *memory);
size_t perflib_HeapSize(void *heap, uint32_t flags, const void *memory)
{
    (void)heap;
    (void)flags;
    return memory == NULL ? SIZE_MAX : header_of(memory)->bytes;
}

#pragma GCC visibility pop
