#!/usr/bin/env python3
"""Whole studies on a real PostgreSQL: the counts balance and equal the server's own."""
import glob
import json
import os
import re
import subprocess
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


def test_wal_equals_the_lsn_difference(place):
    plan = place.file("p.yaml", HEAD + "  - {kind: storage, script: tpcb-like, clients: 2, operations: 500}\n")
    result = place.run("run", plan)
    expect(result.returncode == 0, result.stdout + result.stderr)
    study = os.path.join(place.path, "p.study")
    counts = ledger(study, 1)
    expect(counts["completed"] == counts["due"] == 500, f"{counts}")
    wal = delta(study, 1, "db", "wal_lsn_bytes")
    expect(500 * 200 < wal, f"{wal} bytes of WAL for 500 transactions")
    with open(os.path.join(place.path, "p.json")) as file:
        page = file.read()
    figures = json.loads(page)["figures"]
    per_operation = [figure for figure in figures if figure["name"] == "wal_bytes_per_operation"]
    expect(per_operation, "no WAL per operation on the page")
    start, after = rows(study, """SELECT min(CASE WHEN phase = 'start' THEN value END), max(CASE WHEN phase = 'after' THEN value END)
        FROM sample JOIN metric ON metric.id = metric_id WHERE name = 'wal_lsn_bytes' AND trial_id = 1""")[0]
    expect(start is not None and after is not None, "no WAL position before and after")


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


def test_check_says_what_run_does(place):
    plan = os.path.join(ROOT, "plans/quick.yaml")
    result = place.run("check", plan)
    expect(result.returncode == 0, result.stderr)
    trials = int(re.search(r"in all: (\d+) trials", result.stdout)[1])
    expect(trials == 1 + 1 + 18 + 3 * int(re.search(r"stage rate .*?(\d+) trials", result.stdout)[1]) // 3 + 1, result.stdout)
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
    """Names from outside are data in every format."""
    hostile = "<script>alert(1)</script>|`x`"
    plan = place.file("p.yaml", HEAD.replace("end to end", f"'{hostile}'") + "  - {kind: footprint, settle: 0.1s, for: 1s}\n")
    result = place.run("run", plan)
    expect(result.returncode == 0, result.stderr)
    with open(os.path.join(place.path, "p.html")) as file:
        expect("<script>alert" not in file.read(), "a name became markup")
    with open(os.path.join(place.path, "p.json")) as file:
        expect(hostile in json.dumps(json.load(file)), "the name is not in the JSON page")


if __name__ == "__main__":
    main(globals())
