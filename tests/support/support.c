#include "support.h"

#include <math.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

void support_assert_close(double actual, double expected, double rel, double abs, const char *text, const char *file,
                          int line)
{
    if (fabs(actual - expected) <= abs + rel * fabs(expected))
        return;
    print_error("%s = %.12g, expected %.12g (rel %g, abs %g)\n", text, actual, expected, rel, abs);
    _fail(file, line);
}

static size_t guard_room(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (size + page - 1) / page * page;
}

void *support_guard_alloc(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), room = guard_room(size);
    char *base = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(base, MAP_FAILED);
    assert_int_equal(mprotect(base + room, page, PROT_NONE), 0);
    return base + room - size;
}

void support_guard_free(void *bytes, size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), room = guard_room(size);
    munmap((char *)bytes + size - room, room + page);
}
