/* `plimsoll http`: HTTP load without a plan, with correct latencies: command line, targets, search for the maximum,
 * objectives, report. */
#ifndef PL_HTTPLOAD_HTTPLOAD_H
#define PL_HTTPLOAD_HTTPLOAD_H

/* argv[0] is any name ("http"). Returns the exit code: 0 good; 1 an objective was missed (--fail-if, --threshold, no load
 * meets --find-max); 2 wrong usage or script; 3 it ran and something failed: faults, or nothing completed; 4 an objective
 * could not be judged: no data; 130 interrupted, after a report of what was measured. Of several the first of 130, 2, 1, 4,
 * 3 counts. Prints to standard output and error. */
int httpload_main(int argc, char **argv);

#endif
