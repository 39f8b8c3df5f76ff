/* The mount table and the list of control groups: the input is both texts, cut at the first byte 1. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "service/cgroup_int.h"
#include "service/mounts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = pl_new(size + 1, 1);
    if (size > 0)
        memcpy(text, data, size);
    char *self = memchr(text, 1, size);
    if (self != NULL)
        *self++ = '\0';
    else
        self = text + size;
    struct service_mount mount;
    const char *end = text + strlen(text);
    for (const char *cursor = text; service_mount_next(&cursor, &mount);) {
        assert(cursor <= end);
        assert(mount.point[0] != '\0' && mount.type[0] != '\0');
        assert(strlen(mount.point) < sizeof mount.point && strlen(mount.super_options) < sizeof mount.super_options);
        (void)service_mount_has_option(mount.super_options, "memory");
    }
    struct cgroup_parents parents;
    cgroup_find_parents(text, self, &parents);
    const char *below[] = {parents.v1_cpuacct, parents.v1_memory, parents.v2};
    for (int i = 0; i < 3; i++)
        assert(strlen(below[i]) < sizeof parents.v2);
    pl_free(text);
    return 0;
}
