#!/usr/bin/env python3
"""The shipped plan plans/pgbench.yaml, small, and what it needs: services in variants."""
import json
import os
import re
import signal
import time

from lib import ROOT, expect, main, rows

PLAN = os.path.join(ROOT, "plans/pgbench.yaml")

# the published page's cells: scale: clients
CELLS = {"1": ["1"], "10": ["1", "10"], "100": ["1", "10", "25", "100"]}

VARIED = """study: variants
services:
  db: {kind: postgres, settings: {max_connections: 40}, data: {kind: tpcb}}
stages:
  - kind: clients
    script: tpcb-like
    clients: 2
    transactions: 20
    iterations: %d
    over:
      db.data.scale: [1, 2]
      db.settings: {default: {}, custom: {shared_buffers: 64MB, work_mem: 8MB}}
"""


def page_of(place, name):
    with open(os.path.join(place.path, name + ".json")) as file:
        return json.load(file)


def tables(page, anchor):
    return [block for section in page["document"]["sections"] for block in section["blocks"]
            if block["type"] == "table" and block["anchor"].startswith(anchor)]


def figure(page, case, name, subject=""):
    found = [one for one in page["figures"] if one["case"] == case and one["name"] == name and one["subject"] == subject]
    expect(len(found) == 1, f"case {case}: {len(found)} figures {name}")
    return found[0]


def cases(page):
    return [(stage, case) for stage in page["stages"] if stage["kind"] == "clients" for case in stage["cases"]]


def holm(values):
    """Each p value corrected for all of them."""
    corrected, last = {}, 0.0
    for rank, (p, index) in enumerate(sorted((p, index) for index, p in enumerate(values))):
        last = max(last, min(1.0, p * (len(values) - rank)))
        corrected[index] = last
    return [corrected[index] for index in range(len(values))]


def test_full_plan_is_checked(place):
    result = place.run("check", PLAN)
    expect(result.returncode == 0, result.stderr)
    for stage, count in (("scale-1", 64), ("scale-10", 128), ("scale-100", 256)):
        expect(re.search(rf"stage {stage} .*, {count} trials, about ", result.stdout), f"{stage}: {result.stdout}")
    expect("in all: 449 trials, about " in result.stdout and "nothing was started" in result.stdout, result.stdout)
    expect(re.search(r"disk: about [0-9.]+ GiB in ", result.stdout), result.stdout)
    for scale, clients in CELLS.items():
        for count in clients:
            for transactions in ("1000", "10000"):
                for settings in ("default", "custom"):
                    label = f"  db.data.scale={scale} clients={count} transactions={transactions} db.settings={settings}\n"
                    expect(result.stdout.count(label) == 1, f"{label!r} in {result.stdout}")
    expect("variant db data.scale=100 settings=custom: max_connections = 200, shared_buffers = 512MB" in result.stdout,
           result.stdout)


def test_quick_plan_has_every_cell(place):
    begun = time.monotonic()
    result = place.run("run", PLAN, "--quick", timeout=580)
    print(f"# {time.monotonic() - begun:.0f} s", flush=True)
    expect(result.returncode == 0, f"exit {result.returncode}: {result.stdout} {result.stderr}")
    study = os.path.join(place.path, "pgbench.study")
    expect(rows(study, "SELECT DISTINCT state FROM trial") == [("done",)], "not every trial was done")
    page = page_of(place, "pgbench")
    expect(len(cases(page)) == 28, f"{len(cases(page))} cases")
    expect([len(stage["cases"]) for stage in page["stages"] if stage["kind"] == "clients"] == [4, 8, 16], "cases by stage")
    # exactly as many transactions as each client was to carry out, in every trial
    for trial, clients, wanted in rows(study, """SELECT trial.id, trial.clients, p.value FROM trial
            JOIN case_param p ON p.case_id = trial.case_id AND p.name = 'transactions'"""):
        done = rows(study, "SELECT sum(completed), sum(due), sum(failed) FROM slice WHERE trial_id = ? AND step = -1", trial)
        expect(done == [(clients * int(wanted), clients * int(wanted), 0)], f"trial {trial}: {done}, {clients} x {wanted}")
        inserted = rows(study, """SELECT max(value) - min(value) FROM sample JOIN metric ON metric.id = metric_id
            WHERE trial_id = ? AND source = 'db' AND name = 'tuples_inserted'""", trial)
        expect(inserted == [(clients * int(wanted),)], f"trial {trial}: rows of history {inserted}")
    raw, corrected = [], []
    for _, case in cases(page):
        for name in ("tps", "tps_with_connects"):
            tps = figure(page, case["id"], name)
            expect(tps["n"] == 2 and tps["value"] > 0 and tps["stddev"] > 0 and tps["interval"], f"{case['label']}: {tps}")
        expect(figure(page, case["id"], "tps_with_connects")["value"] < figure(page, case["id"], "tps")["value"],
               f"{case['label']}: connecting takes time")
        if case["params"]["db.settings"] == "custom":
            raw.append(figure(page, case["id"], "tps_change_p", "db.settings")["value"])
            corrected.append(figure(page, case["id"], "tps_change_corrected_p", "db.settings")["value"])
    expect(len(raw) == 14 and all(c >= p for c, p in zip(corrected, raw)), f"{raw} {corrected}")
    expect(max(abs(a - b) for a, b in zip(holm(raw), corrected)) < 1e-12, f"{holm(raw)} {corrected}")
    side_by_side, = tables(page, "t-compare-")
    titles = [column["title"] for column in side_by_side["columns"]]
    expect(titles == ["Stage", "Scale", "Clients", "Transactions", "default", "default, with connecting", "custom",
                      "custom, with connecting", "Verdict"], f"{titles}")
    expect(len(side_by_side["rows"]) == 14, f"{len(side_by_side['rows'])} rows")
    for row in side_by_side["rows"]:
        texts = [cell["text"] for cell in row]
        expect(all("\u00b1" in text for text in texts[4:8]), f"{texts}")
        expect(re.fullmatch(r"custom is (faster|slower) by [0-9.,]+ % \([0-9.,]+ to [0-9.,]+ %\)"
                            r"|no difference was shown: within \u00b1[0-9.]+ %|too few trials", texts[8]), texts[8])
    differing, = tables(page, "t-differing-")
    values = {row[0]["text"]: [cell["text"] for cell in row[1:]] for row in differing["rows"]}
    expect(values["shared_buffers"] == ["128MB", "512MB"] and values["max_wal_size"] == ["1GB", "4GB"], f"{values}")
    expect(values["checkpoint_timeout"] == ["5min", "15min"] and "max_connections" not in values, f"{values}")
    with open(os.path.join(place.path, "pgbench.md")) as file:
        text = file.read()
    expect("## Default and custom" in text and "transactions of each client to one in 500" in text, "the Markdown page")
    place.await_nothing_left()


def test_pairs_run_next_to_each_other(place):
    plan = place.file("p.yaml", VARIED % 4)
    result = place.run("run", plan)
    expect(result.returncode == 0, result.stdout + result.stderr)
    study = os.path.join(place.path, "p.study")
    order = rows(study, """SELECT iteration, s.value, b.value FROM trial
        JOIN case_param s ON s.case_id = trial.case_id AND s.name = 'db.data.scale'
        JOIN case_param b ON b.case_id = trial.case_id AND b.name = 'db.settings' ORDER BY ordinal""")
    expect(len(order) == 16, f"{order}")
    first = {}
    for one, other in zip(order[::2], order[1::2]):
        expect(one[:2] == other[:2] and one[2] != other[2], f"{order}")
        first.setdefault(one[1], []).append(one[2])
    for scale, names in first.items():
        expect(sorted(names) == ["custom"] * 2 + ["default"] * 2, f"scale {scale}: {names} came first")
    # what the servers said of themselves
    for scale in ("1", "2"):
        for settings, buffers in (("default", "128MB"), ("custom", "64MB")):
            scope = f"db data.scale={scale} settings={settings}"
            facts = dict(rows(study, "SELECT name, value FROM fact WHERE scope = ?", scope))
            expect(facts["setting.shared_buffers"] == buffers and facts["setting.max_connections"] == "40", f"{facts}")
            expect(facts["data_scale"] == scale, f"{facts}")
    place.await_nothing_left()


def test_only_one_variant_runs(place):
    plan = place.file("p.yaml", VARIED % 3)
    process = place.start("run", plan)
    most = 0
    while process.poll() is None:
        running = 0
        for entry in os.listdir(place.tmp):
            if os.path.exists(os.path.join(place.tmp, entry, "data", "postmaster.pid")):
                running += 1
        most = max(most, running)
        time.sleep(0.02)
    expect(process.returncode == 0, process.stdout.read())
    expect(most == 1, f"{most} servers at once")
    place.await_nothing_left()


def test_resumes_with_variants_after_a_kill(place):
    plan = place.file("p.yaml", VARIED % 3)
    study = os.path.join(place.path, "p.study")
    process = place.start("run", plan)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if os.path.exists(study):
            try:
                if rows(study, "SELECT count(*) FROM trial")[0][0] >= 4:
                    break
            except Exception:  # noqa: BLE001  it is being written
                pass
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = rows(study, "SELECT id, case_id, iteration, state FROM trial ORDER BY id")
    expect(4 <= len(done) < 12, f"{done}")
    place.await_nothing_left()
    result = place.run("run", plan, "--resume")
    expect(result.returncode == 0, result.stdout + result.stderr)
    again = rows(study, "SELECT id, case_id, iteration, state FROM trial ORDER BY id")
    expect(again[:len(done)] == done, "what was done is not what it was")
    expect(sorted((case, iteration) for _, case, iteration, state in again if state == "done") ==
           sorted((case, iteration) for case in range(1, 5) for iteration in range(3)), f"{again}")
    place.await_nothing_left()
    # once more: there is nothing left to do, and nothing is started for it
    result = place.run("run", plan, "--resume")
    expect(result.returncode == 0 and "starting" not in result.stdout and "building" not in result.stdout, result.stdout)


def test_settings_that_a_server_refuses_are_known_at_once(place):
    plan = place.file("p.yaml", (VARIED % 2).replace("shared_buffers: 64MB", "shared_buffers: lots"))
    result = place.run("run", plan)
    expect(result.returncode == 3, f"exit {result.returncode}: {result.stdout} {result.stderr}")
    expect("service \"db\"" in result.stderr and "shared_buffers" in result.stderr, result.stderr)
    expect("[1/" not in result.stdout, f"a trial was begun: {result.stdout}")
    expect(not os.path.exists(os.path.join(place.path, "p.study")), "an empty study is left")
    place.await_nothing_left()


def test_a_variant_that_dies_is_made_anew(place):
    plan = place.file("p.yaml", (VARIED % 2).replace("transactions: 20", "transactions: 20\n    settle: 1500ms"))
    process = place.start("run", plan)
    deadline, seen = time.monotonic() + 60, None
    study = os.path.join(place.path, "p.study")
    while time.monotonic() < deadline and seen is None:
        try:
            if rows(study, "SELECT count(*) FROM trial")[0][0] >= 1:
                seen, _ = place.server()
        except Exception:  # noqa: BLE001  not there yet
            pass
        time.sleep(0.1)
    expect(seen is not None, "no trial ended")
    time.sleep(0.3)
    os.kill(seen, signal.SIGKILL)
    output = process.communicate(timeout=200)[0]
    states = rows(study, "SELECT state, count(*) FROM trial GROUP BY state ORDER BY state")
    expect(states == [("done", 8), ("failed", 1)], f"{states}: {output}")
    place.await_nothing_left()


def test_two_versions_need_two_servers(place):
    plan = place.file("p.yaml", (VARIED % 2).replace("db.data.scale: [1, 2]", "db.version: [15, 99]"))
    result = place.run("run", plan)
    expect(result.returncode in (2, 3) and "no PostgreSQL 99 was found" in result.stderr, result.stderr)
    expect(not os.path.exists(os.path.join(place.path, "p.study")), "an empty study is left")
    place.await_nothing_left()


if __name__ == "__main__":
    main(globals())
