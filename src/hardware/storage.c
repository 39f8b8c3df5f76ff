/* The file system and the block device under a directory. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/file.h"
#include "base/num.h"
#include "hardware/hardware_int.h"
#include "service/mounts.h"

#include "base/ban.h"

enum { MOUNTINFO_BYTES = 4 * 1024 * 1024 };

static bool is_below(const char *path, const char *point)
{
    size_t length = strlen(point);
    return strcmp(point, "/") == 0 || (strncmp(path, point, length) == 0 && (path[length] == '/' || path[length] == '\0'));
}

/* The mount with the longest fitting mount point; of several on one point the last hides the others. */
static bool find_mount(const char *path, struct service_mount *ret_mount)
{
    struct service_mount mount;
    size_t best = 0;
    char *text = pl_new(MOUNTINFO_BYTES, 1);
    if (pl_file_read_small("/proc/self/mountinfo", text, MOUNTINFO_BYTES) < 0)
        text[0] = '\0';
    for (const char *cursor = text; service_mount_next(&cursor, &mount);)
        if (is_below(path, mount.point) && strlen(mount.point) >= best) {
            best = strlen(mount.point);
            *ret_mount = mount;
        }
    pl_free(text);
    return best > 0;
}

/* /sys/.../block/vda for a whole disk or a partition of it. File systems with a device number of their own (btrfs, overlay)
 * are looked up by the name of their source. */
static bool find_device(const char *path, const struct service_mount *mount, char *ret_device)
{
    struct stat status;
    char link[512];
    if (stat(path, &status) < 0)
        return false;
    snprintf(link, sizeof link, "/sys/dev/block/%u:%u", major(status.st_dev), minor(status.st_dev));
    if (realpath(link, ret_device) == NULL) {
        if (stat(mount->source, &status) < 0 || !S_ISBLK(status.st_mode))
            return false;
        snprintf(link, sizeof link, "/sys/dev/block/%u:%u", major(status.st_rdev), minor(status.st_rdev));
        if (realpath(link, ret_device) == NULL)
            return false;
    }
    char partition[PATH_MAX + 16];
    snprintf(partition, sizeof partition, "%s/partition", ret_device);
    if (access(partition, F_OK) == 0)
        *strrchr(ret_device, '/') = '\0';
    return true;
}

/* A virtual disk has no model; its driver is what there is to say. */
static void push_model(struct hardware_list *list, const char *device)
{
    char path[PATH_MAX + 32], target[PATH_MAX];
    snprintf(path, sizeof path, "%s/device/model", device);
    if (access(path, R_OK) == 0) {
        hardware_push_file(list, "device_model", path, "");
        return;
    }
    snprintf(path, sizeof path, "%s/device/driver", device);
    if (realpath(path, target) != NULL)
        hardware_push(list, "device_model", pl_format(list->arena, "no model, driver %s", strrchr(target, '/') + 1), "",
                      path);
    else
        hardware_push(list, "device_model", pl_format(list->arena, "unknown: %s", strerror(errno)), "", path);
}

/* /sys counts in 512 bytes, whatever the device's own blocks are. */
static void push_size(struct hardware_list *list, const char *device)
{
    char path[PATH_MAX + 32], text[64];
    int64_t sectors;
    snprintf(path, sizeof path, "%s/size", device);
    if (pl_file_read_small(path, text, sizeof text) < 0)
        hardware_push(list, "device_bytes", pl_format(list->arena, "unknown: %s", strerror(errno)), "", path);
    else if (pl_num_i64(text, strcspn(text, "\n"), &sectors) != PL_NUM_OK || sectors > INT64_MAX / 512)
        hardware_push(list, "device_bytes", "unknown: not a number", "", path);
    else
        hardware_push(list, "device_bytes", pl_format(list->arena, "%lld", (long long)sectors * 512), "bytes", path);
}

static void push_device(struct hardware_list *list, const char *device)
{
    static const struct {
        const char *fact, *file;
    } files[] = {{"device_scheduler", "queue/scheduler"},
                 {"device_write_cache", "queue/write_cache"},
                 {"device_rotational", "queue/rotational"}};
    hardware_push(list, "device", strrchr(device, '/') + 1, "", device);
    push_model(list, device);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[PATH_MAX + 32];
        snprintf(path, sizeof path, "%s/%s", device, files[i].file);
        hardware_push_file(list, files[i].fact, path, "");
    }
    push_size(list, device);
}

void hardware_push_storage(struct hardware_list *list, const char *directory)
{
    char path[PATH_MAX], device[PATH_MAX];
    struct service_mount mount;
    if (realpath(directory, path) == NULL) {
        const char *reason = pl_format(list->arena, "unknown: %s: %s", directory, strerror(errno));
        hardware_push(list, "file_system", reason, "", "realpath");
        hardware_push(list, "device", reason, "", "realpath");
        return;
    }
    if (!find_mount(path, &mount)) {
        hardware_push(list, "file_system", "unknown: no mount point fits", "", "/proc/self/mountinfo");
        hardware_push(list, "device", "unknown: no mount point fits", "", "/proc/self/mountinfo");
        return;
    }
    hardware_push(list, "file_system", mount.type, "", "/proc/self/mountinfo");
    hardware_push(list, "mount_point", mount.point, "", "/proc/self/mountinfo");
    hardware_push(list, "mount_source", mount.source, "", "/proc/self/mountinfo");
    hardware_push(list, "mount_options", pl_format(list->arena, "%s; %s", mount.options, mount.super_options), "",
                  "/proc/self/mountinfo");
    if (find_device(path, &mount, device))
        push_device(list, device);
    else
        hardware_push(list, "device", pl_format(list->arena, "unknown: %s has no block device", mount.source), "",
                      "/sys/dev/block");
}
