/* The JSON answer of fio, and the texts of /proc/cpuinfo and os-release(5). */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "hardware/hardware_int.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = pl_new(size + 1, 1), value[64];
    if (size > 0)
        memcpy(text, data, size);
    struct hardware_fio fio;
    struct pl_err err = {0};
    if (hardware_parse_fio(text, size, &fio, &err) == PL_OK)
        assert(fio.flush_count > 0 && fio.flush_p50_ns >= 0 && fio.flush_p99_ns >= 0 && fio.writes_per_s >= 0);
    else
        assert(err.what[0] != '\0');
    struct hardware_cpus cpus;
    hardware_parse_cpuinfo(text, &cpus);
    assert(cpus.sockets >= 0 && cpus.threads >= 0);
    if (hardware_parse_os_release(text, "PRETTY_NAME", value, sizeof value))
        assert(strlen(value) < sizeof value);
    hardware_parse_choice(text, value, sizeof value);
    pl_free(text);
    return 0;
}
