/* Signals that ask a run to end. There is one wish for the whole program, as signals are the program's.
 *
 *     pl_stop_catch(130);
 *     ... work(pl_stop_flag()) ...      what waits looks at the flag, or is interrupted by the signal (EINTR) */
#ifndef PL_BASE_STOP_H
#define PL_BASE_STOP_H

#include <stdbool.h>
#include <stdint.h>

/* From now on the first SIGINT, SIGTERM or SIGHUP asks for an end in good order, and a second one ends the program at once
 * with this exit code. Two that arrive together are one wish (timeout(1) sends its signal to the process and to its group);
 * a terminal that goes away (SIGHUP) is not somebody in a hurry, and is ignored where it was (nohup). A wish from before is
 * forgotten. */
void pl_stop_catch(int hurried_exit_code);

/* Not 0: an end was asked for. For those who only look; stands as long as the program. */
const volatile int *pl_stop_flag(void);

bool pl_stop_is_requested(void);
int64_t pl_stop_requested_ns(void); /* monotonic; meaningful when it is */

#endif
