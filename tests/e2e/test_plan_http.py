#!/usr/bin/env python3
"""Studies of HTTP servers: the shipped plan plans/http.yaml, small, and what a plan can say of HTTP, on nginx and on a server
that misbehaves on demand. What the tool counts is held against what the server counted."""
import json
import os
import re
import shutil
import time

from httplib import HttpServer, Nginx
from lib import ROOT, expect, main, rows

PLAN = os.path.join(ROOT, "plans/http.yaml")


def study_of(place, name="plan"):
    return os.path.join(place.path, name + ".study")


def page_of(place, name="plan"):
    with open(os.path.join(place.path, name + ".json")) as file:
        return json.load(file)


def figure(page, case, name, subject=""):
    found = [one for one in page["figures"] if one["case"] == case and one["name"] == name and one["subject"] == subject]
    expect(len(found) == 1, f"case {case}: {len(found)} figures {name} of {subject!r}")
    return found[0]


def shipped(place, url, **replaced):
    """The plan of the package at another place, with shorter times."""
    shutil.copytree(os.path.join(ROOT, "plans/http"), os.path.join(place.path, "http"))
    with open(PLAN) as file:
        text = file.read()
    for old, new in {"http://127.0.0.1:8080": url, "warm_up: 2s": "warm_up: 200ms", "for: 10s": "for: 1s",
                     "rate: [100/s, 500/s, 2000/s]": "rate: [50/s, 200/s]", **replaced}.items():
        expect(old in text, f"the plan does not say {old!r}")
        text = text.replace(old, new)
    return place.file("plan.yaml", text)


def plan(place, url, stages, more="", scripts="{get: get.hurl}", hurl="GET /plain\nHTTP 200\n", http="{}"):
    place.file("get.hurl", hurl)
    return place.file("plan.yaml", f"""study: A server
services:
  web: {{kind: attach, url: "{url}", http: {http}}}
scripts: {scripts}
{more}stages:
{stages}""")


def good(result):
    expect(result.returncode == 0, f"exit {result.returncode}: {result.stdout} {result.stderr}")
    return result


def ledger(study, trial, where="1"):
    names = ("due", "completed", "failed", "expired", "unfinished")
    sums = ", ".join(f"sum({name})" for name in names)
    found, = rows(study, f"SELECT {sums} FROM slice WHERE trial_id = ? AND step = -1 AND {where}", trial)
    return dict(zip(names, found))


def told(study, trial, name):
    return dict(rows(study, """SELECT m.name, x.value FROM sample x JOIN metric m ON m.id = x.metric_id
        WHERE m.source = 'load' AND x.trial_id = ?""", trial)).get(name)


def test_the_shipped_plan(place):
    with HttpServer() as server:
        path = shipped(place, server.url(""), **{"iterations: 3": "iterations: 2"})
        checked = good(place.run("check", path))
        expect("in all: 10 trials, about " in checked.stdout and "PostgreSQL" not in checked.stdout, checked.stdout)
        expect("disk:" not in checked.stdout, checked.stdout)
        server.forget()
        good(place.run("run", path))
        counts = server.counts()
    study, page = study_of(place), page_of(place)
    expect(rows(study, "SELECT state, count(*) FROM trial GROUP BY state") == [("done", 10)], "not every trial was done")
    expect([stage["kind"] for stage in page["stages"]] == ["clients", "rate"], "stages")
    # nothing was lost: the server counted as many requests as the operations that the study knows of
    due = rows(study, "SELECT sum(due), sum(completed) FROM slice WHERE step = -1")
    expect(due == [(counts["requests"], counts["requests"])], f"{due}, and the server {counts}")
    for stage in page["stages"]:
        for case in stage["cases"]:
            tps = figure(page, case["id"], "tps")
            expect(tps["n"] == 2 and tps["value"] > 0, f"{case['label']}: {tps}")
            expect(figure(page, case["id"], "response_p50_ns")["value"] > 0, case["label"])
            expect(figure(page, case["id"], "http_status_2xx")["value"] > 0, case["label"])
            expect(figure(page, case["id"], "http_connections_failed")["value"] == 0, case["label"])
            expect(figure(page, case["id"], "own_lateness_p99_ns")["unit"] == "ns", case["label"])
            if stage["kind"] == "rate":
                for name in ("script:page", "script:head"):
                    expect(figure(page, case["id"], "due", name)["value"] > 0, f"{case['label']}: {name}")
    for ending in ("html", "md"):
        with open(os.path.join(place.path, "plan." + ending)) as file:
            text = file.read()
        expect("Scripts of the mix" in text and "Did the load keep its schedule?" in text, ending)
    place.await_nothing_left()


def test_nginx(place):
    """The server's own log has as many requests of each script as the study."""
    place.file("head.hurl", "HEAD /plain\nHTTP 200\n")
    stages = """  - {kind: clients, script: {get: 3, head: 1}, clients: 4, warm_up: 100ms, for: 500ms, iterations: 2}
  - {kind: rate, script: {get: 3, head: 1}, clients: 8, rate: 200/s, warm_up: 100ms, for: 500ms}
"""
    with Nginx(place) as nginx:
        good(place.run("run", plan(place, nginx.url(""), stages, scripts="{get: get.hurl, head: head.hurl}")))
    requests = [request[2] for request in nginx.requests()]
    named = dict(rows(study_of(place), """SELECT s.name, sum(l.completed) FROM slice l JOIN trial t ON t.id = l.trial_id
        JOIN script s ON s.case_id = t.case_id AND s.script = l.script AND s.step = -1 WHERE l.step = -1 GROUP BY s.name"""))
    expect(named == {"get": requests.count("GET"), "head": requests.count("HEAD")}, f"{named}, nginx: {len(requests)}")
    share = named["head"] / len(requests)
    expect(0.15 < share < 0.35, f"one in four was to be HEAD, and {share:.2f} were")


def test_quick_and_the_page_again(place):
    with HttpServer() as server:
        good(place.run("run", shipped(place, server.url("")), "--quick"))
    before = page_of(place)["figures"]
    good(place.run("page", study_of(place)))
    expect(page_of(place)["figures"] == before, "the page from the study says something else")


def test_counts_equal_the_server(place):
    """Closed and open loop, with and without connections that are kept: what the load counted, the server saw."""
    stages = """  - {kind: clients, script: get, clients: 4, warm_up: 0s, for: 500ms, over: {keep_alive: [yes, no]}}
  - {kind: rate, script: get, clients: 8, rate: 200/s, warm_up: 0s, for: 500ms}
"""
    with HttpServer() as server:
        server.forget()
        good(place.run("run", plan(place, server.url("/"), stages)))
        counts = server.counts()
    study = study_of(place)
    due, completed = rows(study, "SELECT sum(due), sum(completed) FROM slice WHERE step = -1")[0]
    expect(due == completed == counts["requests"], f"{due} due, {completed} completed, the server: {counts}")
    for trial, label in rows(study, "SELECT t.id, c.label FROM trial t JOIN case_row c ON c.id = t.case_id"):
        opened, requests = told(study, trial, "http_connections_opened"), told(study, trial, "http_requests")
        if label == "keep_alive=no":
            expect(opened == requests, f"{opened} connections for {requests} requests that were to have one each")
        else:
            expect(opened <= 8, f"{opened} connections were opened, and clients were to keep theirs")


def test_variables_and_feeds(place):
    place.file("users.csv", "user,shop\nann,1\nbob,2\neve,3\n")
    more = """variables: {word: "random(7, 7)", fixed: "a b"}
feeds: {users: {file: users.csv}}
"""
    hurl = "GET /none/{{user}}/{{shop}}/{{word}}\nX-Fixed: {{fixed}}\nHTTP 404\n"
    stages = "  - {kind: clients, script: get, clients: 1, operations: 30, iterations: 2}\n"
    with HttpServer() as server:
        server.forget()
        good(place.run("run", plan(place, server.url("/"), stages, more, hurl=hurl)))
        paths = [entry[4] for entry in server.log()]
    expected = [f"/none/{user}/{shop}/7" for user, shop in (("ann", 1), ("bob", 2), ("eve", 3))] * 10
    expect(paths == expected * 2, f"each trial takes the rows from the first one on: {paths[:8]} of {len(paths)}")


def test_a_feed_that_is_used_up(place):
    place.file("codes.csv", "code\n" + "".join(f"c{n}\n" for n in range(20)))
    more = "feeds: {codes: {file: codes.csv, order: unique}}\n"
    stages = "  - {kind: clients, script: get, clients: 2, operations: 30}\n"
    with HttpServer() as server:
        server.forget()
        place.run("run", plan(place, server.url("/"), stages, more, hurl="GET /none/{{code}}\nHTTP 404\n"))
        paths = [entry[4] for entry in server.log()]
    expect(len(set(paths)) == len(paths) == 20, f"each code once: {sorted(paths)}")
    books = ledger(study_of(place), 1)
    expect(books["completed"] == 20 and books["failed"] == books["due"] - 20 > 0, f"{books}")


def test_tenants(place):
    more = """tenants:
  count: 40
  url: "%s"
  weight: 1
  header.X-Tenant: "t{n}"
  variables: {tenant: "{n:03}"}
"""
    stages = "  - {kind: clients, script: get, clients: 4, operations: 400}\n"
    with HttpServer() as server:
        server.forget()
        url = server.url("/t{n}")
        good(place.run("run", plan(place, server.url("/"), stages, more % url, hurl="GET /none/{{tenant}}\nHTTP *\n")))
        paths = [entry[4] for entry in server.log()]
    expect(len(paths) == 400, f"{len(paths)} requests")
    seen = {re.search(r"/none/(\d{3})$", path).group(1) for path in paths}
    expect(len(seen) > 30, f"of 40 tenants only {len(seen)} were ever drawn in 400 operations")
    expect(rows(study_of(place), "SELECT tenant_group, name, tenants, weight_frac FROM tenant_group") == [(0, "", 40, 1.0)],
           "the group of all tenants")


def test_groups_of_tenants(place):
    with HttpServer() as server:
        lines = [f"{server.url('/')},{3 if n <= 5 else 1},{'gold' if n <= 5 else 'others'}" for n in range(1, 21)]
        place.file("tenants.csv", "url,weight,group\n" + "\n".join(lines) + "\n")
        stages = "  - {kind: clients, script: get, clients: 4, operations: 1200}\n"
        good(place.run("run", plan(place, server.url("/"), stages, "tenants: {file: tenants.csv}\n")))
    study, page = study_of(place), page_of(place)
    groups = rows(study, "SELECT name, tenants, weight_frac FROM tenant_group ORDER BY tenant_group")
    expect(groups == [("gold", 5, 0.5), ("others", 15, 0.5)], f"{groups}")
    gold, others = (figure(page, 1, "due", f"group:{name}")["value"] for name in ("gold", "others"))
    expect(gold + others == 1200 == figure(page, 1, "due")["value"], f"{gold} and {others}")
    expect(450 < gold < 750, f"{gold} of 1200 for a group with half of the weight")
    expect([group["name"] for group in page["groups"]] == ["gold", "others"], f"{page['groups']}")


def test_secrets_are_not_kept(place):
    secrets = ["hunter1", "hunter2", "hunter3", "hunter4", "hunter5", "hunter6"]
    more = "variables: {password: hunter2, shop: s1}\n"
    more += "tenants: {count: 2, user: \"u{n}:hunter3\", header.Authorization: \"Bearer hunter4\", weight: 1}\n"
    hurl = """GET /plain?s={{shop}}
X-Token: hunter5
X-Given: {{password}}
[BasicAuth]
bob: hunter6
HTTP 200
"""
    stages = "  - {kind: clients, script: get, clients: 1, operations: 5}\n"
    with HttpServer() as server:
        url = server.url("/").replace("://", "://bob:hunter1@")
        result = place.run("run", plan(place, url, stages, more, hurl=hurl))
        checked = place.run("check", os.path.join(place.path, "plan.yaml"))
    good(result)
    kept = [result.stdout, result.stderr, checked.stdout, checked.stderr]
    for name in ("plan.study", "plan.html", "plan.md", "plan.json"):
        with open(os.path.join(place.path, name), "rb") as file:
            kept.append(file.read().decode(errors="replace"))
    for secret in secrets:
        expect(all(secret not in text for text in kept), f"{secret} is in what was kept or said")
    expect("***@127.0.0.1" in kept[-1] and "bob: ***" in kept[-1], "what stands for the secrets")
    # and the study goes on with the same plan
    expect(place.run("run", os.path.join(place.path, "plan.yaml"), "-o", study_of(place), "--resume").returncode != 2,
           "it is the same plan")


def test_time_limits_are_at_least(place):
    """A server that never answers: every operation expires, and the page says at least how long they took."""
    stages = "  - {kind: rate, script: get, clients: 64, rate: 40/s, warm_up: 0s, for: 1s, max_time: 300ms}\n"
    with HttpServer() as server:
        hurl = "GET /hole\nHTTP 200\n"
        scripts = "{get: get.hurl, quick: quick.hurl}"
        place.file("quick.hurl", "GET /plain\nHTTP 200\n")
        path = plan(place, server.url("/"), stages.replace("script: get", "script: {get: 1, quick: 1}"), scripts=scripts,
                    hurl=hurl)
        result = place.run("run", path)
    study, page = study_of(place), page_of(place)
    books = ledger(study, 1)
    expect(books["expired"] > 0 and books["completed"] > 0 and books["failed"] == 0, f"{books}: {result.stdout}")
    p50 = figure(page, 1, "response_p50_ns", "script:get")
    expect(p50["value"] is None and "is at least 3" in p50["note"], f"{p50}")
    expect(figure(page, 1, "response_p50_ns", "script:quick")["value"] < 3e8, "the others are not touched by it")
    codes = rows(study, "SELECT code, sum(count) FROM fault GROUP BY code")
    expect(codes == [("head:EXPIRED", books["expired"])], f"{codes}, {books}")


def test_the_server_dies_in_the_middle(place):
    """Faults are counted, the study goes on, later trials fail with a reason, the exit code tells."""
    stages = "  - {kind: clients, script: get, clients: 2, warm_up: 0s, for: 1s, iterations: 2}\n"
    server = HttpServer()
    path = plan(place, server.url("/"), stages)
    with server:
        run = place.start("run", path)
        deadline = time.monotonic() + 60
        while server.counts()["requests"] == 0 and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.2)
        server.process.kill()
        output, _ = run.communicate(timeout=120)
    expect(run.returncode not in (0, 2), f"exit {run.returncode}: {output}")
    study = study_of(place)
    trials = rows(study, "SELECT state, why FROM trial ORDER BY ordinal")
    expect(len(trials) == 2 and trials[1][0] == "failed", f"{trials}")
    expect("all " in trials[1][1] and "operations failed" in trials[1][1], f"{trials[1]}")
    codes = dict(rows(study, "SELECT code, sum(count) FROM fault GROUP BY code"))
    expect(codes.get("connect:ECONNREFUSED", 0) > 0, f"{codes}")
    failed = rows(study, "SELECT sum(failed) FROM slice WHERE step = -1")[0][0]
    expect(sum(codes.values()) == failed, f"{codes}, and {failed} operations failed")
    expect(os.path.exists(os.path.join(place.path, "plan.html")), "the page of what was measured")
    expect("clients lost" not in output, output)


def test_killed_and_resumed(place):
    stages = "  - {kind: clients, script: get, clients: 2, warm_up: 0s, for: 500ms, iterations: 4}\n"
    with HttpServer() as server:
        path = plan(place, server.url("/"), stages)
        run = place.start("run", path)
        study = study_of(place)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                if rows(study, "SELECT count(*) FROM trial")[0][0] >= 1:
                    break
            except Exception:  # not there yet, or without tables
                pass
            time.sleep(0.05)
        run.kill()
        run.communicate(timeout=60)
        before = rows(study, "SELECT id, started_unix_ns FROM trial ORDER BY id")
        expect(1 <= len(before) < 4, f"{before}")
        good(place.run("run", path, "-o", study, "--resume"))
    after = rows(study, "SELECT id, started_unix_ns FROM trial WHERE state = 'done' ORDER BY id")
    expect(len(after) == 4 and after[:len(before)] == before, f"{before} {after}")
    place.await_nothing_left()


def test_unknown_host(place):
    """It may become known later: it is a fault with its phase and count, and the run goes on to its end."""
    stages = "  - {kind: clients, script: get, clients: 2, warm_up: 0s, for: 200ms, iterations: 2}\n"
    result = place.run("run", plan(place, "http://no-such-host.invalid:8080", stages))
    expect(result.returncode == 3, f"exit {result.returncode}: {result.stderr}")
    expect("resolve:NOT_FOUND" in result.stdout, result.stdout)
    study = study_of(place)
    expect(rows(study, "SELECT state, count(*) FROM trial GROUP BY state") == [("failed", 2)], "the run did not go on")
    for trial in (1, 2):
        failed = rows(study, "SELECT sum(failed) FROM slice WHERE step = -1 AND trial_id = ?", trial)[0][0]
        counted = rows(study, "SELECT sum(count) FROM fault WHERE trial_id = ? AND code = 'resolve:NOT_FOUND'", trial)
        expect(failed > 0 and counted == [(failed,)], f"{failed} failed, faults: {counted}")
    expect(os.path.exists(os.path.join(place.path, "plan.md")), "no page was written")


def test_changed_data_on_resume(place):
    """A study goes on only with the data it was begun with; a feed that no script uses is not taken, and is checked all the same."""
    more = "feeds:\n  users: {file: users.csv}\n  words: {file: words.jsonl}\ntenants: {file: shops.csv}\n"
    stages = "  - {kind: clients, script: get, clients: 1, warm_up: 0s, for: 200ms}\n"
    data = {"users.csv": "user\nann\nbob\n", "words.jsonl": '{"word": "a"}\n', "shops.csv": "shop\n1\n2\n3\n"}
    for name, text in data.items():
        place.file(name, text)
    with HttpServer() as server:
        path = plan(place, server.url(""), stages, more=more, hurl="GET /plain?u={{user}}\nHTTP 200\n")
        checked = good(place.run("check", path)).stdout
        expect("feed users: 2 rows" in checked and "taken by get" in checked, checked)
        expect("feed words: 1 row, one after the other, taken by no script" in checked and "tenants: 3" in checked, checked)
        good(place.run("run", path))
        for name, told in {"users.csv": "feed.users", "words.jsonl": "feed.words", "shops.csv": "tenants"}.items():
            place.file(name, data[name] + data[name].splitlines()[-1] + "\n")
            result = place.run("run", path, "--resume")
            expect(result.returncode == 2, f"exit {result.returncode}: {result.stderr}")
            expect(told in result.stderr and name in result.stderr and "rows with hash" in result.stderr, result.stderr)
            place.file(name, data[name])
        good(place.run("run", path, "--resume"))
    with open(os.path.join(place.path, "plan.md")) as file:
        page = file.read()
    expect("Data that scripts were given" in page and "`feed.users`" in page, "the page does not tell the data")


def test_errors_are_told_while_it_runs(place):
    """Of a trial that is done all the same: how many operations failed, and what one of them was; on the page they come first."""
    stages = "  - {kind: rate, script: {get: 3, bad: 1}, rate: 100/s, clients: 8, warm_up: 0s, for: 500ms}\n"
    place.file("bad.hurl", "GET /status/503\nHTTP 200\n")
    with HttpServer() as server:
        result = good(place.run("run", plan(place, server.url(""), stages, scripts="{get: get.hurl, bad: bad.hurl}")))
    told = re.search(r"rate: \d+ of \d+ operations failed or expired: check:STATUS, .*bad\.hurl:2:6: ", result.stdout)
    expect(told is not None, result.stdout)


def test_scripts_with_errors(place):
    stages = "  - {kind: clients, script: get, clients: 2, for: 500ms}\n"
    path = plan(place, "http://127.0.0.1:1", stages, hurl="GET /{{nothing_sets_this}}\n")
    for command in ("check", "run"):
        result = place.run(command, path)
        expect(result.returncode == 2, f"{command}: exit {result.returncode} {result.stderr}")
        expect("get.hurl:1:" in result.stderr and "nothing_sets_this" in result.stderr, result.stderr)
    place.file("bad.csv", "a,b\n1\n")
    result = place.run("check", plan(place, "http://127.0.0.1:1", stages, "feeds: {bad: {file: bad.csv}}\n"))
    expect(result.returncode == 2 and "bad.csv:2" in result.stderr, result.stderr)
    result = place.run("check", plan(place, "http://127.0.0.1:1", stages, "feeds: {bad: {file: none.csv}}\n"))
    expect(result.returncode == 2 and "plan.yaml:5:" in result.stderr and "none.csv" in result.stderr, result.stderr)
    result = place.run("check", plan(place, "http://127.0.0.1:1", stages, "variables: {x: \"rundom(1, 2)\"}\n"))
    expect(result.returncode == 2 and "plan.yaml:5:" in result.stderr and "rundom" in result.stderr, result.stderr)


def test_too_many_connections(place):
    stages = "  - {kind: clients, script: get, clients: 90000, for: 500ms}\n"
    result = place.run("check", plan(place, "http://127.0.0.1:1", stages))
    expect(result.returncode == 2 and "plan.yaml:6:5" in result.stderr, f"exit {result.returncode}: {result.stderr}")
    expect(re.search(r"\d", result.stderr.split("plan.yaml:6:5", 1)[1]), f"no number that would work: {result.stderr}")


def test_sessions_and_thinking(place):
    """Users that arrive, act three times and go: as many connections as users, and three operations each."""
    stages = """  - {kind: rate, script: get, clients: 32, rate: 20/s, session: 3, think: 10ms, warm_up: 0s, for: 1s, arrivals: constant}
"""
    with HttpServer() as server:
        server.forget()
        good(place.run("run", plan(place, server.url("/"), stages)))
        counts = server.counts()
        log = server.log()
    by_connection = {}
    for entry in log:
        by_connection[entry[2]] = by_connection.get(entry[2], 0) + 1
    expect(counts["requests"] == len(log), f"{counts}")
    full = [count for count in by_connection.values() if count == 3]
    expect(len(full) >= len(by_connection) - 2, f"{sorted(by_connection.values())}")


if __name__ == "__main__":
    main(globals())
