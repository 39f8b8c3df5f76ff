/* The mount table, one entry at a time: the text of /proc/PID/mountinfo (proc(5)). Reads bytes only, no I/O. */
#ifndef PL_SERVICE_MOUNTS_H
#define PL_SERVICE_MOUNTS_H

#include <stdbool.h>

struct service_mount {
    unsigned major, minor; /* of the file system as stat(2) shows it */
    char root[256];        /* the part of the file system that is mounted: "/" for all of it */
    char point[256];       /* where */
    char options[256];     /* of the mount: "rw,relatime" */
    char type[64];         /* "ext4", "cgroup2" */
    char source[256];      /* "/dev/vda" */
    char super_options[512];
};

/* Fills *ret_mount with the next entry of *cursor (text that ends in NUL) and moves *cursor behind it; octal escapes are
 * decoded. Lines that are not whole, or with a part that is longer than its field, are passed over. False at the end. */
bool service_mount_next(const char **cursor, struct service_mount *ret_mount);

/* Whether the comma-separated list holds the word. */
bool service_mount_has_option(const char *options, const char *word);

#endif
