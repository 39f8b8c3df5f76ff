#!/usr/bin/env python3
"""Whole studies on a real PostgreSQL: the counts balance and equal the server's own."""
import glob
import json
import os
import re
import sqlite3
import subprocess
import threading
import time

from lib import PLIMSOLL, ROOT, Skip, expect, main, rows

HEAD = """study: end to end
services:
  db: {kind: postgres, data: {kind: tpcb, scale: 1}}
stages:
"""


def delta(study, trial, source, metric):
    """After minus start of a counter, in one trial."""
    values = rows(study, """SELECT value FROM sample JOIN metric ON metric.id = metric_id
        WHERE trial_id = ? AND source = ? AND name = ? ORDER BY t_ns""", trial, source, metric)
    expect(len(values) >= 2, f"{source} {metric} has {len(values)} samples")
    return values[-1][0] - values[0][0]


def ledger(study, trial):
    names = "due completed failed skipped expired unfinished".split()
    sums = ", ".join(f"sum({name})" for name in names)
    return dict(zip(names, rows(study, f"SELECT {sums} FROM slice WHERE trial_id = ? AND step = -1", trial)[0]))


def test_quick_plan(place):
    result = place.run("run", os.path.join(ROOT, "plans/quick.yaml"), "--quick", timeout=300)
    expect(result.returncode == 0, f"exit {result.returncode}: {result.stdout} {result.stderr}")
    study = os.path.join(place.path, "quick.study")
    for ending in ("html", "md", "json"):
        path = os.path.join(place.path, "quick." + ending)
        expect(os.path.getsize(path) > 1000, path)
    states = rows(study, "SELECT DISTINCT state FROM trial")
    expect(states == [("done",)], f"{states}")
    kinds = [kind for (kind,) in rows(study, "SELECT kind FROM stage ORDER BY id")]
    expect(kinds == ["hardware", "footprint", "clients", "rate", "storage"], f"{kinds}")
    for (trial,) in rows(study, "SELECT id FROM trial"):
        counts = ledger(study, trial)
        if counts["due"] is None:
            continue
        expect(counts["due"] > 0 and counts["failed"] == 0, f"trial {trial}: {counts}")
        expect(counts["due"] == sum(counts.values()) - counts["due"], f"trial {trial}: {counts}")
    with open(os.path.join(place.path, "quick.json")) as file:
        page = json.load(file)
    expect(len(page) > 3, "the JSON page is empty")
    with open(os.path.join(place.path, "quick.html")) as file:
        html = file.read()
    expect("http://" not in re.sub(r'xmlns="[^"]*"', "", html) and "src=" not in html, "the page asks for something outside")
    # the page is written from the study alone, and always the same
    for ending in ("html", "md", "json"):
        again = place.run("page", study, "--" + ending)
        with open(os.path.join(place.path, "quick." + ending)) as file:
            expect(again.stdout == file.read(), f"the {ending} page differs when it is written again")
    place.await_nothing_left()


def test_history_has_a_row_for_each_transaction(place):
    plan = place.file("p.yaml", HEAD + "  - {kind: clients, script: tpcb-like, clients: 4, for: 2s, warm_up: 0.5s, cooldown: 6s}\n")
    process = place.start("run", plan, "-o", "p.study")
    _, directory = place.server()
    history = None
    while process.poll() is None:
        time.sleep(0.5)
        query = subprocess.run(["psql", "-h", directory, "-U", "postgres", "-d", "bench", "-AtXc",
                                "SELECT (SELECT count(*) FROM pgbench_history), (SELECT count(*) FROM pg_stat_activity"
                                " WHERE datname = 'bench' AND pid <> pg_backend_pid() AND backend_type = 'client backend')"],
                               capture_output=True, text=True)
        match = re.fullmatch(r"(\d+)\|(\d+)\n", query.stdout)
        if match and int(match[1]) > 0 and int(match[2]) == 0 and history is None:
            history = int(match[1])
    expect(process.wait() == 0, process.stdout.read())
    study = os.path.join(place.path, "p.study")
    completed = ledger(study, 1)["completed"]
    expect(history == completed, f"{history} rows of history, {completed} transactions completed")
    expect(delta(study, 1, "db", "tuples_inserted") == completed, "tuples inserted")


def test_commits_equal_the_servers(place):
    plan = place.file("p.yaml", HEAD + """
  - {kind: clients, name: tpcb, script: tpcb-like, clients: 4, for: 1s, warm_up: 0.5s}
  - {kind: clients, name: select, script: select-only, clients: 3, workers: 2, for: 1s, warm_up: 0.5s, protocol: simple}
  - {kind: clients, name: extended, script: select-only, clients: 5, for: 1s, warm_up: 0.5s, protocol: extended}
""")
    result = place.run("run", plan)
    expect(result.returncode == 0, result.stdout + result.stderr)
    study = os.path.join(place.path, "p.study")
    # beside the load, each connection commits once when it starts and once for each statement that it prepares
    for trial, clients, per_client in ((1, 4, 1 + 7), (2, 3, 1), (3, 5, 1)):
        commits = delta(study, trial, "db", "commits")
        completed = ledger(study, trial)["completed"]
        expect(completed > 100, f"{completed} transactions")
        expect(commits == completed + clients * per_client,
               f"{commits} commits, {completed} transactions, {clients} clients: {(commits - completed) / clients}")
    with open(os.path.join(place.path, "p.json")) as file:
        figures = json.load(file)["figures"]
    per_operation = [figure["value"] for figure in figures if figure["name"] == "commits_per_operation"]
    expect(per_operation == [1, 1, 1], f"commits per operation on the page: {per_operation}")


class LsnReader:
    """Reads the position of the write-ahead log again and again on a connection of its own, beside the program, on another
    database than the one that is loaded. Each reading carries the monotonic time at which it arrived."""

    def __init__(self, directory):
        self.readings = []
        self.psql = subprocess.Popen(["psql", "-h", directory, "-U", "postgres", "-d", "postgres", "-AtXq"], text=True,
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.psql.stdin.write("SELECT 'lsn', pg_current_wal_lsn() - '0/0'\n\\watch 0.02\n")
        self.psql.stdin.flush()
        self.thread = threading.Thread(target=self.follow, daemon=True)
        self.thread.start()

    def follow(self):
        for line in self.psql.stdout:
            match = re.fullmatch(r"lsn\|(\d+)\n", line)
            if match:
                self.readings.append((time.monotonic_ns(), int(match[1])))

    def close(self):
        self.psql.kill()
        self.psql.wait()
        self.thread.join()


def wal_of_the_load(study, trial):
    """Time and value of the readings between which the page counts: the last one not later than the start of the load, the
    last one after it."""
    start_ns, = rows(study, "SELECT CASE WHEN warm_up_start_ns > 0 THEN warm_up_start_ns ELSE measure_start_ns END FROM trial"
                     " WHERE id = ?", trial)[0]
    samples = rows(study, """SELECT t_ns, value, phase FROM sample JOIN metric ON metric.id = metric_id
        WHERE name = 'wal_lsn_bytes' AND source = 'db' AND trial_id = ? ORDER BY t_ns, sample.rowid""", trial)
    early = [(t, value) for t, value, phase in samples if phase in ("start", "settle", "warm-up", "warm_up") and t <= start_ns]
    after = [(t, value) for t, value, phase in samples if phase == "after"]
    expect(early and after, f"no WAL position before and after: {samples}")
    return early[-1], after[-1]


def test_wal_equals_the_lsn_difference(place):
    plan = place.file("p.yaml", HEAD + """
  - {kind: storage, script: tpcb-like, clients: 2, operations: 500}
  - {kind: clients, script: tpcb-like, clients: 2, settle: 1s, warm_up: 0.5s, for: 2s, cooldown: 2s}
""")
    process = place.start("run", plan)
    _, directory = place.server()
    reader = LsnReader(directory)
    output = process.communicate(timeout=120)[0]
    reader.close()
    expect(process.returncode == 0, output)
    study = os.path.join(place.path, "p.study")
    with open(os.path.join(place.path, "p.json")) as file:
        figures = json.load(file)["figures"]
    per_operation = [figure["value"] for figure in figures if figure["name"] == "wal_bytes_per_operation"]
    expect(len(per_operation) == 2, f"WAL per operation on the page: {per_operation}")
    for trial, figure in zip((1, 2), per_operation):
        counts = ledger(study, trial)
        expect(counts["completed"] > 100 and counts["completed"] == counts["due"], f"{counts}")
        (_, start), (_, after) = wal_of_the_load(study, trial)
        expected = (after - start) / counts["completed"]
        expect(abs(figure - expected) <= 1e-9 * expected, f"trial {trial}: the page says {figure}, the samples {expected}")
        expect(figure > 200, f"{figure} bytes of WAL for a transaction that writes four rows")
    # somebody else reads the same while nothing runs: before the load, and in the cooldown
    (start_ns, start), (after_ns, after) = wal_of_the_load(study, 2)
    before = [value for t, value in reader.readings if t < start_ns]
    later = [value for t, value in reader.readings if t > after_ns]
    expect(before and len(later) >= 2, f"{len(before)} readings before, {len(later)} after")
    independent = later[1] - before[-1]  # the first one may have been read before our own
    total = per_operation[1] * ledger(study, 2)["completed"]
    expect(total - 1 <= independent <= total + 300_000, f"psql saw {independent} bytes of WAL, the page says {total}")


def test_open_loop_counts(place):
    plan = place.file("p.yaml", HEAD + """
  - {kind: rate, script: select-only, clients: 8, arrivals: constant, for: 2s, warm_up: 0.5s, over: {rate: [100/s, 400/s]}}
""")
    result = place.run("run", plan)
    expect(result.returncode == 0, result.stdout + result.stderr)
    study = os.path.join(place.path, "p.study")
    for trial, label in rows(study, "SELECT trial.id, label FROM trial JOIN case_row ON case_row.id = case_id ORDER BY case_id"):
        rate = int(re.search(r"rate=(\d+)", label)[1])
        due = rows(study, "SELECT sum(due) FROM slice WHERE trial_id = ? AND step = -1 AND due_in = 'measure'", trial)[0][0]
        expect(due == 2 * rate, f"{label}: {due} were due in 2 s")


def test_only_and_resume(place):
    plan = place.file("p.yaml", HEAD + """
  - {kind: footprint, settle: 0.1s, for: 1s}
  - {kind: clients, script: select-only, over: {clients: [1, 2]}, for: 0.5s, warm_up: 0.1s, iterations: 2}
""")
    result = place.run("run", plan, "--only", "footprint")
    expect(result.returncode == 0, result.stderr)
    study = os.path.join(place.path, "p.study")
    expect(len(rows(study, "SELECT * FROM trial")) == 1, "--only ran more than one stage")
    expect("--resume" in result.stdout, "nobody says that the study is not complete")
    result = place.run("run", plan, "--resume")
    expect(result.returncode == 0, result.stderr)
    trials = rows(study, "SELECT case_id, iteration, count(*) FROM trial GROUP BY 1, 2 ORDER BY 1, 2")
    expect(trials == [(1, 0, 1), (2, 0, 1), (2, 1, 1), (3, 0, 1), (3, 1, 1)], f"{trials}")
    result = place.run("run", plan, "--resume")
    expect(result.returncode == 0, result.stderr)
    expect(len(rows(study, "SELECT * FROM trial")) == 5, "a complete study was measured again")


def test_resume_is_the_same_study(place):
    """What was measured before and what is measured now is the same thing, or nothing is measured."""
    plan = place.file("p.yaml", HEAD + """
  - {kind: footprint, settle: 0.1s, for: 0.5s}
  - {kind: clients, script: select-only, clients: 2, for: 0.5s, warm_up: 0.1s}
""")
    study = os.path.join(place.path, "p.study")
    result = place.run("run", plan, "--quick", "--only", "footprint")
    expect(result.returncode == 0, result.stderr)
    expect(f"plimsoll run {plan} -o p.study --quick --resume" in result.stdout, result.stdout)
    everything = "SELECT * FROM fact ORDER BY id"
    before, ready = rows(study, everything), "SELECT value FROM fact WHERE name = 'ready_ns'"

    def refused(*expected, options=("--quick",)):
        kept = rows(study, everything)
        result = place.run("run", plan, "--resume", *options)
        expect(result.returncode == 2, f"exit {result.returncode}: {result.stdout}{result.stderr}")
        for text in expected:
            expect(text in result.stderr, f"{text!r} is not in {result.stderr!r}")
        expect(rows(study, everything) == kept, "a fact was changed")
        expect(len(rows(study, "SELECT * FROM trial")) == 1, "something was measured")
        place.await_nothing_left()

    refused("begun with --quick", f"plimsoll run {plan} -o p.study --quick --resume", options=())
    changes = [
        ("fact SET value = 'no' WHERE name = 'quick'", "begun without --quick", f"run {plan} -o p.study --resume"),
        ("study SET tool_version = '0.0.1'", "version", "0.0.1"),
        ("fact SET value = '9.6.1' WHERE scope = 'db' AND name = 'server_version'", "server_version", "9.6.1"),
        ("fact SET value = '1MB' WHERE scope = 'db' AND name = 'setting.shared_buffers'", "setting.shared_buffers", "1MB"),
        ("fact SET name = 'setting.work_mem' WHERE scope = 'db' AND name = 'setting.shared_buffers'", "setting.", "default"),
        ("fact SET value = 'Abacus' WHERE scope = 'host' AND name = 'cpu_model'", "cpu_model", "Abacus"),
        ("fact SET value = 'Linux 1.0' WHERE scope = 'host' AND name = 'kernel'", "kernel", "Linux 1.0"),
        ("fact SET value = '65536' WHERE scope = 'host' AND name = 'memory_bytes'", "memory_bytes", "65536"),
    ]
    for change, *expected in changes:
        with sqlite3.connect(study) as connection:
            count = connection.execute("UPDATE " + change).rowcount
        connection.close()
        expect(count == 1, f"{change} changes {count} rows")
        refused(*expected)
        with sqlite3.connect(study) as connection:
            connection.execute("DELETE FROM fact")
            connection.executemany("INSERT INTO fact VALUES (?, ?, ?, ?, ?, ?)", before)
            connection.execute("UPDATE study SET tool_version = (SELECT value FROM fact WHERE scope = 'tool' AND name = 'version')")
        connection.close()
    first = rows(study, ready)
    result = place.run("run", plan, "--quick", "--resume")
    expect(result.returncode == 0, result.stderr)
    expect(rows(study, ready) == first, "the time to the first start was replaced by a later one")
    expect(rows(study, "SELECT state FROM trial") == [("done",), ("done",)], "not gone on")


def test_resume_with_another_script(place):
    script = place.file("mine.sql", "SELECT 1;\n")
    plan = place.file("p.yaml", HEAD + "  - {kind: footprint, settle: 0.1s, for: 1s}\n"
                      "  - {kind: clients, script: mine, for: 0.5s, warm_up: 0.1s}\nscripts: {mine: mine.sql}\n")
    result = place.run("run", plan, "--only", "footprint")
    expect(result.returncode == 0, result.stderr)
    place.file("mine.sql", "SELECT 2;\n")
    result = place.run("run", plan, "--resume")
    expect(result.returncode == 2 and "mine" in result.stderr, f"{result}")
    place.file("mine.sql", "SELECT 1;\n")
    result = place.run("run", plan, "--resume")
    expect(result.returncode == 0, result.stderr)
    with open(os.path.join(place.path, "p.md")) as file:
        expect("SELECT 1;" in file.read(), "the script is not on the page")
    expect(os.path.exists(script), "")
    result = place.run("run", plan, "--resume")
    expect(result.returncode == 0 and "starting" not in result.stdout, f"a complete study was begun again: {result}")


def test_check_says_what_run_does(place):
    plan = os.path.join(ROOT, "plans/quick.yaml")
    result = place.run("check", plan)
    expect(result.returncode == 0, result.stderr)
    trials = int(re.search(r"in all: (\d+) trials", result.stdout)[1])
    expect(trials == 1 + 1 + 18 + 3 + 1, result.stdout)
    expect(not glob.glob(os.path.join(place.path, "*.study")), "check wrote a study")


def test_examples_in_the_docs(place):
    """Every plan shown in a document is one that check accepts."""
    count = 0
    for document in ["README.md", *glob.glob(os.path.join(ROOT, "docs/*.md"))]:
        with open(os.path.join(ROOT, document)) as file:
            text = file.read()
        for block in re.findall(r"```yaml\n(.*?)```", text, re.S):
            if not block.startswith("study:"):
                continue
            for name in re.findall(r"\b(\w+\.sql)\b", block):
                place.file(name, "SELECT 1;\n")
            for name in re.findall(r"\b(\w+\.hurl)\b", block):
                place.file(name, "GET /\n")
            plan = place.file(f"example{count}.yaml", block)
            result = place.run("check", plan)
            expect(result.returncode == 0, f"{document}: {result.stderr}\n{block}")
            count += 1
    expect(count >= 2, f"only {count} examples were found")


def test_ordinary_user(place):
    if os.getuid() != 0:
        raise Skip("the other tests already run as an ordinary user")
    program = place.file("plimsoll", b"")
    with open(PLIMSOLL, "rb") as source, open(program, "wb") as target:
        target.write(source.read())
    os.chmod(program, 0o755)
    os.chmod(place.path, 0o777)
    plan = place.file("p.yaml", HEAD + """
  - {kind: footprint, settle: 0.1s, for: 1s}
  - {kind: clients, script: tpcb-like, clients: 2, for: 1s, warm_up: 0.1s}
""")
    result = subprocess.run(["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", program, "run", plan],
                            cwd=place.path, env=place.env, capture_output=True, text=True, timeout=120)
    expect(result.returncode == 0, result.stdout + result.stderr)
    place.await_nothing_left()
    study = os.path.join(place.path, "p.study")
    cpu = rows(study, "SELECT max(value) - min(value) FROM sample JOIN metric ON metric.id = metric_id WHERE source = 'db' AND name = 'cpu_ns'"
               " AND trial_id = 2")
    expect(cpu[0][0] is not None and cpu[0][0] > 1e7, f"CPU of the server is {cpu}")


def test_secrets_and_strangers(place):
    """Names from outside are data in every format; a password is in none."""
    hostile = "<script>alert(1)</script>|`x`"
    secret = "hunter2-secret"
    place.env.update(PGPASSWORD=secret, PGUSER="somebody", PGDATABASE=f"password={secret}", MY_DB_PASSWORD=secret)
    plan = place.file("p.yaml", HEAD.replace("end to end", f"'{hostile}'") + """
  - {kind: hardware}
  - {kind: footprint, settle: 0.1s, for: 1s}
  - {kind: clients, script: select-only, clients: 1, for: 0.5s, warm_up: 0.1s}
""")
    result = place.run("run", plan, "--quick")
    expect(result.returncode == 0, result.stderr)
    with open(os.path.join(place.path, "p.html")) as file:
        expect("<script>alert" not in file.read(), "a name became markup")
    with open(os.path.join(place.path, "p.json")) as file:
        expect(hostile in json.dumps(json.load(file)), "the name is not in the JSON page")
    expect(secret not in result.stdout + result.stderr, "a password was printed")
    written = glob.glob(os.path.join(place.path, "p.*"))
    for ending in ("study", "html", "md", "json"):
        expect(os.path.join(place.path, "p." + ending) in written, f"{written}")
    for path in written:
        with open(path, "rb") as file:
            expect(secret.encode() not in file.read(), f"a password is in {path}")
    # a plan is kept and printed: it may hold no secret at all
    for name in ("primary_conninfo", "ssl_passphrase_command", "archive_command"):
        plan = place.file("q.yaml", HEAD.replace("kind: postgres,", f"kind: postgres, settings: {{{name}: 'x {secret}'}},")
                          + "  - {kind: footprint, settle: 0.1s, for: 1s}\n")
        for command in ("run", "check"):
            result = place.run(command, plan)
            expect(result.returncode == 2 and "q.yaml:3:" in result.stderr and name in result.stderr, f"{result}")
            expect("secret, and a plan is kept" in result.stderr, result.stderr)
            expect(secret not in result.stdout + result.stderr, "a password was printed")
    expect(not os.path.exists(os.path.join(place.path, "q.study")), "a study with a secret was begun")


if __name__ == "__main__":
    main(globals())
