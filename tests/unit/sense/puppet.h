/* Children that do as they are told, for tests that watch processes. */
#ifndef PL_TESTS_SENSE_PUPPET_H
#define PL_TESTS_SENSE_PUPPET_H

#include "pass.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { BURN_MS = 120, TOUCH_BYTES = 64 << 20 };

/* A child that does as it is told by one letter at a time, and answers with the same letter when it is done. */
struct puppet {
    pid_t pid;
    int tell, hear;
};

static inline void burn_ms(int ms)
{
    int64_t until = pl_clock_process_cpu_ns() + ms * PL_NS_PER_MS;
    while (pl_clock_process_cpu_ns() < until)
        ;
}

static inline void *thread_main(void *ctx)
{
    (void)ctx;
    for (;;)
        pause();
    return NULL;
}

/* burns in a grandchild that exits; `wait` says whether anybody waits for it */
static inline void burn_in_child(bool wait)
{
    int gone[2];
    char byte;
    if (!wait)
        signal(SIGCHLD, SIG_IGN);
    if (pipe2(gone, O_CLOEXEC) != 0)
        _exit(90);
    pid_t pid = fork();
    if (pid == 0) {
        burn_ms(BURN_MS);
        _exit(0);
    }
    close(gone[1]);
    if (wait)
        waitpid(pid, NULL, 0);
    else
        while (read(gone[0], &byte, 1) > 0 || kill(pid, 0) == 0) /* end of file: it is gone */
            ;
    close(gone[0]);
}

static inline void puppet_obey(char order)
{
    pthread_t thread;
    switch (order) {
    case 'n':
        break;
    case 'b':
        burn_ms(BURN_MS);
        break;
    case 'w':
        burn_in_child(true);
        break;
    case 'i':
        burn_in_child(false);
        break;
    case 'm':
        test_touch(MAP_PRIVATE, TOUCH_BYTES);
        break;
    case 's':
        test_touch(MAP_SHARED, TOUCH_BYTES);
        break;
    case 't':
        if (pthread_create(&thread, NULL, thread_main, NULL) != 0)
            _exit(92);
        break;
    case 'd':
        if (dup(0) < 0)
            _exit(93);
        break;
    case 'f': /* a child that only lives */
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (;;)
                pause();
        }
        break;
    default:
        _exit(94);
    }
}

static inline void puppet_do(struct puppet *puppet, char order)
{
    char answer = 0;
    assert_int_equal(write(puppet->tell, &order, 1), 1);
    assert_int_equal(read(puppet->hear, &answer, 1), 1);
    assert_int_equal(answer, order);
}

static inline struct puppet puppet_start(void)
{
    int orders[2], answers[2];
    assert_int_equal(pipe2(orders, O_CLOEXEC), 0);
    assert_int_equal(pipe2(answers, O_CLOEXEC), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        char order;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(orders[1]);
        while (read(orders[0], &order, 1) == 1) {
            puppet_obey(order);
            if (write(answers[1], &order, 1) != 1)
                break;
        }
        _exit(0);
    }
    close(orders[0]);
    close(answers[1]);
    struct puppet puppet = {.pid = pid, .tell = orders[1], .hear = answers[0]};
    puppet_do(&puppet, 'n'); /* it is ready, and has closed what it does not need */
    return puppet;
}

static inline void puppet_stop(struct puppet *puppet)
{
    close(puppet->tell);
    close(puppet->hear);
    kill(puppet->pid, SIGKILL);
    waitpid(puppet->pid, NULL, 0);
}

#endif
