/* The builtin scripts, in the script language itself: the transactions of pgbench's manual ("What Is the 'Transaction'
 * Actually Performed in pgbench?"). */
#include "script/program.h"

#include <stddef.h>
#include <string.h>

#include "base/ban.h"

const char *const builtin_script_names[] = {"tpcb-like", "simple-update", "select-only", NULL};

static const char tpcb_like[] =
    "\\set aid random(1, 100000 * :scale)\n"
    "\\set bid random(1, 1 * :scale)\n"
    "\\set tid random(1, 10 * :scale)\n"
    "\\set delta random(-5000, 5000)\n"
    "BEGIN;\n"
    "UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;\n"
    "SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n"
    "UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;\n"
    "UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;\n"
    "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);\n"
    "END;\n";

static const char simple_update[] =
    "\\set aid random(1, 100000 * :scale)\n"
    "\\set bid random(1, 1 * :scale)\n"
    "\\set tid random(1, 10 * :scale)\n"
    "\\set delta random(-5000, 5000)\n"
    "BEGIN;\n"
    "UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;\n"
    "SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n"
    "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);\n"
    "END;\n";

static const char select_only[] = "\\set aid random(1, 100000 * :scale)\n"
                                  "SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n";

static const char *const builtin_texts[] = {tpcb_like, simple_update, select_only};

const char *builtin_script(const char *name)
{
    for (size_t i = 0; builtin_script_names[i] != NULL; i++)
        if (strcmp(builtin_script_names[i], name) == 0)
            return builtin_texts[i];
    return NULL;
}

const char *builtin_script_title(const char *name)
{
    static const char *const titles[] = {"<builtin: TPC-B (sort of)>", "<builtin: simple update>",
                                         "<builtin: select only>"};
    for (size_t i = 0; builtin_script_names[i] != NULL; i++)
        if (strcmp(builtin_script_names[i], name) == 0)
            return titles[i];
    return NULL;
}
