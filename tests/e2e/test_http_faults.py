#!/usr/bin/env python3
"""`plimsoll http` where things go wrong: each fault has phase, errno and a first example, time limits are lower bounds of
latencies, secrets stay secret, and wrong input is pointed at."""
import json
import os
import resource
import signal
import time

from httplib import LEDGER, Certificates, HttpServer, http_load
from lib import expect, main

MS = 1_000_000


def check_fault(load, codes, count, *words):
    """All failures have one of these codes, and the report shows it with its first example."""
    faults = load.faults()
    expect(faults and set(faults) <= set(codes), f"{load['faults']}")
    expect(sum(fault["count"] for fault in faults.values()) == count == load.ledger["failed"], f"{load['faults']} {load.ledger}")
    for code, fault in faults.items():
        expect(fault["example"], f"{fault}")
        expect(code in load.out, f"the report says nothing of {code}: {load.out}")
        for word in words:
            expect(word in fault["example"], f"{word} is not in {fault['example']}")
    expect(load.ledger["completed"] + count + load.ledger["expired"] == load.ledger["due"], load.ledger)


def test_refused(place):
    with HttpServer(mode="refuse") as server:
        load = http_load(place, server.url(), "-n", 20, "-c", 2, exit=3)
        check_fault(load, ["connect:ECONNREFUSED"], 20, server.authority())
        expect(load.measured["connections_failed"] + load["http"]["warm_up"]["connections_failed"] == 20, load["http"])
        load = http_load(place, server.url(), "-R", "100/s", "-d", "300ms", exit=3)
        check_fault(load, ["connect:ECONNREFUSED"], load.ledger["due"])


def test_unknown_host(place):
    load = http_load(place, "http://no-such-host.invalid/", "-n", 4, "-c", 1, exit=3)
    check_fault(load, ["resolve:NOT_FOUND", "resolve:TRY_AGAIN", "resolve:FAILED"], 4, "no-such-host.invalid")


def test_certificates(place):
    certificates = Certificates(place)
    with HttpServer(cert=certificates.cert, key=certificates.key) as server:
        load = http_load(place, server.url(), "-n", 6, "-c", 2, exit=3)  # signed by nobody the system knows
        check_fault(load, ["tls:CERTIFICATE"], 6)
        expect(server.counts()["requests"] == 0, "a request went to a server that is not trusted")
        http_load(place, server.url(), "-n", 6, "-c", 2, "--cacert", certificates.ca)
        http_load(place, server.url(), "-n", 6, "-c", 2, "--insecure")
        expect(server.counts()["answers"] == 12, server.counts())
        load = http_load(place, f"http://{server.authority()}/plain", "-n", 4, "-c", 1, exit=3)  # plain to a TLS port
        expect(load.ledger["failed"] == 4, load.json)
    with HttpServer(cert=certificates.other_cert, key=certificates.other_key) as server:
        load = http_load(place, server.url(), "-n", 6, "-c", 2, "--cacert", certificates.ca, exit=3)  # for another name
        check_fault(load, ["tls:CERTIFICATE"], 6)
        load = http_load(place, f"https://other.test:{server.port}/plain", "-n", 6, "-c", 2, "--cacert", certificates.ca,
                         "--connect-to", f"other.test:{server.port}:127.0.0.1:{server.port}")
        expect(server.counts()["names"] == {"other.test": [2, 0]}, server.counts())
    with HttpServer() as server:
        load = http_load(place, f"https://{server.authority()}/plain", "-n", 4, "-c", 1, exit=3)  # TLS to a plain port
        expect(load.ledger["failed"] == 4 and all(code.startswith("tls:") for code in load.faults()), load["faults"])


def test_answers_that_break_off(place):
    with HttpServer() as server:
        for path, codes in (("/reset", ["head:ECONNRESET"]),
                            ("/half/head/reset", ["head:ECONNRESET"]),
                            ("/half/body/reset", ["body:ECONNRESET"]),
                            ("/half/head/close", ["head:CLOSED"]),
                            ("/half/body/close", ["body:CLOSED"]),
                            ("/drop", ["head:CLOSED"])):
            server.forget()
            load = http_load(place, server.url(path), "-n", 20, "-c", 2, exit=3)
            check_fault(load, codes, 20)
            counts = server.counts()
            expect(counts["answers"] == 0 == load.measured["answers"], f"{path}: {counts} {load.measured}")
            expect(counts["requests"] == load.measured["requests"] >= 20, f"{path}: {counts} {load.measured}")
    for mode, codes in (("reset", ["head:ECONNRESET", "send:ECONNRESET", "send:EPIPE", "connect:ECONNRESET"]),
                        ("close", ["head:CLOSED", "head:ECONNRESET", "send:ECONNRESET", "send:EPIPE"])):
        with HttpServer(mode=mode) as server:
            load = http_load(place, server.url(), "-n", 20, "-c", 2, exit=3)
            check_fault(load, codes, 20)


def test_malformed_answers(place):
    with HttpServer() as server:
        for what in ("status", "version", "length", "negative", "two-lengths", "space", "nul", "fold", "noise"):
            load = http_load(place, server.url(f"/malformed/{what}"), "-n", 6, "-c", 2, exit=3)
            check_fault(load, ["head:MALFORMED"], 6)
            expect("\x1b" not in load.all_text(), f"{what}: what the server sent went to the terminal")
        load = http_load(place, server.url("/malformed/chunk"), "-n", 6, "-c", 2, exit=3)
        check_fault(load, ["body:MALFORMED"], 6)
        for what in ("large", "many"):
            load = http_load(place, server.url(f"/malformed/{what}"), "-n", 6, "-c", 2, exit=3)
            check_fault(load, ["head:TOO_LARGE"], 6)


def test_some_fail(place):
    """Failures among successes: both are counted, and the failed ones have no latency."""
    with HttpServer() as server:
        good = place.file("good.hurl", f"GET {server.url()}\n")
        bad = place.file("bad.hurl", f"GET {server.url('/half/body/reset')}\n")
        load = http_load(place, good, bad, "-n", 200, "-c", 4, "--seed", 2, exit=3)
        paths = server.counts()["paths"]
        expect(load.ledger["completed"] == paths["/plain"][1] == load["response"]["count"], f"{load.ledger} {paths}")
        expect(load.ledger["failed"] == paths["/half/body/reset"][0] == load.faults()["body:ECONNRESET"]["count"], f"{paths}")


def test_a_bomb_of_gzip(place):
    """A short body that unpacks to 64 MB is not unpacked unless somebody looks into it, and then within a limit."""
    with HttpServer() as server:
        load = http_load(place, server.url("/gzip-bomb"), "-n", 3, "-c", 1)
        expect(load.ledger["completed"] == 3, load.json)
        expect(load.measured["body_bytes"] < 1_000_000, load.measured)


# ---- time limits ----

def check_black_hole(load, limit_ns):
    ledger = load.ledger
    expect(ledger["due"] > 0 and ledger["completed"] == 0, ledger)
    expect(load["response"]["count"] == load["response"]["censored"] == ledger["expired"] + ledger["unfinished"], load["response"])
    expect(load["service"]["count"] == 0, load["service"])
    for name in ("p50_ns", "p90_ns", "p99_ns", "max_ns"):
        expect(name in load["response"]["at_least"], f"{name} is told as if it were known: {load['response']}")
    expect(load["response"]["max_ns"] >= limit_ns, load["response"])
    expect(">= " in load.out, load.out)


def test_a_server_that_never_answers(place):
    with HttpServer() as server:
        load = http_load(place, server.url("/hole"), "-R", "100/s", "-d", "600ms", "--timeout", "300ms", exit=3)
        check_black_hole(load, 300 * MS)
        expect(load.ledger["expired"] == load.ledger["due"] and load["response"]["p50_ns"] >= 300 * MS, load.ledger)
        expect(load.measured["answers"] == 0 == server.counts()["answers"], load.measured)
        # a client waits for one at a time: the rest was due, and never started
        load = http_load(place, server.url("/hole"), "-R", "100/s", "-d", "600ms", "-c", 2, "--drain", "0s", exit=3)
        check_black_hole(load, 500 * MS)
        expect(load.ledger["unfinished"] - load.ledger["never_started"] == 2, load.ledger)
        expect(load.ledger["never_started"] > 10, load.ledger)
        load = http_load(place, server.url("/half/body/silence"), "-n", 4, "-c", 2, "--timeout", "200ms", exit=3)
        check_black_hole(load, 200 * MS)
    with HttpServer(mode="ignore") as server:
        load = http_load(place, server.url(), "-n", 4, "-c", 2, "--timeout", "200ms", exit=3)
        check_black_hole(load, 200 * MS)


def test_a_port_that_never_opens(place):
    with HttpServer(mode="hole") as server:
        load = http_load(place, server.url(), "-n", 4, "-c", 2, "--connect-timeout", "200ms", exit=3)
        expect(load.ledger["completed"] == 0 and load.ledger["failed"] + load.ledger["expired"] == 4, load.ledger)
        expect(all(code.startswith("connect:") for code in load.faults()), load["faults"])
    certificates = Certificates(place)
    with HttpServer(mode="ignore", cert=certificates.cert, key=certificates.key) as server:
        load = http_load(place, server.url(), "-n", 4, "-c", 2, "--connect-timeout", "200ms", exit=3)
        expect(load.ledger["completed"] == 0 and load.ledger["failed"] + load.ledger["expired"] == 4, load.ledger)
        expect(all(code.startswith("tls:") for code in load.faults()), load["faults"])


def test_some_are_late(place):
    """One in four takes longer than the limit: p50 is known, p90 is only known from below."""
    with HttpServer() as server:
        fast = place.file("fast.hurl", f"GET {server.url()}\n")
        slow = place.file("slow.hurl", f"GET {server.url('/delay/3000')}\n")
        load = http_load(place, f"{fast}@3", f"{slow}@1", "-n", 60, "-c", 6, "--timeout", "500ms", "--seed", 4, exit=3)
        expect(0 < load.ledger["expired"] < 60 and load.ledger["completed"] + load.ledger["expired"] == 60, load.ledger)
        at_least = load["response"]["at_least"]
        expect("max_ns" in at_least and "p99_ns" in at_least and "min_ns" not in at_least, load["response"])
        expect(load["response"]["p99_ns"] >= 500 * MS, load["response"])
        by_script = {script["title"]: script for script in load["scripts"]}
        slow_one = next(script for title, script in by_script.items() if "slow" in title)
        expect(slow_one["ledger"]["expired"] == load.ledger["expired"], by_script)


# ---- being told to stop ----

def test_interrupt(place):
    with HttpServer() as server:
        path = os.path.join(place.path, "x.json")
        process = place.start("http", server.url("/delay/5"), "-R", "100/s", "-d", "60s", f"--json={path}")
        deadline = time.monotonic() + 60
        while server.counts()["answers"] < 20 and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        output = process.communicate(timeout=30)[0]
        expect(process.returncode == 130, f"exit {process.returncode}: {output}")
        expect("p99" in output and "plimsoll-http:" in output, output)
        with open(path, encoding="utf-8") as file:
            result = json.load(file)
        expect(result["was_interrupted"] and result["exit_code"] == 130, result["exit_code"])
        expect(result["ledger"]["completed"] >= 20, result["ledger"])
        expect(result["ledger"]["due"] == sum(result["ledger"][column] for column in LEDGER), result["ledger"])
        counts = server.counts()
        expect(result["http"]["measured"]["answers"] == counts["answers"], f"{result['http']['measured']['answers']} {counts}")
    place.await_nothing_left()


def test_interrupt_while_nothing_answers(place):
    with HttpServer(mode="hole") as server:
        process = place.start("http", server.url(), "-c", "2", "-d", "60s")
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        output = process.communicate(timeout=30)[0]
        expect(process.returncode == 130, f"exit {process.returncode}: {output}")


# ---- secrets ----

def test_secrets_are_nowhere(place):
    with HttpServer() as server:
        files = {name: os.path.join(place.path, f"out.{name}") for name in ("hgrm", "hlog", "log")}
        outputs = ("--hdr", files["hgrm"], "--hlog", files["hlog"], "--log", files["log"], "--progress")
        script = place.file("x.hurl", f"GET {server.url('/status/500')}\nAuthorization: Bearer {{{{token}}}}\nCookie: id=hush-cookie\n"
                                      "HTTP 200\n")
        authority = server.authority()
        for target, options in ((server.url("/reset"), ("--user", "me:hush-password")),
                                (f"http://me:hush-password@{authority}/reset", ()),
                                (server.url("/auth"), ("-H", "Authorization: Basic hush-header", "-H", "Cookie: a=hush-cookie")),
                                (server.url("/auth"), ("--user", "me:hush-password")),
                                (server.url("/plain?access_token=hush-token&x=1"), ()),
                                (script, ("--variable", "token=hush-token"))):
            load = http_load(place, target, "-n", 4, "-c", 1, *options, *outputs, exit=None)
            expect(load.ledger["due"] == 4, load.json)
            texts = [load.all_text()]
            for path in files.values():
                with open(path, encoding="utf-8") as file:
                    texts.append(file.read())
            for text in texts:
                expect("hush" not in text, f"{target} {options}: a secret is in {text[:3000]}")
                expect("bWU6aHVzaC1wYXNzd29yZA" not in text, f"{target} {options}: a password is in {text[:3000]}")
        sent = server.counts()["authorizations"]
        expect("Basic bWU6aHVzaC1wYXNzd29yZA==" in sent and "Bearer hush-token" in sent and "Basic hush-header" in sent, sent)
        result = place.run("http", f"http://me:hush-password@{authority}:x/", "-n", "1")
        expect(result.returncode == 2 and "hush" not in result.stdout + result.stderr, result.stderr)
        result = place.run("http", server.url(), "--user", "hush-password", "-n", "1")
        expect("hush" not in result.stdout + result.stderr, result.stderr)


def test_credentials_stay_with_their_host(place):
    """A redirect to another host takes neither user nor Authorization with it."""
    with HttpServer() as first, HttpServer() as second:
        load = http_load(place, first.url(f"/redirect-to?{second.url()}"), "-n", 10, "-c", 1, "--follow", "--user", "me:word")
        expect(load.ledger["completed"] == 10 == second.counts()["answers"], load.json)
        expect(load["http"]["redirects"] == 10, load["http"])
        expect(len(first.counts()["authorizations"]) == 1 and second.counts()["authorizations"] == {}, second.counts())


# ---- wrong input ----

def test_wrong_command_lines(place):
    good = "http://127.0.0.1:1/"
    cases = [
        ((), ["URL"]),
        (("ftp://x/",), ["ftp"]),
        (("http:///x",), ["no host"]),
        (("http://x:99999/",), ["65535"]),
        (("nothing.hurl",), ["nothing.hurl"]),
        ((good, "--conections", "3"), ["--connections"]),
        ((good, "-c", "0"), ["-c", "0"]),
        ((good, "-c", "three"), ["three"]),
        ((good, "-d", "5"), ["5s"]),
        ((good, "-R", "200"), ["200/s"]),
        ((good, "-R", "-1/s"), ["-1"]),
        ((good, "-n", "5", "-d", "5s"), ["-n", "-d"]),
        ((good, "-H", "no colon"), ["colon"]),
        ((good, "-m", "GE T"), ["GE T"]),
        ((good, "--data", "a", "-d@x"), ["body"]),
        ((good, "-d@nothing"), ["nothing"]),
        ((good, "--fail-if", "p99>50lightyears"), ["50lightyears", "^"]),
        ((good, "--fail-if", "p99 50ms"), ["^"]),
        ((good, "--threshold", "p(95<5"), ["^"]),
        ((good, "--find-max", "fast"), ["fast", "^"]),
        ((good, "--tenants", "3"), ["--tenant"]),
        (("x.hurl", "--feed", "nothing.csv"), ["nothing.csv"]),
        ((good, "--feed", "x.csv"), ["Hurl"]),
        (("http://h/{{x}}",), ["Hurl"]),
        ((good, "--tenants", "3", "--tenant", "hst=a{n}"), ["host"]),
        ((good, "--variable", "user"), ["user"]),
        ((good, "--cacert", "nothing.pem"), ["nothing.pem", "No such file"]),
        ((good, "--cert", place.file("c.pem", "-----BEGIN CERTIFICATE-----\n")), ["private key", "--key"]),
        ((good, "-t", "4"), ["--workers"]),
        ((good, "-k"), ["--insecure"]),
        ((good, "-X", "POST"), ["-m"]),
        ((good, "-m", "get"), ["GET"]),
        ((good, "-H", "X: 1", "-H", "x: 2"), ["twice"]),
        ((good, "--find-max", "p99>5ms"), ["<"]),
        ((good, "--tenants", "3", "--tenant", "host=a{m}"), ["{n}"]),
        (("localhost",), ["http://localhost"]),
    ]
    for arguments, words in cases:
        result = place.run("http", *arguments)
        expect(result.returncode == 2, f"{arguments}: exit {result.returncode}: {result.stdout}{result.stderr}")
        for word in words:
            expect(word in result.stderr, f"{arguments}: {word!r} is not in: {result.stderr}")
        expect(len(result.stderr.splitlines()) <= 8, result.stderr)


def check_pointed_at(place, text, line, column, *words):
    result = place.run("http", place.file("wrong.hurl", text), "-n", "1")
    expect(result.returncode == 2, f"exit {result.returncode}: {result.stderr}")
    expect(f"wrong.hurl:{line}:{column}" in result.stderr, result.stderr)
    lines = result.stderr.splitlines()
    caret = [said for said in lines if said.lstrip().startswith("^")]
    expect(len(caret) == 1 and caret[0].index("^") == column - 1, f"no caret under column {column}: {result.stderr}")
    expect(text.splitlines()[line - 1] in lines, f"the line is not shown: {result.stderr}")
    for word in words:
        expect(word in result.stderr, f"{word!r} is not in: {result.stderr}")


def test_wrong_scripts(place):
    check_pointed_at(place, "GET http://x/\nHTTP 200\n[Asserts]\njsonpath \"$.a\" equalz 3\n", 4, 16)
    check_pointed_at(place, "GET http://x/{{nobody}}\n", 1, 16, "nobody")
    check_pointed_at(place, "GET http://x/\nHTTP 200\n[Assertions]\nstatus == 200\n", 3, 2, "Asserts")
    check_pointed_at(place, "GET http://x/\nHTTP 200\n[Asserts]\nxpath \"//a\" exists\n", 4, 1, "xpath")
    check_pointed_at(place, "GET http://x/\n[Options]\nretri: 3\n", 3, 1, "retry")


def test_wrong_data(place):
    script = place.file("x.hurl", "GET http://127.0.0.1:1/{{a}}\n")
    result = place.run("http", script, "-n", "1", "--feed", place.file("x.csv", "a,b\n1,2\n3\n"))
    expect(result.returncode == 2 and "x.csv:3" in result.stderr, result.stderr)
    result = place.run("http", script, "-n", "1", "--feed", place.file("y.csv", "a,weight\n1,0\n"))
    expect(result.returncode == 2 and "y.csv:2" in result.stderr and "weight" in result.stderr, result.stderr)
    result = place.run("http", "http://127.0.0.1:1/", "-n", "1", "--tenants", place.file("z.csv", ""))
    expect(result.returncode == 2 and "z.csv" in result.stderr, result.stderr)


def test_too_many_connections_are_foretold(place):
    """Before the run, with the number that would work."""
    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
    with HttpServer() as server:
        process = place.start("http", server.url(), "-c", "1000", "-n", "1000", preexec_fn=limit)
        output = process.communicate(timeout=60)[0]
        expect(process.returncode == 2, f"exit {process.returncode}: {output}")
        expect("descriptor" in output or "files" in output, output)
        expect(server.counts()["requests"] == 0, "it began all the same")


def test_a_full_disk(place):
    if not os.path.exists("/dev/full"):
        return
    with HttpServer() as server:
        for option in ("--json=/dev/full", "--hlog=/dev/full", "--hdr=/dev/full", "--log=/dev/full"):
            result = place.run("http", server.url(), "-n", "50", "--quiet", option)
            expect(result.returncode not in (0, 1), f"{option}: exit {result.returncode}: {result.stderr}")
            expect("/dev/full" in result.stderr, f"{option}: {result.stderr}")


def test_output_for_eyes(place):
    """No colours and no line that is written over when nobody looks; nothing of the server's goes there raw."""
    with HttpServer() as server:
        result = place.run("http", server.url(), "-n", "50", "--progress")
        expect(result.returncode == 0 and "\x1b" not in result.stdout + result.stderr and "\r" not in result.stdout + result.stderr,
               result.stdout + result.stderr)
        for word in ("response", "service", "p99", "due", "lateness"):
            expect(word in result.stdout, f"{word}: {result.stdout}")


if __name__ == "__main__":
    main(globals())
