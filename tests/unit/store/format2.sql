-- A study as the second format had it. The tables are those that its program made.
PRAGMA application_id = 1347176781;
PRAGMA user_version = 2;
BEGIN;
CREATE TABLE study (
    id INTEGER PRIMARY KEY CHECK (id = 1), -- one row
    title TEXT NOT NULL,
    plan_text TEXT NOT NULL,
    plan_path TEXT NOT NULL,
    subject TEXT NOT NULL, -- the service the study is about
    tool_version TEXT NOT NULL,
    seed INTEGER NOT NULL, -- the 64 bits as a signed number
    started_unix_ns INTEGER NOT NULL,
    ended_unix_ns INTEGER NOT NULL -- 0: not completed
) STRICT;
CREATE TABLE fact (
    id INTEGER PRIMARY KEY,
    scope TEXT NOT NULL, -- 'host', 'tool', 'plan' or a service
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    unit TEXT NOT NULL, -- '' when it has none
    how TEXT NOT NULL, -- where it was read
    UNIQUE (scope, name)
) STRICT;
CREATE TABLE stage (
    id INTEGER PRIMARY KEY CHECK (id > 0),
    kind TEXT NOT NULL,
    name TEXT NOT NULL UNIQUE,
    question TEXT NOT NULL
) STRICT;
CREATE TABLE stage_param (
    stage_id INTEGER NOT NULL REFERENCES stage (id),
    position INTEGER NOT NULL CHECK (position >= 0),
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (stage_id, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE case_row (
    id INTEGER PRIMARY KEY CHECK (id > 0),
    stage_id INTEGER NOT NULL REFERENCES stage (id),
    ordinal INTEGER NOT NULL CHECK (ordinal >= 0), -- position in the stage's matrix
    label TEXT NOT NULL,
    UNIQUE (stage_id, ordinal)
) STRICT;
CREATE TABLE case_param (
    case_id INTEGER NOT NULL REFERENCES case_row (id),
    position INTEGER NOT NULL CHECK (position >= 0),
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (case_id, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE script (
    case_id INTEGER NOT NULL REFERENCES case_row (id),
    script INTEGER NOT NULL CHECK (script >= 0),
    step INTEGER NOT NULL CHECK (step >= -1), -- -1 names the script itself
    name TEXT NOT NULL,
    PRIMARY KEY (case_id, script, step)
) STRICT, WITHOUT ROWID;
CREATE TABLE trial (
    id INTEGER PRIMARY KEY CHECK (id > 0),
    case_id INTEGER NOT NULL REFERENCES case_row (id),
    iteration INTEGER NOT NULL CHECK (iteration >= 0),
    ordinal INTEGER NOT NULL UNIQUE CHECK (ordinal >= 0), -- order of execution
    attempt INTEGER NOT NULL CHECK (attempt >= 0),
    state TEXT NOT NULL CHECK (state IN ('done', 'failed', 'void', 'interrupted')),
    why TEXT NOT NULL, -- '' when done
    seed INTEGER NOT NULL, -- the 64 bits as a signed number
    started_unix_ns INTEGER NOT NULL,
    connect_start_ns INTEGER NOT NULL, -- monotonic, as all that follow; 0: did not come so far
    connect_end_ns INTEGER NOT NULL,
    warm_up_start_ns INTEGER NOT NULL,
    measure_start_ns INTEGER NOT NULL,
    measure_end_ns INTEGER NOT NULL,
    drain_end_ns INTEGER NOT NULL,
    clients INTEGER NOT NULL CHECK (clients >= 0),
    clients_lost INTEGER NOT NULL CHECK (clients_lost >= 0),
    workers INTEGER NOT NULL CHECK (workers >= 0),
    event_loop TEXT NOT NULL, -- '' when the trial had no load
    UNIQUE (case_id, iteration, attempt)
) STRICT;
CREATE TABLE slice (
    id INTEGER PRIMARY KEY CHECK (id > 0),
    trial_id INTEGER NOT NULL REFERENCES trial (id),
    start_ns INTEGER NOT NULL,
    end_ns INTEGER NOT NULL CHECK (end_ns >= start_ns),
    during TEXT NOT NULL CHECK (during IN ('start', 'settle', 'warm-up', 'measure', 'drain', 'after')),
    due_in TEXT NOT NULL CHECK (due_in IN ('start', 'settle', 'warm-up', 'measure', 'drain', 'after')),
    script INTEGER NOT NULL CHECK (script >= 0),
    step INTEGER NOT NULL CHECK (step >= -1), -- -1: the whole operation
    due INTEGER NOT NULL CHECK (due >= 0),
    completed INTEGER NOT NULL CHECK (completed >= 0),
    failed INTEGER NOT NULL CHECK (failed >= 0),
    skipped INTEGER NOT NULL CHECK (skipped >= 0),
    expired INTEGER NOT NULL CHECK (expired >= 0),
    unfinished INTEGER NOT NULL CHECK (unfinished >= 0),
    never_started INTEGER NOT NULL CHECK (never_started >= 0),
    retried INTEGER NOT NULL CHECK (retried >= 0),
    retries INTEGER NOT NULL CHECK (retries >= 0),
    serialization INTEGER NOT NULL CHECK (serialization >= 0), -- of failed
    deadlock INTEGER NOT NULL CHECK (deadlock >= 0), -- of failed
    above_limit INTEGER NOT NULL CHECK (above_limit >= 0), -- of completed
    response_ns_histogram BLOB, -- NULL: absent
    service_ns_histogram BLOB,
    lateness_ns_histogram BLOB
) STRICT;
CREATE TABLE metric (
    id INTEGER PRIMARY KEY CHECK (id > 0), -- 1, 2, 3, ...
    source TEXT NOT NULL, -- 'host', 'tool', 'load' or a service
    name TEXT NOT NULL,
    unit TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('gauge', 'counter')),
    how TEXT NOT NULL, -- the file or view it was read from
    UNIQUE (source, name, unit)
) STRICT;
CREATE TABLE sample (
    id INTEGER PRIMARY KEY,
    trial_id INTEGER NOT NULL REFERENCES trial (id),
    metric_id INTEGER NOT NULL REFERENCES metric (id),
    t_ns INTEGER NOT NULL, -- monotonic, when the reading ended
    phase TEXT NOT NULL CHECK (phase IN ('start', 'settle', 'warm-up', 'measure', 'drain', 'after')),
    value REAL NOT NULL -- in the unit of the metric
) STRICT;
CREATE TABLE fault (
    trial_id INTEGER NOT NULL REFERENCES trial (id),
    source TEXT NOT NULL,
    phase TEXT NOT NULL CHECK (phase IN ('start', 'settle', 'warm-up', 'measure', 'drain', 'after')),
    code TEXT NOT NULL, -- SQLSTATE, errno name, 'EXIT', 'SIGKILL'
    count INTEGER NOT NULL CHECK (count >= 0),
    first_ns INTEGER NOT NULL, -- monotonic
    example TEXT NOT NULL, -- text of the first one
    PRIMARY KEY (trial_id, source, phase, code)
) STRICT, WITHOUT ROWID;
INSERT INTO study VALUES (1, 'old', 'study: old', 'old.yaml', 'db', '0.1.0', 7, 1000, 2000);
INSERT INTO fact VALUES (1, 'tool', 'version', '0.1.0', '', 'built in');
INSERT INTO stage VALUES (1, 'clients', 'clients', 'How many?');
INSERT INTO stage_param VALUES (1, 0, 'clients', '2');
INSERT INTO case_row VALUES (1, 1, 0, '');
INSERT INTO script VALUES (1, 0, -1, 'select-only');
INSERT INTO trial VALUES (1, 1, 0, 0, 0, 'done', '', 9, 1100, 10, 20, 30, 40, 50, 60, 2, 0, 1, 'epoll');
INSERT INTO slice VALUES (1, 1, 30, 40, 'warm-up', 'warm-up', 0, -1, 1, 1, 0, 0, 0, 0, 0, 4, 5, 3, 2, 1, X'014080c0e285e3680301008827882788274e01', X'014080c0e285e3680301008827882788274e01', X'014080c0e285e3680301008827882788274e01');
INSERT INTO slice VALUES (2, 1, 40, 50, 'measure', 'measure', 0, -1, 5, 2, 1, 1, 0, 1, 1, 4, 5, 3, 2, 1, X'014080c0e285e368030200e807d00fb8170f010f01', X'014080c0e285e368030200e807d00fb8170f010f01', X'014080c0e285e368030200e807d00fb8170f010f01');
INSERT INTO slice VALUES (5, 1, 40, 50, 'measure', 'measure', 0, 0, 0, 2, 1, 0, 0, 0, 0, 4, 5, 3, 2, 1, NULL, X'014080c0e285e368030200e807d00fb8170f010f01', NULL);
INSERT INTO metric VALUES (1, 'db', 'cpu_ns', 'ns', 'counter', 'cpu.stat');
INSERT INTO sample VALUES (1, 1, 1, 45, 'measure', 12.5);
INSERT INTO fault VALUES (1, 'load', 'measure', '40001', 1, 46, 'could not serialize');
COMMIT;
