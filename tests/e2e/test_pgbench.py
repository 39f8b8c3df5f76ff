#!/usr/bin/env python3
"""`plimsoll pgbench` on a real PostgreSQL: every option, what is printed and by which exit code it ends."""
import fcntl
import glob
import json
import os
import pty
import re
import select
import signal
import socket
import subprocess
import termios
import threading
import time

from lib import PLIMSOLL, Skip, a_database, expect, main


def environment(place, server):
    return dict(place.env, **(server.environment if server else {}))


def bench(place, server, *arguments, command=(PLIMSOLL, "pgbench"), extra=None, timeout=60, **options):
    options.setdefault("stdin", subprocess.DEVNULL if "input" not in options else None)
    return subprocess.run([*command, *arguments], cwd=place.path, env=dict(environment(place, server), **(extra or {})),
                          text=True, errors="replace", capture_output=True, timeout=timeout,
                          **{name: value for name, value in options.items() if value is not None})


def good(place, server, *arguments, **options):
    run = bench(place, server, *arguments, **options)
    expect(run.returncode == 0, f"{arguments}: exit {run.returncode}\n{run.stdout}{run.stderr}")
    return run


def processed(report):
    found = re.search(r"^number of transactions actually processed: (\d+)", report, re.M)
    expect(found, report)
    return int(found.group(1))


def ledger(report):
    found = re.search(r"^transactions due: (\d+) = (\d+) completed \+ (\d+) failed \+ (\d+) skipped \+ (\d+) unfinished "
                      r"\((\d+) of them never started\)$", report, re.M)
    expect(found, report)
    due, completed, failed, skipped, unfinished, never = map(int, found.groups())
    expect(due == completed + failed + skipped + unfinished and never <= unfinished, report)
    expect(completed == processed(report), report)
    return due, completed, failed, skipped, unfinished, never


# ---- the report ----

def people_parse(report):
    """The figures, as scripts that people have take them out of a report."""
    figures = {}
    for name, pattern in {"tps": r"^tps = ([\d.]+) \((?:without initial connection time|including reconnection times)\)$",
                          "latency_ms": r"^latency average = ([\d.]+) ms$",
                          "stddev_ms": r"^latency stddev = ([\d.]+) ms$",
                          "connection_ms": r"^(?:initial|average) connection time = ([\d.]+) ms$",
                          "clients": r"^number of clients: (\d+)$",
                          "threads": r"^number of threads: (\d+)$",
                          "scale": r"^scaling factor: (\d+)$",
                          "mode": r"^query mode: (\w+)$",
                          "failed": r"^number of failed transactions: (\d+) \([\d.]+%\)$"}.items():
        found = re.findall(pattern, report, re.M)
        expect(len(found) == 1, f"{name}: {found} in\n{report}")
        figures[name] = found[0]
    return figures


def test_parsers_understand_the_report(place, postgres):
    with a_database(postgres, scale=2) as server:
        run = good(place, server, "-S", "-c", "4", "-j", "2", "-t", "50", "-M", "prepared")
    figures = people_parse(run.stdout)
    expect((figures["clients"], figures["threads"], figures["scale"]) == ("4", "2", "2"), run.stdout)
    expect(figures["mode"] == "prepared" and figures["failed"] == "0", run.stdout)
    expect(float(figures["tps"]) > 0 and float(figures["latency_ms"]) > 0, run.stdout)
    expect("number of transactions actually processed: 200/200\n" in run.stdout, run.stdout)
    expect(run.stdout.startswith("pgbench (") and run.stdout.split("\n")[0].endswith(")"), run.stdout)
    expect(run.stderr == "starting vacuum...end.\n", run.stderr)
    expect(ledger(run.stdout) == (200, 200, 0, 0, 0, 0), run.stdout)


def prefixes(report):
    """What each line begins with, without its values; no further than the first empty line."""
    return [re.split(r"[:=(]|\d", line)[0].rstrip() for line in report.split("\n\n")[0].rstrip("\n").split("\n")]


def original():
    """The newest installed pgbench."""
    found = glob.glob("/usr/lib/postgresql/*/bin/pgbench")
    if not found:
        raise Skip("pgbench is not installed")
    return max(found, key=lambda path: int(path.split("/")[4]))


def test_lines_are_those_of_the_original(place, postgres):
    path = original()
    script = place.file("two.sql", "\\set x random(1, 10)\nSELECT :x;\nSELECT 1\n  + 1;\n")
    runs = [["-n", "-S"], ["-n", "-t", "3", "-c", "2"], ["-n", "-N", "-M", "extended", "-t", "2"], ["-n", "-S", "-T", "1"],
            ["-n", "-S", "-C", "-t", "3"], ["-n", "-S", "-R", "100", "-t", "5"], ["-n", "-S", "-L", "100", "-t", "5"],
            ["-n", "-S", "-R", "100", "-L", "100", "-T", "1"], ["-n", "-r", "-f", script, "-t", "4"],
            ["-n", "-r", "-f", script, "-t", "4", "--max-tries=3"], ["-n", "-S", "-t", "3", "--failures-detailed"],
            ["-n", "-S", "-T", "1", "--max-tries=0"], ["-v", "-S", "-t", "1"], ["-n", "-S", "-j", "3", "-c", "2"]]
    # what is said here always, or since a later version than the oldest that may be installed
    more = {"latency stddev", "number of other failures"}
    with a_database(postgres, scale=1) as server:
        for arguments in runs:
            ours = good(place, server, *arguments)
            theirs = good(place, server, *arguments, command=(path,))
            wanted = prefixes(theirs.stdout)
            got = [line for line in prefixes(ours.stdout) if line in wanted or line not in more]
            expect(got == wanted, f"{arguments}\nours   {got}\ntheirs {wanted}")
            expect(ours.stderr == theirs.stderr, f"{arguments}\nours   {ours.stderr}\ntheirs {theirs.stderr}")


def test_messages_are_those_of_the_original(place, postgres):
    path = original()
    scripts = ["select 1/0;", "\\set x 1/0", "select 1;\nselect 1\nwhere 1/0 > 1;",
               "select generate_series(1,2) as a \\gset", 'select 1 as "a b" \\gset', "\\set x :y", "\\shell false",
               "\\if 1/0\n\\endif\nselect 1;", "\\startpipeline\nselect 1;",
               "select pg_terminate_backend(pg_backend_pid());", "do $$ begin raise exception 'no'; end $$;"]
    protocol = ["-n", "-t", "1", "-M", "extended"]
    with a_database(postgres) as server:
        for text in scripts:
            script = place.file("s.sql", text + "\n")
            ours = bench(place, server, *protocol, "-f", script)
            theirs = bench(place, server, *protocol, "-f", script, command=(path,))
            expect(ours.returncode == theirs.returncode == 2, f"{text}: {ours.returncode}, {theirs.returncode}")
            # the original goes on with the server's context lines
            said = [line for line in theirs.stderr.split("\n") if not line.startswith(("CONTEXT:", "LINE ", " "))]
            mine = [line for line in ours.stderr.split("\n") if "no transaction was completed" not in line]
            expect(mine == said, f"{text}\nours   {mine}\ntheirs {said}")
        for arguments in (["nowhere"], ["-S", "-n"], ["-f", "/nonexistent"], ["--client=x"], ["-i", "-S"]):
            ours = bench(place, server, *arguments)
            theirs = bench(place, server, *arguments, command=(path,))
            expect(ours.returncode == theirs.returncode == 1, f"{arguments}: {ours.returncode}, {theirs.returncode}")
            first = [run.stderr.split("\n")[0] for run in (ours, theirs)]
            expect(first[0] == first[1] or first[1].startswith(first[0]), f"{arguments}: {first}")


# ---- options ----

def test_builtin_scripts_in_all_protocols(place, postgres):
    with a_database(postgres, scale=1) as server:
        done = 0
        for protocol in ("simple", "extended", "prepared"):
            for name in ("tpcb-like", "simple-update", "select-only"):
                run = good(place, server, "-n", "-b", name, "-M", protocol, "-c", "3", "-j", "2", "-t", "7")
                expect("actually processed: 21/21\n" in run.stdout, run.stdout)
                done += name != "select-only" and 21
                expect(int(server.sql("SELECT count(*) FROM pgbench_history")) == done, f"{protocol} {name}")
        sums = server.sql("SELECT sum(abalance) = (SELECT sum(delta) FROM pgbench_history) FROM pgbench_accounts")
        expect(sums == "t", sums)


def test_every_option_is_taken(place, postgres):
    script = place.file("s.sql", "\\set x :a + 1\nSELECT :x, :scale, :client_id;\n")
    lines = [
        "-S -c 2 -j 2 -t 3", "--select-only --client=2 --jobs=2 --transactions=3", "-N -t 2", "--skip-some-updates -t 2",
        "-b se@2 -b tpcb@1 -t 5", "--builtin=select-only -t 2", "-f s.sql -D a=5 -t 3", "--file=s.sql@4 --define=a=5 -t 2",
        "-f s.sql -D a=5 -s 7 -t 1", "-S -C -t 2", "--connect -S -t 2", "-S -T 1", "--time=1 -S", "-S -l -t 2",
        "-S --log --log-prefix=lp -t 2", "-S -l --sampling-rate=0.5 -t 20", "-S -l -T 2 --aggregate-interval=1",
        "-S -L 100 -t 3", "--latency-limit=100.5 -S -t 2", "-S -R 200 -t 5", "--rate=200 -S -t 5", "-M extended -S -t 2",
        "--protocol=prepared -S -t 2", "-S -P 1 -T 2", "-S --progress=1 --progress-timestamp -T 2", "-S -r -t 2",
        "--report-per-command -S -t 2", "-v -S -t 1", "--vacuum-all -S -t 1", "--no-vacuum -S -t 1", "-S --continue-on-error -t 1",
        "-S --exit-on-abort -t 1", "-S --failures-detailed -t 1", "-S --max-tries=3 -t 1", "-S --max-tries=0 -T 1",
        "-S --random-seed=5 -t 1", "-S --random-seed=time -t 1", "-S --random-seed=rand -t 1", "-S --verbose-errors -t 1",
        "-S --debug -t 1", "-S -d DATABASE -t 1", "-S --dbname=DATABASE -t 1", "-S -U postgres -t 1", "-S -p 5432 -t 1",
        "-S -t 1 --json=out.json", "-S -t 1 --hdr=out.hgrm", "-S -t 1 --study=out.study",
    ]
    with a_database(postgres, scale=1) as server:
        for line in lines:
            arguments = line.replace("DATABASE", server.name).split()
            if not any(word in ("-v", "--vacuum-all", "--no-vacuum") for word in arguments):
                arguments.insert(0, "-n")
            run = good(place, server, *arguments)
            expect(processed(run.stdout) > 0 and ledger(run.stdout), f"{line}\n{run.stdout}")
        run = good(place, server, "-n", "-f", script, "-D", "a=5", "-s", "7", "-t", "1")
        expect("scaling factor: 7\n" in run.stdout, run.stdout)


def test_several_scripts(place, postgres):
    first = place.file("first.sql", "SELECT 1;\n")
    with a_database(postgres, scale=1) as server:
        run = good(place, server, "-n", "-f", f"{first}@3", "-S", "-b", "tpcb-like@0", "-c", "4", "-j", "2", "-t", "250", "-r")
    expect("transaction type: multiple scripts\n" in run.stdout, run.stdout)
    counts = [int(count) for count in re.findall(r"^ - (\d+) transactions \([\d.]+% of total\)$", run.stdout, re.M)]
    expect(len(counts) == 3 and sum(counts) == 1000 and counts[2] == 0 and 650 < counts[0] < 850, f"{counts}\n{run.stdout}")
    expect(re.search(r"^SQL script 1: .*first.sql\n - weight: 3 \(targets 75.0% of total\)$", run.stdout, re.M), run.stdout)
    expect(re.search(r"^ +[\d.]+ +0  SELECT 1;$", run.stdout, re.M), run.stdout)


def test_script_from_standard_input(place, postgres):
    with a_database(postgres) as server:
        run = good(place, server, "-n", "-f", "-", "-t", "2", input="SELECT 1;\nSELECT 2;\n", stdin=None)
        expect("transaction type: -\n" in run.stdout and processed(run.stdout) == 2, run.stdout)
        run = bench(place, server, "-n", "-f", "-", "-f", "-", "-t", "2", input="SELECT 1;\n", stdin=None)
        expect(run.returncode == 1 and "standard input can be one script only" in run.stderr, run.stderr)


def test_connection_strings(place, postgres):
    with a_database(postgres, scale=1) as server:
        here, name = server.environment["PGHOST"], server.name
        for arguments in ([f"host={here} port=5432 user=postgres dbname={name}"],
                          [f"postgresql://postgres@/{name}?host={here}"],
                          ["-h", here, "-p", "5432", "-U", "postgres", name],
                          ["-h", "/nonexistent", "-d", f"host={here} user=postgres dbname={name}"]):
            run = good(place, None, "-n", "-S", "-t", "2", *arguments)
            expect(processed(run.stdout) == 2, run.stdout)
        run = good(place, server, "-n", "-S", "-t", "2", extra={"PGOPTIONS": "-c search_path=public"})
        script = place.file("name.sql", "SELECT 1 / (current_setting('application_name') = :'x')::int;\n".replace(":'x'", "'pgbench'"))
        good(place, server, "-n", "-f", script, "-t", "1")
        script = place.file("name.sql", "SELECT 1 / (current_setting('application_name') = 'mine')::int;\n")
        good(place, server, "-n", "-f", script, "-t", "1", extra={"PGAPPNAME": "mine"})


def test_open_loop_and_limit(place, postgres):
    slow = place.file("slow.sql", "SELECT pg_sleep(0.02);\n")
    with a_database(postgres, scale=1) as server:
        run = good(place, server, "-n", "-S", "-R", "300", "-T", "2", "-c", "4")
        due, completed, *_ = ledger(run.stdout)
        expect(450 <= due <= 750 and completed >= 0.9 * due, run.stdout)
        expect(re.search(r"^rate limit schedule lag: avg [\d.]+ \(max [\d.]+\) ms$", run.stdout, re.M), run.stdout)
        run = good(place, server, "-n", "-f", slow, "-R", "500", "-T", "1", "-c", "1")
        due, completed, _, _, unfinished, never = ledger(run.stdout)
        expect(due > 300 and completed < 100 and unfinished == never == due - completed, run.stdout)
        expect(f"backlog: {never} of {due} transactions due" in run.stdout, run.stdout)
        run = good(place, server, "-n", "-f", slow, "-R", "500", "-L", "50", "-T", "1", "-c", "1")
        due, completed, _, skipped, *_ = ledger(run.stdout)
        expect(skipped > due / 2 and f"skipped: {skipped} of {due} transactions due" in run.stdout, run.stdout)
        expect("say little about the server" in run.stdout, run.stdout)
        expect(f"number of transactions skipped: {skipped} (" in run.stdout, run.stdout)


def test_a_window_ends_in_time_and_transactions_end_after_it(place, postgres):
    script = place.file("s.sql", "SELECT pg_sleep(0.7);\n")
    with a_database(postgres) as server:
        begun = time.monotonic()
        run = good(place, server, "-n", "-f", script, "-T", "1", "-c", "2")
        expect(time.monotonic() - begun > 1.35, "the transactions under way were not awaited")
    expect(processed(run.stdout) == 4, run.stdout)
    expect("measured window: 1.000 s" in run.stdout and "; 2 completed inside it, 2 after its end" in run.stdout, run.stdout)
    expect("tps = 2.000000 (" in run.stdout, run.stdout)


def test_reconnecting(place, postgres):
    with a_database(postgres, scale=1) as server:
        run = good(place, server, "-n", "-S", "-C", "-c", "2", "-t", "10")
    expect("average connection time = " in run.stdout and "initial connection time" not in run.stdout, run.stdout)
    expect(re.search(r"^connect \(ms\) +20 ", run.stdout, re.M), run.stdout)


def test_seeds_repeat_a_run(place, postgres):
    script = place.file("s.sql", "\\set x random(1, 1000000000)\nINSERT INTO drawn VALUES (:client_id, :x, :random_seed);\n")
    with a_database(postgres) as server:
        server.sql("CREATE TABLE drawn(c int, x bigint, s numeric)")
        values = []
        for extra, arguments in (({}, ["--random-seed=42", "-j", "1"]), ({}, ["--random-seed=42", "-j", "3"]),
                                 ({"PGBENCH_RANDOM_SEED": "42"}, []), ({}, ["--random-seed=43"])):
            server.sql("TRUNCATE drawn")
            run = good(place, server, "-n", "-f", script, "-c", "3", "-t", "20", *arguments, extra=extra)
            expect(re.fullmatch(r"pgbench: setting random seed to 4[23]\n", run.stderr), run.stderr)
            values.append(server.sql("SELECT string_agg(c || ':' || x, ',' ORDER BY c, x) FROM drawn"))
        expect(values[0] == values[1] == values[2] != values[3], "the seed does not decide alone")
        expect(server.sql("SELECT DISTINCT s FROM drawn") == "43", "random_seed is not the seed")


# ---- what goes wrong ----

def test_exit_codes(place, postgres):
    bad = place.file("bad.sql", "SELECT 1 / 0;\n")
    with a_database(postgres, scale=1) as server:
        expect(bench(place, server, "-c", "x").returncode == 1, "usage")
        expect(bench(place, server, "nowhere").returncode == 1, "no such database")
        expect(bench(place, None, "-h", "/nonexistent", "-S").returncode == 1, "no server")
        expect(bench(place, server, "-n", "-S", "-c", "400", "-t", "1").returncode == 1, "more clients than may connect")
        run = bench(place, server, "-n", "-f", bad, "-c", "2", "-t", "3")
        expect(run.returncode == 2 and "actually processed: 0/6\n" in run.stdout, run.stdout)
        expect("pgbench: error: Run was aborted; the above results are incomplete.\n" in run.stderr, run.stderr)
        run = bench(place, server, "-n", "-f", bad, "-c", "2", "-t", "3", "--continue-on-error", "--failures-detailed")
        expect(run.returncode == 2 and "number of other failures: 6 (100.000%)\n" in run.stdout, run.stdout)
        expect("no transaction was completed: all that were due failed (6)\n" in run.stderr, run.stderr)
        run = bench(place, server, "-n", "-f", bad, "-f", bad, "-S", "-c", "4", "-j", "2", "-T", "20", "--exit-on-abort")
        expect(run.returncode == 2 and "transaction type" not in run.stdout, run.stdout)
        expect(re.search(r"^pgbench: error: Run was aborted due to an error in thread [01]$", run.stderr, re.M), run.stderr)
        expect(bench(place, server, "-n", "-S", "-t", "1", "--json=/nonexistent/x").returncode == 1, "no place for a file")
        with open("/dev/full", "w") as full:
            run = subprocess.run([PLIMSOLL, "pgbench", "-n", "-S", "-t", "1"], env=environment(place, server), stdout=full,
                                 stderr=subprocess.PIPE, text=True, timeout=60)
        expect(run.returncode == 1 and "could not write to standard output" in run.stderr, run.stderr)


def test_clients_that_end_early(place, postgres):
    """Three of four backends are ended: the fourth goes on, and the report says what it covers."""
    script = place.file("s.sql", "SELECT CASE WHEN :client_id > 0 AND random() < 0.05 THEN pg_terminate_backend("
                                 "pg_backend_pid()) END, pg_sleep(0.002);\n")
    with a_database(postgres) as server:
        run = bench(place, server, "-n", "-f", script, "-c", "4", "-T", "2")
    expect(run.returncode == 2, f"exit {run.returncode}\n{run.stdout}{run.stderr}")
    expect(re.search(r"^3 of 4 clients ended early, the first [\d.]+ s after the start: the figures cover [\d.]+ % of the "
                     r"clients' time$", run.stdout, re.M), run.stdout)
    expect(run.stderr.count("FATAL:  terminating connection due to administrator command") == 3, run.stderr)
    expect(ledger(run.stdout)[2] == 3, run.stdout)


def test_conflicts_are_tried_again(place, postgres):
    script = place.file("s.sql", "BEGIN;\nSELECT v AS v FROM t \\gset\nUPDATE t SET v = v + 1;\nEND;\n")
    with a_database(postgres) as server:
        server.sql("CREATE TABLE t(v int)")
        server.sql("INSERT INTO t VALUES (0)")
        serializable = {"PGOPTIONS": "-c default_transaction_isolation=repeatable\\ read"}
        run = good(place, server, "-n", "-f", script, "-c", "4", "-j", "2", "-t", "25", "--max-tries=1000",
                   "--failures-detailed", "-r", "--verbose-errors", extra=serializable)
        expect("actually processed: 100/100\n" in run.stdout, run.stdout)
        expect(server.sql("SELECT v FROM t") == "100", "each was to be carried out once")
        retries = int(re.search(r"^total number of retries: (\d+)$", run.stdout, re.M).group(1))
        expect(retries > 0 and run.stderr.count("repeats the transaction after the error (try ") == retries, run.stderr)
        rows = re.findall(r"^ +[\d.]+ +(\d+) +(\d+)  \S", run.stdout, re.M)
        expect(len(rows) == 4 and sum(int(tries) for _, tries in rows) == retries, run.stdout)
        run = bench(place, server, "-n", "-f", script, "-c", "4", "-j", "2", "-t", "25", extra=serializable)
        failed = ledger(run.stdout)[2]
        expect(run.returncode == 0 and failed > 0, run.stdout)


def start(place, server, *arguments):
    return subprocess.Popen([PLIMSOLL, "pgbench", *arguments], cwd=place.path, env=environment(place, server),
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def await_backends(server, count, seconds=30):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if int(server.sql("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pgbench'")) >= count:
            return
        time.sleep(0.05)
    raise AssertionError("the clients did not connect")


def test_interrupt_gives_a_report(place, postgres):
    for number in (signal.SIGINT, signal.SIGTERM):
        with a_database(postgres, scale=1) as server:
            process = start(place, server, "-n", "-S", "-c", "2", "-T", "600")
            await_backends(server, 2)
            time.sleep(0.5)
            process.send_signal(number)
            out, said = process.communicate(timeout=30)
        expect(process.returncode == 130, f"exit {process.returncode}\n{out}{said}")
        expect(processed(out) > 0 and ledger(out), out)
        expect(re.search(r"^the run was interrupted after [\d.]+ s: the figures cover that time$", out, re.M), out)


def test_a_second_interrupt_ends_at_once(place, postgres):
    script = place.file("s.sql", "SELECT pg_sleep(600);\n")
    with a_database(postgres) as server:
        process = start(place, server, "-n", "-f", script, "-T", "1")
        await_backends(server, 1)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        time.sleep(0.7)
        expect(process.poll() is None, "what is under way is awaited")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
        expect(process.returncode == 130, f"exit {process.returncode}")


def test_an_interrupt_does_not_wait_for_ever(place, postgres):
    script = place.file("s.sql", "SELECT pg_sleep(600 * (:client_id > 0)::int);\n")
    with a_database(postgres) as server:
        process = start(place, server, "-n", "-f", script, "-c", "3", "-T", "600")
        await_backends(server, 3)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        out, said = process.communicate(timeout=40)
    expect(process.returncode == 130, f"exit {process.returncode}\n{out}{said}")
    expect(ledger(out)[4] == 2 and processed(out) > 0, out)


def test_an_interrupt_after_the_window(place, postgres):
    script = place.file("s.sql", "SELECT pg_sleep(600 * (:client_id > 0)::int);\n")
    with a_database(postgres) as server:
        process = start(place, server, "-n", "-f", script, "-c", "2", "-T", "1", "--study=late.study")
        await_backends(server, 2)
        time.sleep(3)
        process.send_signal(signal.SIGINT)
        out, said = process.communicate(timeout=40)
    expect(process.returncode == 130, f"exit {process.returncode}\n{out}{said}")
    expect("measured window: 1.000 s" in out and "\nthe run was interrupted after the measured window, which is complete: "
           "transactions under way that were cut off: 1\n" in out, out)
    page = subprocess.run([PLIMSOLL, "page", "late.study", "--md"], cwd=place.path, capture_output=True, text=True, timeout=60)
    expect(page.returncode == 0 and "the user stopped the run" not in page.stdout, page.stdout[:2000])


class SilentServer:
    """Takes one connection, answers what it is told to, and then waits."""

    def __init__(self, place, answer):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(os.path.join(place.path, ".s.PGSQL.5432"))
        self.socket.listen()
        self.answer = answer
        self.asked = threading.Event()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        connection, _ = self.socket.accept()
        connection.recv(8192)
        connection.sendall(self.answer)
        self.asked.set()
        connection.recv(8192)
        connection.close()


def test_an_interrupt_while_connecting(place, postgres):
    for arguments, word in ((["-i"], ""), (["-n", "-S"], "pgbench: error: interrupted before the run began\n")):
        server = SilentServer(place, b"")
        process = start(place, None, "-h", place.path, "-U", "postgres", *arguments)
        expect(server.asked.wait(30), "it did not connect")
        process.send_signal(signal.SIGINT)
        out, said = process.communicate(timeout=30)
        os.unlink(os.path.join(place.path, ".s.PGSQL.5432"))
        expect((process.returncode, out, said) == (130, "", word), f"{arguments}: exit {process.returncode}\n{out}{said}")


def test_an_interrupt_at_the_password(place, postgres):
    """The terminal echoes again."""
    for arguments in (["-i"], ["-n", "-S"]):
        SilentServer(place, b"R\0\0\0\x08\0\0\0\x03")  # asks for a password
        master, slave = pty.openpty()
        process = subprocess.Popen([PLIMSOLL, "pgbench", "-h", place.path, "-U", "postgres", *arguments], cwd=place.path,
                                   env=environment(place, None), stdin=slave, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   start_new_session=True, text=True,
                                   preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        shown = b""
        while b"Password: " not in shown:
            expect(select.select([master], [], [], 30)[0], f"no prompt: {shown}")
            shown += os.read(master, 1000)
        expect(not termios.tcgetattr(slave)[3] & termios.ECHO, "the password would be seen")
        os.write(master, b"\x03")
        out, said = process.communicate(timeout=30)
        expect(process.returncode == 130, f"{arguments}: exit {process.returncode}\n{out}{said}")
        expect(termios.tcgetattr(slave)[3] & termios.ECHO, f"{arguments}: the terminal does not echo")
        os.close(master)
        os.close(slave)
        os.unlink(os.path.join(place.path, ".s.PGSQL.5432"))


# ---- files ----

def test_logs(place, postgres):
    with a_database(postgres, scale=1) as server:
        run = good(place, server, "-n", "-S", "-c", "4", "-j", "2", "-t", "100", "-l", "--log-prefix=raw")
        names = sorted(os.path.basename(name) for name in glob.glob(os.path.join(place.path, "raw.*")))
        expect(len(names) == 2 and re.fullmatch(r"raw\.\d+", names[0]) and names[1] == names[0] + ".1", names)
        lines = [line for name in names for line in open(os.path.join(place.path, name))]
        expect(len(lines) == 400 == processed(run.stdout), f"{len(lines)} lines")
        expect(all(re.fullmatch(r"[0-3] \d+ \d+ 0 \d+ \d+\n", line) for line in lines), lines[:3])


def test_result_files(place, postgres):
    with a_database(postgres, scale=1) as server:
        run = good(place, server, "-n", "-S", "-c", "2", "-t", "50", "--json=r.json", "--hdr=r.hgrm", "--study=r.study")
        expect(processed(run.stdout) == 100, run.stdout)
        with open(os.path.join(place.path, "r.json")) as file:
            json.load(file)
        with open(os.path.join(place.path, "r.hgrm")) as file:
            expect("Percentile" in file.read(), "no listing of percentiles")
        page = subprocess.run([PLIMSOLL, "page", "r.study", "--md"], cwd=place.path, capture_output=True, text=True, timeout=60)
        expect(page.returncode == 0 and "select only" in page.stdout, page.stdout[:500] + page.stderr)
        again = bench(place, server, "-n", "-S", "-t", "1", "--study=r.study")
        expect(again.returncode == 1 and again.stderr != "", "a study that is there was not refused")


def test_progress(place, postgres):
    with a_database(postgres, scale=1) as server:
        run = good(place, server, "-n", "-S", "-c", "2", "-T", "2", "-P", "1")
    lines = run.stderr.rstrip("\n").split("\n")
    form = r"progress: [\d.]+ s, [\d.]+ tps, lat [\d.]+ ms stddev [\d.]+, 0 failed"
    expect(len(lines) >= 2 and all(re.fullmatch(form, line) for line in lines), run.stderr)


# ---- names ----

def test_called_pgbench(place, postgres):
    link = os.path.join(place.path, "pgbench")
    os.symlink(PLIMSOLL, link)
    with a_database(postgres) as server:
        good(place, server, "-i", "-q", command=(link,))
        run = good(place, server, "-S", "-t", "5", command=(link,))
        expect(processed(run.stdout) == 5, run.stdout)
    expect(good(place, None, "--version", command=(link,)).stdout.startswith("pgbench (Plimsoll) "), "version")
    run = bench(place, None, "--nonsense", command=(link,))
    expect(run.returncode == 1 and run.stderr.startswith("pgbench: unrecognized option '--nonsense'\n"), run.stderr)
    expect("pgbench" in place.run("--help").stdout, "the help does not name the command")


if __name__ == "__main__":
    main(globals())
