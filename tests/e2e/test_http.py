#!/usr/bin/env python3
"""`plimsoll http` against servers that keep their own books: counts are equal, latencies are what the server's log says."""
import json
import math
import os
import subprocess

from httplib import Certificates, HttpServer, Nghttpd, Nginx, http_load, peak_memory_bytes, quantile
from lib import Skip, expect, main

MS = 1_000_000

# path, options: each is answered legally and once
MATRIX = [
    ("/plain",), ("/length/0",), ("/length/1",), ("/big/300000",), ("/204",), ("/304",), ("/head", "-m", "HEAD"),
    ("/chunked", "-m", "HEAD"), ("/304", "-m", "HEAD"), ("/eof", "-m", "HEAD"), ("/interim",), ("/chunked",), ("/eof",),
    ("/eof10",), ("/close",), ("/two",), ("/json",), ("/gzip",), ("/gzip", "--compressed"), ("/deflate",), ("/set-cookie",),
    ("/cookies",), ("/echo", "-m", "POST", "--data", "some text"), ("/echo", "-m", "PUT", "--data", ""),
    ("/slow-body",), ("/plain", "--no-keepalive"), ("/eof", "--no-keepalive"), ("/plain", "--http1.0"),
    ("/continue", "-m", "POST", "--data", "x" * 5000, "-H", "Expect: 100-continue"),
    ("/auth", "--user", "user:pass"), ("/redirect/3", "--follow"), ("/drop-reused/plain",),
]


def check_same(load, counts, case, wanted):
    """Every answer of the server is an answer here, every request it saw was sent here, and all operations are through."""
    measured = load.measured
    expect(load.ledger["due"] == load.ledger["completed"] == wanted, f"{case}: {load.ledger} {load['faults']}")
    expect(measured["answers"] == counts["answers"], f"{case}: {measured['answers']} answers, server {counts['answers']}")
    expect(measured["requests"] == counts["requests"], f"{case}: {measured['requests']} requests, server {counts['requests']}")
    expect(sum(measured["statuses"].values()) == counts["answers"], f"{case}: {measured['statuses']}")
    opened = measured["connections_opened"] + load["http"]["warm_up"]["connections_opened"]
    expect(opened == counts["connections"], f"{case}: {opened} connections, server {counts['connections']}")
    expect(load["faults"] == [], f"{case}: {load['faults']}")


def run_matrix(place, server, target=lambda server, path: server.url(path), options=(), operations=60, cases=MATRIX):
    for path, *more in cases:
        server.forget()
        load = http_load(place, target(server, path), "-n", operations, "-c", 4, "--quiet", *more, *options)
        counts = server.counts()
        counts["connections"] -= 1  # the one that asks
        check_same(load, counts, (path, more, options), operations)


def test_matrix(place):
    with HttpServer() as server:
        run_matrix(place, server)


def test_matrix_byte_by_byte(place):
    # an answer that nobody asked for, and that comes after the next request, is that one's for all that a client can know
    cases = [case for case in MATRIX if case[0] not in ("/big/300000", "/two")]
    with HttpServer(step=1) as server:
        run_matrix(place, server, cases=cases, operations=12)


def test_matrix_with_tls(place):
    certificates = Certificates(place)
    with HttpServer(cert=certificates.cert, key=certificates.key) as server:
        run_matrix(place, server, options=("--cacert", certificates.ca), operations=24)


def test_matrix_on_a_unix_socket(place):
    path = os.path.join(place.path, "socket")
    with HttpServer(unix=path) as server:
        run_matrix(place, server, lambda server, path: f"http://some.test{path}", ("--unix-socket", path), operations=24)


def test_ipv6(place):
    if not os.path.exists("/proc/net/if_inet6"):
        raise Skip("this machine has no IPv6")
    with HttpServer(host="::1") as server:
        load = http_load(place, server.url(), "-n", 50, "--quiet")
        expect(load.ledger["completed"] == 50 == server.counts()["answers"], load.json)


def test_every_address_of_a_name(place):
    """Two servers at two addresses of one name: both are used."""
    with HttpServer(host="127.0.0.1") as first, HttpServer(host="127.0.0.2", port=first.port) as second:
        load = http_load(place, f"http://some.test:{first.port}/plain", "-n", 200, "-c", 8, "--quiet",
                         "--connect-to", f"some.test:{first.port}:localhost:{first.port}")
        expect(load.ledger["completed"] == 200, load.json)
        expect(first.counts()["answers"] + second.counts()["answers"] == 200, "who answered?")
        expect(first.counts()["hosts"] == {f"some.test:{first.port}": [200 - second.counts()["answers"], 0]},
               f"{first.counts()['hosts']}")


def test_servers_that_close_without_a_word(place):
    """What was sent into a connection that was just closed is sent again on a fresh one: nothing fails, and it is counted."""
    with HttpServer() as server:
        for path in ("/idle-close", "/idle-close/1"):
            server.forget()
            load = http_load(place, server.url(path), "-n", 300, "-c", 8, "--think", "1ms", "--quiet")
            counts = server.counts()
            expect(load.ledger["completed"] == 300 == counts["answers"], f"{path}: {load.ledger} {load['faults']}")
            expect(load.measured["answers"] == counts["answers"], f"{path}: {load.measured} {counts}")
            expect(load.measured["requests"] - load.measured["sent_again"] <= counts["requests"] <= load.measured["requests"],
                   f"{path}: {load.measured} {counts}")
        server.forget()
        load = http_load(place, server.url("/drop-reused/plain"), "-n", 40, "-c", 2, "--quiet")
        expect(load.measured["sent_again"] > 0, load.measured)


def test_a_refused_expectation(place):
    with HttpServer() as server:
        arguments = ("-m", "POST", "--data", "x" * 5000, "-H", "Expect: 100-continue", "--quiet")
        load = http_load(place, server.url("/continue/refuse"), "-n", 20, "-c", 2, *arguments, exit=None)
        expect(load.measured["answers"] == server.counts()["answers"] == 20, load.json)
        expect(load.measured["statuses"] == {"417": 20}, load.measured)
        server.forget()
        load = http_load(place, server.url("/continue/never"), "-n", 2, "-c", 2, *arguments)  # the body goes after a second
        expect(load.ledger["completed"] == 2 == server.counts()["answers"], load.json)
        expect(server.counts()["body_bytes"] == 10000, server.counts())


def test_warm_up_is_apart(place):
    with HttpServer() as server:
        load = http_load(place, server.url(), "-R", "200/s", "-d", "500ms", "--warm-up", "500ms", "--constant", "--quiet")
        before, measured = load["http"]["warm_up"], load.measured
        expect(before["answers"] > 0 and measured["answers"] > 0, load["http"])
        expect(before["answers"] + measured["answers"] == server.counts()["answers"], f"{load['http']} {server.counts()}")
        expect(abs(load.ledger["due"] - 100) <= 1, load.ledger)


# ---- real servers ----

def test_nginx(place):
    with Nginx(place, keepalive_requests=50) as server:
        server.file("large", os.urandom(2_000_000))
        cases = [("/plain", 500, ()), ("/file/large", 20, ()), ("/plain", 100, ("--compressed",)), ("/plain", 100, ("-m", "HEAD")),
                 ("/plain", 40, ("--no-keepalive",))]
        for path, operations, options in cases:
            load = http_load(place, server.url(path), "-n", operations, "-c", 5, "--quiet", *options)
            expect(load.ledger["completed"] == operations, f"{path} {options}: {load.json}")
        server.stop()
        requests = server.requests()
        expect(len(requests) == sum(operations for _, operations, _ in cases), f"nginx saw {len(requests)}")
        expect({line[0] for line in requests} == {"200"}, f"{requests[:3]}")


def test_nginx_with_tls(place):
    certificates = Certificates(place)
    with Nginx(place, certificates) as server:
        trust = ("--cacert", certificates.ca, "--quiet")
        kept = http_load(place, server.url(), "-n", 200, "-c", 4, *trust)
        expect(kept.measured["handshakes_full"] + kept.measured["handshakes_resumed"] <= 4, kept.measured)
        fresh = http_load(place, server.url(), "-n", 40, "-c", 2, "--no-keepalive", *trust)
        expect(fresh.measured["handshakes_full"] + fresh.measured["handshakes_resumed"] == 40, fresh.measured)
        expect(fresh.measured["handshakes_resumed"] > 0, fresh.measured)
        server.stop()
        requests = server.requests()
        expect(len(requests) == 240, f"nginx saw {len(requests)}")
        resumed = len({line[5] for line in requests if line[4] == "r"})
        told = kept.measured["handshakes_resumed"] + fresh.measured["handshakes_resumed"]
        expect(resumed == told, f"{resumed} connections were resumed, told: {told}")


def test_http2_with_tls(place):
    certificates = Certificates(place)
    with Nginx(place, certificates, http2=True) as server:
        load = http_load(place, server.url(), "-n", 500, "-c", 20, "--http2", "--streams", 10, "--cacert", certificates.ca, "--quiet")
        expect(load.ledger["completed"] == 500 == load.measured["answers"], load.json)
        expect(load.measured["connections_opened"] <= 2, load.measured)
        server.stop()
        requests = server.requests()
        expect(len(requests) == 500 and {line[1] for line in requests} == {"HTTP/2.0"}, f"{len(requests)} {requests[:2]}")
    with Nginx(place, certificates) as server:  # knows no HTTP/2: a fault, not a fallback that nobody sees
        load = http_load(place, server.url(), "-n", 5, "-c", 1, "--http2", "--cacert", certificates.ca, "--quiet", exit=3)
        expect(load.ledger["completed"] == 0 and load.ledger["failed"] == 5, load.json)
        expect(all(code.startswith("tls:") for code in load.faults()), load["faults"])


def test_http2_without_tls(place):
    with Nghttpd(place) as server:
        load = http_load(place, server.url(), "-n", 200, "-c", 10, "--http2", "--quiet")
        expect(load.ledger["completed"] == 200, load.json)
        server.stop()
        expect(server.statuses() == ["200"] * 200, f"{len(server.statuses())} answers: {server.statuses()[:3]}")


# ---- latencies and schedules ----

def test_a_server_of_100_ms(place):
    """No operation can be faster than the server was; the rest is what the server's own log leaves open."""
    with HttpServer() as server:
        load = http_load(place, server.url("/delay/100"), "-R", "10/s", "-c", 10, "-d", "3s", "--quiet")
        own = [answered - came for came, answered, *_ in server.log()]
        expect(len(own) == load.ledger["completed"] > 10, f"{len(own)} {load.ledger}")
        for name in ("response", "service"):
            row = load[name]
            expect(row["count"] == len(own), f"{name}: samples were made up or lost: {row}")
            expect(row["min_ns"] >= 100 * MS, f"{name}: {row}")
            for label, q in (("min_ns", 0), ("p50_ns", 0.5), ("p90_ns", 0.9), ("max_ns", 1)):
                expect(row[label] >= quantile(own, q), f"{name}: {label} is {row[label]}, the server's {quantile(own, q)}")
            expect(row["p50_ns"] < 200 * MS, f"{name}: {row}")


def test_a_stall_of_two_seconds(place):
    """The server stands still for two of six seconds. The n-th operation was due n ms after the first one; what the log says
    of the n-th answer gives its response. Few requests were under way meanwhile, so the service row hardly knows of it."""
    rate, seconds = 1000, 6
    with HttpServer(stall_after=2000, stall=2000) as server:
        load = http_load(place, server.url("/stall"), "-R", f"{rate}/s", "--constant", "-c", 10, "-d", f"{seconds}s", "--quiet",
                         exit=None)
        counts, log = server.counts(), server.log()
    expect(load.ledger["completed"] == len(log) == rate * seconds, f"{load.ledger} {len(log)}")
    stalled = counts["stall_ended_ns"] - counts["stall_began_ns"]
    expect(stalled >= 2_000 * MS, counts)
    gap = 1_000_000_000 // rate
    answered = sorted(line[1] for line in log)
    start = min(came - n * gap for n, (came, *_) in enumerate(log))
    response = [end - (start + n * gap) for n, end in enumerate(answered)]
    for label, q in (("p90_ns", 0.9), ("p99_ns", 0.99)):
        expected = quantile(response, q)
        expect(expected > 500 * MS, f"the log's own {label} is {expected}: there was no stall")
        told = load["response"][label]
        expect(abs(told / expected - 1) < 0.05, f"{label}: {told / MS:.1f} ms, by the log {expected / MS:.1f} ms")
    expect(load["response"]["max_ns"] >= 0.95 * stalled, load["response"])
    expect(load["service"]["p99_ns"] < load["response"]["p90_ns"] / 2, load["service"])
    expect(load["service"]["count"] == rate * seconds, load["service"])


def test_schedules(place):
    """Everything that was due was sent, and either the gaps at the server are those that were asked for, or the result says
    that they are not."""
    with HttpServer() as server:
        for options, cv_least, cv_most in ((("--constant",), 0, 0.2), ((), 0.9, 1.1)):
            server.forget()
            load = http_load(place, server.url(), "-R", "1000/s", "-d", "3s", *options, "--seed", 7, "--quiet", exit=None)
            came = [line[0] for line in server.log()]
            expect(len(came) == load.ledger["due"] == load.ledger["completed"], f"{len(came)} {load.ledger}")
            expect(abs(len(came) - 3000) <= (1 if options else 5 * math.sqrt(3000)), f"{len(came)} arrivals")
            gaps = [after - before for before, after in zip(came, came[1:])]
            mean = sum(gaps) / len(gaps)
            cv = math.sqrt(sum((gap - mean) ** 2 for gap in gaps) / (len(gaps) - 1)) / mean
            own = load["client_load"]
            expect(own["own_lateness"]["count"] == load.ledger["due"], own)
            expect(cv_least <= own["gap_cv_asked"] <= cv_most, f"asked for {own['gap_cv_asked']}")
            late = own["own_lateness"]["p99_ns"]
            expect(cv_least <= cv <= cv_most or late > 50_000 or own["is_the_limit"],
                   f"gaps at the server vary by {cv:.3f}, and nothing in {own} tells of it")


def test_a_closed_loop(place):
    with HttpServer() as server:
        load = http_load(place, server.url("/delay/20"), "-c", 3, "-d", "600ms", "--quiet")
        counts = server.counts()
        expect(counts["open_most"] <= 3 + 1, counts)  # and the one that asks
        expect(load.ledger["completed"] == counts["answers"] > 3, f"{load.ledger} {counts}")
        expect(load.ledger["completed"] <= 3 * 32, load.ledger)  # 3 clients cannot have more than 30 answers each, and one more


# ---- tenants ----

def chi_square_score(counts, weights):
    """How many standard deviations the statistic lies from what it is expected to be."""
    total, weight = sum(counts), sum(weights)
    expected = [total * each / weight for each in weights]
    statistic = sum((count - mean) ** 2 / mean for count, mean in zip(counts, expected))
    freedom = len(counts) - 1
    return (statistic - freedom) / math.sqrt(2 * freedom)


def check_tenants(load, counts, names, weights, budget):
    seen = [counts["hosts"].get(name, [0, 0])[0] for name in names]
    expect(sum(seen) == counts["requests"] == load.ledger["completed"], f"{sum(seen)} {counts['requests']} {load.ledger}")
    expect([tenant["completed"] for tenant in load["tenants"]] == seen, "counts by tenant differ from the server's")
    score = chi_square_score(seen, weights)
    expect(abs(score) < 4, f"the shares do not follow the weights: {score:.1f} standard deviations")
    expect(counts["open_most"] <= budget + 1, counts)


def test_1000_tenants_by_a_file(place):
    with HttpServer() as server:
        weights = [1 + n % 4 for n in range(1000)]
        rows = [f"{server.url('')},t{n}.test,u{n}:secret{n},{weights[n]},g{n % 3}" for n in range(1000)]
        tenants = place.file("tenants.csv", "\n".join(["url,host,user,weight,group", *rows]) + "\n")
        load = http_load(place, "/plain", "--tenants", tenants, "-n", 30000, "-c", 40, "--connections-total", 30, "--seed", 3,
                         "--quiet")
        counts = server.counts()
        check_tenants(load, counts, [f"t{n}.test" for n in range(1000)], weights, 30)
        by_user = sum(requests for requests, _ in counts["authorizations"].values())
        expect(by_user == 30000 and len(counts["authorizations"]) == sum(value[0] > 0 for value in counts["hosts"].values()),
               "not each tenant has credentials of its own")
        for group in load["groups"]:
            members = range(int(group["name"][1:]), 1000, 3)
            own = sum(counts["hosts"].get(f"t{n}.test", [0])[0] for n in members)
            expect(group["ledger"]["completed"] == own == group["response"]["count"], f"{group['name']}: {own} {group}")
        expect("secret" not in load.all_text(), "a tenant's password is in the output")


def test_1000_tenants_by_a_pattern(place):
    with HttpServer() as server:
        load = http_load(place, server.url(), "--tenants", 1000, "--tenant", "host=t{n:04}.test", "-n", 20000, "-c", 40,
                         "--connections-total", 30, "--seed", 4, "--quiet")
        check_tenants(load, server.counts(), [f"t{n:04}.test" for n in range(1, 1001)], [1] * 1000, 30)


# ---- searching ----

def test_search_of_the_highest_rate(place):
    """Ten clients and 20 ms: more than 500 operations a second cannot be carried out, however fast everything else is."""
    with HttpServer() as server:
        for _ in range(3):
            load = http_load(place, server.url("/delay/20"), "-c", 10, "--find-max", "p99<100ms", "--step-duration", "1s",
                             "-R", "200/s", "--max", "2000/s", "--quiet", exit=None)
            search = load["search"]
            limited = [trial for trial in search["trials"] if trial["client_was_the_limit"] is not None]
            expect(len(limited) >= 3 or search["end"] != "gave_up", search)
            if search["end"] != "gave_up":
                break
        else:
            raise Skip("this machine is too busy for a schedule of 200 operations a second to be kept")
        expect(load.exit == 0 and search["last_pass_per_s"] is not None, f"exit {load.exit}: {search}")
        # in one second a tenth more makes 50 operations wait, the last one for 100 ms
        expect(search["last_pass_per_s"] <= 600, search)
        point = [point for point in search["points"] if point["rate_per_s"] == search["last_pass_per_s"]]
        expect(point and point[0]["passes"] >= 2 and point[0]["passes"] > point[0]["failures"], search["points"])
        votes = sum(trial["verdict"] != "no_data" for trial in search["trials"])
        expect(votes == sum(point["passes"] + point["failures"] for point in search["points"]), search)
        load = http_load(place, server.url("/delay/20"), "-c", 10, "--find-max", "p50<10ms", "--step-duration", "300ms", "-R", "20/s",
                         "--min", "5/s", "--quiet", exit=None)
        expect(load["search"]["last_pass_per_s"] is None, load["search"])
        expect(load.exit == 1 or load["search"]["end"] == "gave_up", f"exit {load.exit}: {load['search']}")


def test_a_search_among_errors(place):
    """Fast answers that are errors are no success, and a file or an option says when they are."""
    with HttpServer() as server:
        arguments = ("--find-max", "p99<10s", "--step-duration", "200ms", "-R", "50/s", "--min", "25/s", "--max", "100/s", "--quiet")
        load = http_load(place, server.url("/status/503"), *arguments, exit=None)
        expect(load["search"]["last_pass_per_s"] is None, load["search"])
        expect(load.exit == 1 or load["search"]["end"] == "gave_up", f"exit {load.exit}: {load['search']}")
        load = http_load(place, server.url("/status/503"), *arguments, "--any-status", exit=0)
        expect(load["search"]["end"] == "above_max" and load["search"]["last_pass_per_s"] == 100, load["search"])
        seeds = [int(trial["seed"]) for trial in load["search"]["trials"]]
        expect(seeds == list(range(seeds[0], seeds[0] + len(seeds))), seeds)


def test_statuses_of_a_url(place):
    with HttpServer() as server:
        for status, failed in ((200, 0), (302, 0), (400, 20), (404, 20), (503, 20)):
            server.forget()
            load = http_load(place, server.url(f"/status/{status}"), "-n", 20, "-c", 4, exit=3 if failed else 0)
            expect(load.ledger["failed"] == failed and load.ledger["completed"] == 20 - failed, f"{status}: {load.ledger}")
            expect([fault["code"] for fault in load["faults"]] == (["check:STATUS"] if failed else []), load["faults"])
            expect(load.measured["answers"] == 20 == server.counts()["answers"], f"{status}: {load.measured}")
            load = http_load(place, server.url(f"/status/{status}"), "-n", 20, "-c", 4, "--any-status")
            expect(load.ledger["completed"] == 20 and load["faults"] == [], f"{status}: {load.ledger}")
        script = place.file("any.hurl", f"GET {server.url('/status/503')}\nHTTP *\n")
        load = http_load(place, script, "-n", 20)
        expect(load.ledger["completed"] == 20, load.ledger)


def test_names_with_a_hyphen(place):
    with HttpServer() as server:
        script = place.file("x.hurl", f"GET {server.url('/echo')}?{{{{user-id}}}}&{{{{row-id}}}}\nHTTP 200\n[Asserts]\n"
                                      "jsonpath \"$.target\" == \"/echo?7&r1\"\n")
        feed = place.file("rows.csv", "row-id\nr1\n")
        load = http_load(place, script, "-n", 5, "--variable", "user-id=7", "--feed", feed)
        expect(load.ledger["completed"] == 5, load["faults"])


# ---- verdicts and files ----

def test_objectives(place):
    """Passed, missed, and no data to tell are three exit codes and three values."""
    with HttpServer() as server:
        cases = [
            (("--fail-if", "p99>10s"), "/plain", 0, "pass"),
            (("--fail-if", "p50>1ns",), "/plain", 1, "fail"),
            (("--threshold", "p(95)<10000"), "/plain", 0, "pass"),
            (("--threshold", "http_req_duration: p(95)<0.000001"), "/plain", 1, "fail"),
            (("--threshold", "http_req_failed: rate<0.01"), "/plain", 0, "pass"),
            (("--threshold", "p99<10s", "--threshold", "rate>=1000000/s"), "/plain", 1, "fail"),
            (("--fail-if", "p99>10s", "--timeout", "200ms"), "/hole", 4, "no_data"),
            (("--fail-if", "p99>1ms", "--timeout", "200ms"), "/hole", 1, "fail"),  # it is known to be 200 ms at least
            (("--threshold", "p99<10s"), "/reset", 4, "no_data"),
        ]
        for options, path, wanted, verdict in cases:
            load = http_load(place, server.url(path), "-n", 20, "-c", 4, *options, exit=wanted)
            expect(load["verdict"] == verdict and load["exit_code"] == wanted, f"{options}: {load['verdict']} {load['objectives']}")
            expect(load.out.rstrip().splitlines()[-1].startswith("plimsoll-http: "), load.out)


def decode_hlog(path):
    """By the npm package hdr-histogram-js: a list of {tag, start, counts: [[value, count], ...], total, max}."""
    folder = os.environ.get("PLIMSOLL_TEST_HDRHISTOGRAM")
    if not folder:
        raise Skip(os.environ.get("PLIMSOLL_TEST_NO_HDRHISTOGRAM", "no hdr-histogram-js in PLIMSOLL_TEST_HDRHISTOGRAM (tools/hdrhistogram)"))
    script = """
const hdr = require('hdr-histogram-js');
const reader = new hdr.HistogramLogReader(require('fs').readFileSync(process.argv[1], 'utf8'), 64, false);
const all = [];
for (let histogram = reader.nextIntervalHistogram(); histogram != null; histogram = reader.nextIntervalHistogram()) {
  const counts = [];
  for (let i = 0; i < histogram.countsArrayLength; i++)
    if (histogram.getCountAtIndex(i) > 0) counts.push([histogram.valueFromIndex(i), histogram.getCountAtIndex(i)]);
  all.push({tag: histogram.tag, start: histogram.startTimeStampMsec, end: histogram.endTimeStampMsec, counts,
            total: histogram.totalCount, max: histogram.maxValue, digits: histogram.numberOfSignificantValueDigits});
}
console.log(JSON.stringify(all));
"""
    answer = subprocess.run(["node", "-e", script, path], cwd=folder, capture_output=True, text=True, timeout=120)
    expect(answer.returncode == 0, answer.stderr)
    return json.loads(answer.stdout)


def bucket_of(value):
    """The lower end of a latency's bucket: 3 digits, steps of 64 ns."""
    shift = max(6, value.bit_length() - 11)
    return value >> shift << shift


def test_hlog(place):
    """Another reader of the log finds as many values as were completed, and each in the bucket that the log of all operations
    says."""
    with HttpServer() as server:
        hlog, log = os.path.join(place.path, "x.hlog"), os.path.join(place.path, "operations")
        load = http_load(place, server.url("/delay/3"), "-R", "200/s", "-d", "2500ms", "--hlog", hlog, "--log", log, "--quiet")
        intervals = decode_hlog(hlog)
        expect(len(intervals) >= 2, f"{len(intervals)} intervals in 2.5 s")
        total = sum(interval["total"] for interval in intervals)
        expect(total == load.ledger["completed"] == server.counts()["answers"], f"{total} {load.ledger}")
        counts = {}
        for interval in intervals:
            expect(interval["digits"] == 3, interval)
            for value, count in interval["counts"]:
                counts[value] = counts.get(value, 0) + count
        expect(all(value == bucket_of(value) for value in counts), "values that are no bucket's lower end")
        expect(sum(counts.values()) == total, "counts and totals differ")
        greatest = max(counts)
        expect(greatest == bucket_of(load["response"]["max_ns"]), f"{greatest} {load['response']}")
        least = min(counts)
        expect(least == bucket_of(load["response"]["min_ns"]), f"{least} {load['response']}")
        for label, q in (("p50_ns", 0.5), ("p90_ns", 0.9), ("p99_ns", 0.99)):
            expect(bucket_of(load["response"][label]) == quantile([value for value, count in counts.items() for _ in range(count)], q),
                   f"{label}: {load['response'][label]}")


def test_hlog_of_tenants(place):
    with HttpServer() as server:
        rows = "".join(f"{server.url('')},t{n}.test,the group {n % 2}\n" for n in range(10))
        tenants, hlog = place.file("t.csv", "url,host,group\n" + rows), os.path.join(place.path, "x.hlog")
        load = http_load(place, "/plain", "--tenants", tenants, "-n", 500, "-c", 4, "--hlog", hlog, "--quiet")
        totals = {}
        for interval in decode_hlog(hlog):
            totals[interval["tag"]] = totals.get(interval["tag"], 0) + interval["total"]
        for group in load["groups"]:
            tag = group["name"].replace(" ", "%20")
            expect(totals.get(tag) == group["ledger"]["completed"], f"{totals} {group['name']} {group['ledger']}")


def test_hgrm(place):
    with HttpServer() as server:
        path = os.path.join(place.path, "x.hgrm")
        load = http_load(place, server.url(), "-n", 300, "--hdr", path, "--quiet")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        expect(text.split()[:3] == ["Value", "Percentile", "TotalCount"], text[:200])
        expect(any(line.startswith("#[Max") and line.rstrip("]").split()[-1] == "300" for line in text.splitlines()), text[-400:])
        expect(load.ledger["completed"] == 300, load.ledger)


def test_memory_does_not_grow_with_the_run(place):
    with HttpServer() as server:
        def memory(operations):
            return peak_memory_bytes(place, server.url(), "-n", operations, "-c", 8, "--quiet",
                                     f"--json={place.path}/x.json")
        short, long = memory(1000), memory(60000)
        expect(long - short < 4_000_000, f"{short} bytes for 1000 operations, {long} for 60000")


def test_large_bodies_are_not_kept(place):
    with HttpServer() as server:
        def memory(path):
            return peak_memory_bytes(place, server.url(path), "-n", 4, "-c", 1, "--quiet", f"--json={place.path}/x.json")
        small, large = memory("/length/10"), memory("/big/100000000")
        expect(large - small < 8_000_000, f"{small} bytes for small bodies, {large} for bodies of 100 MB")


def test_json_on_standard_output(place):
    with HttpServer() as server:
        result = place.run("http", server.url(), "-n", "10", "--json")
        expect(result.returncode == 0, result.stderr)
        expect(json.loads(result.stdout)["ledger"]["completed"] == 10, result.stdout)
        expect("p99" in result.stderr, result.stderr)


# ---- scripts ----

SHOP = """# logs in, looks, buys
POST http://{{authority}}/echo?step=login
Content-Type: application/json
{"name": "u{{user}}"}
HTTP 200
[Captures]
method: jsonpath "$.method"
[Asserts]
jsonpath "$.body" contains "u{{user}}"

GET http://{{authority}}/json
HTTP 200
[Captures]
token: jsonpath "$.token"
[Asserts]
jsonpath "$.items" count == 2
header "Content-Type" contains "json"

GET http://{{authority}}/echo
X-Token: {{token}}
HTTP 200
[Asserts]
jsonpath "$.headers.X-Token" == "{{token}}"
jsonpath "$.method" == "GET"
"""


def test_a_script_with_captures(place):
    with HttpServer() as server:
        script = place.file("shop.hurl", SHOP)
        load = http_load(place, script, "-n", 200, "-c", 4, "--variable", f"authority={server.authority()}",
                         "--variable", "user=random(1, 100)", "--quiet")
        counts = server.counts()
        expect(load.ledger["completed"] == 200 and counts["answers"] == 600 == load.measured["answers"], f"{load.json} {counts}")
        requests = load["scripts"][0]["requests"]
        expect([request["answered"] for request in requests] == [200, 200, 200], requests)
        expect([request["service"]["count"] for request in requests] == [200, 200, 200], requests)
        expect([request["line"] for request in requests] == [2, 11, 19], requests)


def test_checks_that_fail(place):
    with HttpServer() as server:
        script = place.file("x.hurl", f"GET {server.url('/json')}\nHTTP 200\n[Asserts]\njsonpath \"$.id\" == \"never\"\n")
        load = http_load(place, script, "-n", 30, "--quiet", exit=3)
        expect(load.ledger["failed"] == 30, load.ledger)
        fault = load.faults()["check:ASSERT"]
        expect(fault["count"] == 30 and "x.hurl:4" in fault["example"], fault)
        script = place.file("y.hurl", f"GET {server.url('/status/503')}\nHTTP 200\n")
        load = http_load(place, script, "-n", 30, "--quiet", exit=3)
        expect(load.faults()["check:STATUS"]["count"] == 30, load["faults"])


def test_mix_and_feed(place):
    with HttpServer() as server:
        first = place.file("a.hurl", f"GET {server.url('/echo?id={{id}}')}\n")
        second = place.file("b.hurl", f"GET {server.url('/json')}\n")
        data = place.file("ids.csv", "id\n" + "".join(f"n{n}\n" for n in range(1000)))
        load = http_load(place, f"{first}@3", f"{second}@1", "--feed", f"{data}:unique", "-n", 800, "-c", 4, "--seed", 5, "--quiet")
        paths = server.counts()["paths"]
        counts = [paths["/echo"][1], paths["/json"][1]]
        expect(counts == [script["ledger"]["completed"] for script in load["scripts"]], f"{counts} {load['scripts']}")
        expect(sum(counts) == 800 and abs(chi_square_score(counts, [3, 1])) < 8, counts)


def test_cookies_are_each_clients_own(place):
    with HttpServer() as server:
        script = place.file("x.hurl", f"GET {server.url('/set-cookie')}\nHTTP 200\n[Captures]\nsid: cookie \"sid\"\n\n"
                                      f"GET {server.url('/cookies')}\nHTTP 200\n[Asserts]\n"
                                      "jsonpath \"$.cookies\" == \"sid={{sid}}\"\n")
        load = http_load(place, script, "-n", 200, "-c", 8, "--quiet")
        expect(load.ledger["completed"] == 200, load["faults"])
        load = http_load(place, server.url("/cookies"), "-n", 5, "--no-cookies", "--quiet")
        expect(load.ledger["completed"] == 5, load.json)


if __name__ == "__main__":
    main(globals())
