/* Calls that are not used in this tree. The LAST include of every .c in src; tools/tidy checks that. A file that is the
 * home of a banned call defines PL_HOME_OF_<WHAT> before including this; tools/tidy knows which files may. */
#pragma GCC poison strcpy strcat stpcpy strncpy strncat sprintf vsprintf gets strtok strtok_r
#pragma GCC poison atoi atol atoll atof strtol strtoul strtoll strtoull sscanf scanf fscanf
#pragma GCC poison gmtime localtime ctime asctime rand random srand drand48
#pragma GCC poison system popen mktemp tmpnam setlocale select gettimeofday usleep sleep
#ifndef PL_HOME_OF_STRTOD
#pragma GCC poison strtod
#endif
#ifndef PL_HOME_OF_MEMORY
#pragma GCC poison calloc realloc
#endif
#ifndef PL_HOME_OF_CLOCK
#pragma GCC poison clock_gettime
#endif
