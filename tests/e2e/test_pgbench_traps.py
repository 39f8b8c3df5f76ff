#!/usr/bin/env python3
"""The known traps of pgbench, one test each (T1 .. T24): what it gets wrong must not be wrong here.

Each test fails with pgbench's own behaviour. To see that, run the file against the original:
    PGBENCH_UNDER_TEST=/usr/lib/postgresql/15/bin/pgbench python3 tests/e2e/test_pgbench_traps.py
Those whose point is cost and not counts (T11 to T13) are pairs in `make bench`; here only what they make impossible is tried.
"""
import glob
import os
import re
import signal
import subprocess
import time

from lib import PLIMSOLL, Skip, a_database, expect, main

ORIGINAL = os.environ.get("PGBENCH_UNDER_TEST")
COMMAND = [ORIGINAL] if ORIGINAL else [PLIMSOLL, "pgbench"]


def bench(place, server, *arguments, timeout=60, **options):
    environment = dict(place.env, **server.environment)
    return subprocess.run([*COMMAND, *arguments], cwd=place.path, env=environment, text=True, errors="replace",
                          capture_output=True, timeout=timeout, **options)


def number(text, pattern):
    found = re.search(pattern, text)
    expect(found is not None, f"no {pattern!r} in:\n{text}")
    return float(found.group(1))


def processed(report):
    return int(number(report, r"transactions actually processed: (\d+)"))


def slow_door(postgres, scale=None):
    """A server that takes a second to let anybody in."""
    return a_database(postgres, scale, {"pre_auth_delay": "1"})


def test_t1_the_clock_starts_after_the_connections(place, postgres):
    with slow_door(postgres, scale=1) as server:
        run = bench(place, server, "-n", "-S", "-c", "4", "-T", "1")
    expect(processed(run.stdout) > 0, run.stdout + run.stderr)
    expect(run.returncode == 0, f"exit {run.returncode}")
    expect(number(run.stdout, r"tps = ([\d.]+) \(without initial connection time\)") > 0, run.stdout)
    expect(number(run.stdout, r"initial connection time = ([\d.]+) ms") >= 1000, run.stdout)


def test_t1_nothing_processed_is_not_success(place, postgres):
    script = place.file("s.sql", "DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '40001'; END $$;\n")
    with a_database(postgres) as server:
        run = bench(place, server, "-n", "-f", script, "-c", "2", "-t", "5")
    expect(processed(run.stdout) == 0, run.stdout)
    expect(run.returncode == 2, f"exit {run.returncode}")


def log_files(place, prefix):
    files = glob.glob(os.path.join(place.path, prefix + ".*"))
    expect(files, "no log")
    return files


def log_lines(place, prefix):
    return [line.split() for name in log_files(place, prefix) for line in open(name)]


def test_t2_the_aggregate_log_is_complete(place, postgres):
    with a_database(postgres, scale=1) as server:
        run = bench(place, server, "-n", "-S", "-c", "4", "-j", "2", "-T", "3", "-l", "--aggregate-interval=1",
                    "--log-prefix=agg")
    total = sum(int(words[1]) for words in log_lines(place, "agg"))
    expect(total == processed(run.stdout), f"{total} in the logs\n{run.stdout}")


def test_t2_the_raw_log_is_complete(place, postgres):
    with a_database(postgres, scale=1) as server:
        run = bench(place, server, "-n", "-S", "-c", "4", "-j", "2", "-T", "2", "-l", "--log-prefix=raw")
    lines = log_lines(place, "raw")
    expect(len(lines) == processed(run.stdout), f"{len(lines)} lines\n{run.stdout}")
    expect(len(log_files(place, "raw")) == 2, "one file a thread")


def test_t3_a_failing_meta_command_beside_an_aggregate_log(place, postgres):
    script = place.file("s.sql", "\\set x 1/0\nSELECT 1;\n")
    with a_database(postgres) as server:
        run = bench(place, server, "-n", "-f", script, "-c", "2", "-t", "5", "-l", "--aggregate-interval=1")
    expect(run.returncode == 2, f"exit {run.returncode}: {run.stderr}")
    expect("transactions actually processed: 0/10" in run.stdout, run.stdout)


def test_t4_scripts_and_commands_add_up(place, postgres):
    one = place.file("one.sql", "\\set a 1\nSELECT 1;\n")
    two = place.file("two.sql", "SELECT 2;\n")
    with a_database(postgres) as server:
        run = bench(place, server, "-n", "-f", one, "-f", two, "-c", "8", "-j", "2", "-T", "3")
    parts = [int(n) for n in re.findall(r"^ - (\d+) transactions \(", run.stdout, re.M)]
    expect(len(parts) == 2 and sum(parts) == processed(run.stdout), run.stdout)


def test_t5_one_meaning_of_latency(place, postgres):
    """With -C connecting is part of every transaction's response, whichever other options are given."""
    script = place.file("s.sql", "SELECT 1;\n")
    with slow_door(postgres) as server:
        plain = bench(place, server, "-n", "-f", script, "-C", "-c", "1", "-t", "2")
        timed = bench(place, server, "-n", "-f", script, "-C", "-c", "1", "-t", "2", "-P", "1")
    for run in (plain, timed):
        expect(number(run.stdout, r"latency average = ([\d.]+) ms") >= 1000, run.stdout)


def test_t6_the_backlog_that_never_started_is_told(place, postgres):
    script = place.file("s.sql", "SELECT pg_sleep(0.001);\n")
    with a_database(postgres) as server:
        run = bench(place, server, "-n", "-f", script, "-c", "1", "-T", "2", "-R", "20000")
    due = number(run.stdout, r"due:? +(\d+)")
    never = number(run.stdout, r"(\d+) of them never started")
    expect(abs(due - 40000) < 1500, run.stdout)
    expect(due == processed(run.stdout) + never, run.stdout)
    expect(never > 30000, run.stdout)


def test_t7_what_a_latency_limit_hides_is_told(place, postgres):
    script = place.file("s.sql", "SELECT pg_sleep(0.001);\n")
    with a_database(postgres) as server:
        run = bench(place, server, "-n", "-f", script, "-c", "1", "-T", "2", "-R", "20000", "-L", "10")
    skipped = number(run.stdout, r"transactions skipped: (\d+)")
    expect(skipped > 30000, run.stdout)
    expect(re.search(r"^skipped: .*were never sent.*latencies of the others", run.stdout, re.M),
           f"what the skipped ones mean for the latencies is not told:\n{run.stdout}")


def test_t8_a_long_sleep_sleeps(place, postgres):
    script = place.file("s.sql", "\\sleep 2148 s\nSELECT 1;\n")
    with a_database(postgres) as server:
        process = subprocess.Popen([*COMMAND, "-n", "-f", script, "-t", "1"], cwd=place.path, text=True,
                                   env=dict(place.env, **server.environment), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        time.sleep(2)
        still = process.poll() is None
        process.send_signal(signal.SIGINT)
        output = process.communicate(timeout=20)[0]
    expect(still, f"it did not sleep: {output}")
    expect(process.returncode == 130, f"exit {process.returncode}")


def test_t8_fractions_of_a_unit_sleep(place, postgres):
    script = place.file("s.sql", "\\set v 1.9\n\\sleep :v ms\n\\sleep 0.5 s\nSELECT 1;\n")
    with a_database(postgres) as server:
        run = bench(place, server, "-n", "-f", script, "-t", "2")
    expect(run.returncode == 0, run.stderr)
    expect(number(run.stdout, r"latency average = ([\d.]+) ms") >= 501.9, run.stdout)


def test_t9_totals_have_64_bits(place, postgres):
    script = place.file("s.sql", "SELECT 1/0;\n")
    with a_database(postgres) as server:
        run = bench(place, server, "-n", "-f", script, "-c", "2", "-t", "2147483647")
    expect("transactions actually processed: 0/4294967294" in run.stdout, run.stdout)


def test_t10_sloppy_numbers_are_refused(place, postgres):
    with a_database(postgres, scale=1) as server:
        for wrong in (["-R", "50abc"], ["-L", "5ms"], ["--max-tries=3x", "-T", "1"], ["--sampling-rate=0.5x", "-l"]):
            run = bench(place, server, "-n", "-S", "-t", "1", *wrong)
            expect(run.returncode == 1, f"{wrong}: exit {run.returncode}")
            expect("pgbench: error: " in run.stderr, run.stderr)


def test_t11_zipf_of_any_exponent(place, postgres):
    for exponent in ("0", "0.5", "0.99", "1", "1.0001", "2000"):
        script = place.file("s.sql", f"\\set k random_zipfian(1, 1000000, {exponent})\nSELECT :k;\n")
        with a_database(postgres) as server:
            run = bench(place, server, "-n", "-f", script, "-t", "50")
        expect(run.returncode == 0 and processed(run.stdout) == 50, run.stderr)


def test_t12_a_thousand_clients_on_one_thread(place, postgres):
    script = place.file("s.sql", "SELECT 1;\n")
    with a_database(postgres, settings={"max_connections": "1100"}) as server:
        run = bench(place, server, "-n", "-f", script, "-M", "prepared", "-c", "1000", "-j", "1", "-t", "5", timeout=120)
    expect(run.returncode == 0, run.stderr)
    expect("transactions actually processed: 5000/5000" in run.stdout, run.stdout)
    expect(re.search(r"client CPU:? .*us", run.stdout), f"the client's own cost is not told:\n{run.stdout}")


def test_t14_lateness_stands_apart_from_the_server(place, postgres):
    with a_database(postgres, scale=1) as server:
        run = bench(place, server, "-n", "-S", "-c", "4", "-T", "2", "-R", "500")
    for name in ("response", "service", "lateness"):
        expect(re.search(rf"^ *{name}\b.*\d", run.stdout, re.M), f"no line {name}:\n{run.stdout}")


def test_t15_t16_progress_adds_up_and_never_goes_wrong(place, postgres):
    with a_database(postgres, scale=1) as server:
        run = bench(place, server, "-n", "-S", "-c", "8", "-j", "2", "-T", "4", "-P", "1")
    lines = re.findall(r"progress: ([\d.]+) s, ([\d.]+) tps, lat ([\d.]+) ms stddev ([\d.]+), (\d+) failed", run.stderr)
    expect(len(lines) == 4, run.stderr)
    expect("nan" not in run.stderr.lower(), run.stderr)
    counted = round(sum(float(line[1]) for line in lines))
    inside = round(number(run.stdout, r"tps = ([\d.]+)") * 4)
    # the last interval is longer by what was under way at its end
    expect(inside * 0.995 <= counted <= processed(run.stdout) + 2, f"{counted} in the progress\n{run.stderr}{run.stdout}")


def test_t17_the_drain_is_not_in_the_window(place, postgres):
    script = place.file("s.sql", "SELECT pg_sleep(0.9);\n")
    with a_database(postgres) as server:
        run = bench(place, server, "-n", "-f", script, "-c", "2", "-T", "2")
    expect(processed(run.stdout) == 6, run.stdout)
    expect(abs(number(run.stdout, r"tps = ([\d.]+)") - 2.0) < 0.001, run.stdout)
    expect(re.search(r"4 completed inside it, 2 after its end", run.stdout), run.stdout)


def test_t18_t19_what_the_defaults_mean_is_told(place, postgres):
    with a_database(postgres, scale=1) as server:
        run = bench(place, server, "-n", "-c", "4")
    expect("query mode: simple" in run.stdout, run.stdout)
    expect(re.search(r"4 clients.*1 branch|branches", run.stdout), f"more clients than branches measure locks:\n{run.stdout}")


def drawn(place, server, threads):
    """For each client the scripts that it ran and the values that it drew, in order."""
    server.sql("DROP TABLE IF EXISTS d; CREATE TABLE d(n serial, c int, s int, x bigint)")
    scripts = []
    for script in ("1", "2"):
        scripts += ["-f", place.file(f"s{script}.sql", "\\set x random(1, 1000000000000)\n"
                                     f"INSERT INTO d(c, s, x) VALUES (:client_id, {script}, :x);\n")]
    run = bench(place, server, "-n", *scripts, "-c", "4", "-j", threads, "-t", "20", "--random-seed=7")
    expect(run.returncode == 0, run.stderr)
    return server.sql("SELECT c, string_agg(s || ' ' || x, ', ' ORDER BY n) FROM d GROUP BY c ORDER BY c")


def test_t20_a_seed_gives_the_same_run_for_any_number_of_threads(place, postgres):
    with a_database(postgres) as server:
        values = [drawn(place, server, threads) for threads in ("1", "2", "4")]
    expect(values[0] == values[1] == values[2], "what a client does depends on -j")


def test_t21_retries_behind_a_commit_are_told(place, postgres):
    """A script that commits and then fails is repeated as a whole, as the manual says: what was done twice is counted."""
    script = place.file("s.sql", "INSERT INTO done VALUES (1);\n"
                                 "BEGIN ISOLATION LEVEL SERIALIZABLE;\nSELECT sum(v) FROM one;\n"
                                 "UPDATE one SET v = v + 1;\nEND;\n")
    with a_database(postgres) as server:
        server.sql("CREATE TABLE done(x int); CREATE TABLE one(v int); INSERT INTO one VALUES (0)")
        run = bench(place, server, "-n", "-f", script, "-c", "4", "-t", "20", "--max-tries=100")
        done = int(server.sql("SELECT count(*) FROM done"))
    retries = int(number(run.stdout, r"total number of retries: (\d+)"))
    expect(retries > 0 and done == 80 + retries, f"{done} rows\n{run.stdout}")
    expect(re.search(rf"{retries} .*commit", run.stdout), f"that {retries} tries repeated committed work is not told:\n{run.stdout}")


def test_t22_a_run_that_lost_clients_says_what_it_covers(place, postgres):
    script = place.file("s.sql", "SELECT pg_backend_pid();\nSELECT pg_sleep(0.01);\n")
    with a_database(postgres) as server:
        process = subprocess.Popen([*COMMAND, "-n", "-f", script, "-c", "4", "-T", "3"], cwd=place.path, text=True,
                                   env=dict(place.env, **server.environment), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(1)
        server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE '%bench%' "
                   "AND pid <> pg_backend_pid() ORDER BY pid LIMIT 3")
        output, errors = process.communicate(timeout=30)
    expect(process.returncode == 2, f"exit {process.returncode}: {errors}")
    expect(re.search(r"3 of 4 clients", output), output)


def test_t23_results_for_programs(place, postgres):
    with a_database(postgres, scale=1) as server:
        run = bench(place, server, "-n", "-S", "-c", "2", "-T", "1", "--json", "r.json", "--hdr", "r.hgrm", "--study", "r.study")
    expect(run.returncode == 0, run.stderr)
    for name in ("r.json", "r.hgrm", "r.study"):
        expect(os.path.getsize(os.path.join(place.path, name)) > 0, name)


def test_t24_both_ways_to_make_data_leave_the_same_state(place, postgres):
    summaries = []
    with a_database(postgres) as server:
        try:
            server.sql("CREATE EXTENSION pg_visibility")
        except AssertionError as error:
            raise Skip("the server has no pg_visibility") from error
        for steps in ("dtgvp", "dtGvp"):
            run = bench(place, server, "-i", "-q", "-I", steps)
            expect(run.returncode == 0, run.stderr)
            summaries.append(server.sql("SELECT c.relname, s.all_visible, s.all_frozen FROM pg_class c, "
                                        "LATERAL pg_visibility_map_summary(c.oid) s WHERE c.relname LIKE 'pgbench%' "
                                        "AND c.relkind = 'r' ORDER BY 1"))
    expect(summaries[0] == summaries[1], f"{summaries[0]}\n{summaries[1]}")


main(globals())
