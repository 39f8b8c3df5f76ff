/* The HTTP server for tests as a program. Prints its port, serves until SIGTERM or SIGINT, or until its parent is gone. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "httpserver.h"

static int usage(void)
{
    fprintf(stderr, "usage: httpserver [--mode refuse|hole|reset|close|ignore] [--host ADDRESS] [--port N] [--unix PATH]\n"
                    "                  [--cert FILE --key FILE] [--no-tickets 1] [--step BYTES]\n"
                    "                  [--stall-after MS --stall MS]\n");
    return 2;
}

static bool take(struct httpserver_spec *spec, const char *option, char *value)
{
    static const char *const modes[] = {"serve", "refuse", "hole", "reset", "close", "ignore"};
    if (strcmp(option, "--mode") == 0) {
        for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
            if (strcmp(value, modes[i]) == 0) {
                spec->mode = (enum httpserver_mode)i;
                return true;
            }
        return false;
    }
    if (strcmp(option, "--host") == 0)
        spec->host = value;
    else if (strcmp(option, "--port") == 0)
        spec->port = (uint16_t)atoi(value);
    else if (strcmp(option, "--unix") == 0)
        spec->unix_path = value;
    else if (strcmp(option, "--cert") == 0)
        spec->cert_path = value;
    else if (strcmp(option, "--key") == 0)
        spec->key_path = value;
    else if (strcmp(option, "--no-tickets") == 0)
        spec->no_tickets = atoi(value) != 0;
    else if (strcmp(option, "--step") == 0)
        spec->step_bytes = atoi(value);
    else if (strcmp(option, "--stall-after") == 0)
        spec->stall_after_ms = atoll(value);
    else if (strcmp(option, "--stall") == 0)
        spec->stall_ms = atoll(value);
    else
        return false;
    return true;
}

int main(int argc, char **argv)
{
    struct httpserver_spec spec = {0};
    for (int i = 1; i < argc; i += 2)
        if (i + 1 >= argc || !take(&spec, argv[i], argv[i + 1]))
            return usage();
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    struct rlimit descriptors;
    if (getrlimit(RLIMIT_NOFILE, &descriptors) == 0) {
        descriptors.rlim_cur = descriptors.rlim_max;
        setrlimit(RLIMIT_NOFILE, &descriptors);
    }
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    struct httpserver *server = httpserver_start(&spec);
    printf("%u\n", httpserver_port(server));
    fflush(stdout);
    int which;
    sigwait(&ends, &which);
    httpserver_stop(server);
    return 0;
}
