/* Everything that input can choose has a limit here, checked before memory is taken. */
#ifndef PL_BASE_LIMITS_H
#define PL_BASE_LIMITS_H

#define PL_MAX_PLAN_BYTES (1024 * 1024)
#define PL_MAX_PLAN_NODES 20000
#define PL_MAX_PLAN_DEPTH 16
#define PL_MAX_SERVICES 64
#define PL_MAX_STAGES 256
#define PL_MAX_CASES 4096 /* of one stage's matrix */
#define PL_MAX_ITERATIONS 1000
#define PL_MAX_SCRIPT_BYTES (16 * 1024 * 1024)
#define PL_MAX_STEPS 65536    /* of one program */
#define PL_MAX_VARIABLES 4096 /* of one program */
#define PL_MAX_PARAMETERS 255 /* of one SQL step */
#define PL_MAX_SCRIPTS 128    /* of one trial */
#define PL_MAX_CLIENTS 100000
#define PL_MAX_WORKERS 256
#define PL_MAX_MESSAGE_BYTES (1 << 30) /* of one PostgreSQL message */
#define PL_MAX_PAGE_BYTES (64 * 1024 * 1024)

#endif
