#!/usr/bin/env python3
"""`plimsoll pgbench -i` beside the real pgbench: tables, data, messages, exit codes."""
import os
import pty
import re
import shutil
import signal
import subprocess
import time

from lib import PLIMSOLL, Skip, expect, main

TABLES = ("pgbench_branches", "pgbench_tellers", "pgbench_accounts", "pgbench_history")


def original():
    found = shutil.which("pgbench")
    if found is None:
        raise Skip("pgbench is not installed, so there is nothing to compare with")
    return [found]


def init(place, postgres, program, *arguments, database):
    return subprocess.run([*program, "-i", *arguments, database], cwd=place.path, env=dict(place.env, **postgres.env),
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240)


def ours(place, postgres, *arguments, database="ours"):
    return init(place, postgres, [PLIMSOLL, "pgbench"], *arguments, database=database)


def theirs(place, postgres, *arguments, database="theirs"):
    return init(place, postgres, original(), *arguments, database=database)


def fresh(postgres):
    for name in ("ours", "theirs"):
        postgres.database(name)


def described(postgres, database):
    """What psql shows of all tables, their partitions and keys, and all rows as one checksum a table."""
    shown = postgres.sql("\\d+ public.*", database)
    for table in TABLES:
        shown += "\n" + postgres.sql(f"SELECT count(*), md5(string_agg(md5(t::text), '' ORDER BY tableoid::regclass::text, ctid))"
                                     f" FROM {table} t", database)
    return shown


def dumped(postgres, database):
    """pg_dump's schema where it is as new as the server; else nothing, as it refuses."""
    dump = shutil.which("pg_dump")
    answer = subprocess.run([dump, "--schema-only", database], env=dict(os.environ, **postgres.env), capture_output=True,
                            text=True, timeout=60) if dump else None
    if answer is None or "server version mismatch" in answer.stderr:
        return None
    expect(answer.returncode == 0, answer.stderr)
    # newer ones put a random word into the script
    return "\n".join(line for line in answer.stdout.splitlines() if not line.startswith(("\\restrict", "\\unrestrict")))


def plain(text):
    """Without times, without the name of the table that pgbench says from version 17 on, without blanks that SQL ignores."""
    text = text.replace("vacuum (freeze, analyze)", "vacuum analyze")  # on purpose: both ways to make data leave one state
    text = re.sub(r"\d+\.\d\d s", "# s", text)
    text = text.replace("%) of pgbench_accounts done", "%) done")
    text = re.sub(r"Query was: .*", lambda found: re.sub(r"\s*,\s*", ",", re.sub(r"\s+", " ", found.group(0))), text, flags=re.S)
    return text


COMBINATIONS = (
    "-q",
    "-s 3 -F 60",
    "-s 2 -I dtGvp",
    "-s 1 --foreign-keys -n",
    "-s 1 --unlogged-tables --foreign-keys",
    "-s 2 --partitions=3 --foreign-keys",
    "-s 1 --partitions=5 --partition-method=hash -F 90",
    "-s 3 -I dtGvpf --partitions=7 --partition-method=range",
    "-s 20000 -I dtp --partitions=4",
    "-s 1 -I dtpgf",
    "-s 1 --tablespace=space1 --index-tablespace=space2",
    "-s 1 --tablespace=space1 --index-tablespace=space2 --partitions=2 --partition-method=hash",
)


def tablespaces(postgres):
    for name in ("space1", "space2"):
        folder = os.path.join(postgres.path, name)
        if os.path.exists(folder):
            continue
        os.mkdir(folder, 0o700)
        owner = os.stat(os.path.join(postgres.path, "data"))
        os.chown(folder, owner.st_uid, owner.st_gid)
        postgres.sql(f"CREATE TABLESPACE {name} LOCATION '{folder}'")


def test_makes_and_says_what_pgbench_does(place, postgres):
    original()
    tablespaces(postgres)
    for line in COMBINATIONS:
        fresh(postgres)
        mine, other = ours(place, postgres, *line.split()), theirs(place, postgres, *line.split())
        expect(mine.returncode == 0 and other.returncode == 0, f"{line}: {mine.stderr}{other.stderr}")
        expect(plain(mine.stderr) == plain(other.stderr), f"{line}:\n{mine.stderr}---\n{other.stderr}")
        expect(mine.stdout == other.stdout == "", f"{line}: {mine.stdout}")
        expect(described(postgres, "ours") == described(postgres, "theirs"), f"{line}: {described(postgres, 'ours')}")
        expect(dumped(postgres, "ours") == dumped(postgres, "theirs"), f"{line}: {dumped(postgres, 'ours')}")


def test_again_over_what_is_there(place, postgres):
    fresh(postgres)
    for line in ("-s 2 --foreign-keys", "-s 1 --partitions=2", "-I dtgvp"):
        mine = ours(place, postgres, *line.split())
        expect(mine.returncode == 0, mine.stderr)
    expect("NOTICE" not in mine.stderr, mine.stderr)
    expect(postgres.sql("SELECT count(*) FROM pgbench_accounts", "ours") == "100000", "accounts")
    expect(postgres.sql("SELECT relkind FROM pg_class WHERE relname = 'pgbench_accounts'", "ours") == "r", "kind")


def test_errors_are_pgbench_s(place, postgres):
    original()
    fresh(postgres)
    for line in ("-I g", "-I G", "-I v", "-I p", "-I f", "-I tt", "-I dtpp", "-I dtff", "-I dtp --index-tablespace=nowhere",
                 "-I dt --tablespace=nowhere", "-I dtx", "-I ,", "-F 9", "-F 101", "--partition-method=range",
                 "--partitions=2 --partition-method=list", "-s 0", "-t 1"):
        mine, other = ours(place, postgres, *line.split()), theirs(place, postgres, *line.split())
        expect(mine.returncode == other.returncode == 1, f"{line}: {mine.returncode}, {other.returncode}\n{mine.stderr}")
        mine_said, other_said = (plain(text.replace("plimsoll pgbench", "pgbench").replace('"theirs"', '"ours"'))
                                 for text in (mine.stderr, other.stderr))
        expect(mine_said == other_said, f"{line}:\n{mine_said}---\n{other_said}")


def test_cannot_connect(place, postgres):
    mine, other = (run(place, postgres, database="nowhere") for run in (ours, theirs))
    expect(mine.returncode == other.returncode == 1, f"{mine.returncode}, {other.returncode}")
    expect(mine.stderr == other.stderr, f"{mine.stderr}---\n{other.stderr}")


def test_a_run_finds_what_was_made(place, postgres):
    fresh(postgres)
    mine = ours(place, postgres, "-q", "-s", "2", "--partitions=3", "--partition-method=hash")
    expect(mine.returncode == 0, mine.stderr)
    run = subprocess.run([PLIMSOLL, "pgbench", "-S", "-t", "5", "ours"], cwd=place.path, env=dict(place.env, **postgres.env),
                         capture_output=True, text=True, timeout=60)
    expect(run.returncode == 0, run.stderr)
    for line in ("scaling factor: 2", "partition method: hash", "partitions: 3", "actually processed: 5/5"):
        expect(line in run.stdout, run.stdout)


def test_without_tables_a_run_says_so(place, postgres):
    fresh(postgres)
    command = ["-S", "-t", "5"]
    said = []
    for program, name in (([PLIMSOLL, "pgbench"], "ours"), (original(), "theirs")):
        run = subprocess.run([*program, *command, name], cwd=place.path, env=dict(place.env, **postgres.env), capture_output=True,
                             text=True, timeout=60)
        expect(run.returncode == 1, f"{run.returncode}: {run.stderr}")
        said.append(run.stderr.replace("theirs", "ours"))
    expect(said[0] == said[1], "---\n".join(said))


def test_called_by_the_name_pgbench(place, postgres):
    fresh(postgres)
    link = os.path.join(place.path, "pgbench")
    os.symlink(PLIMSOLL, link)
    mine = init(place, postgres, [link], "-I", "dt", database="ours")
    expect(mine.returncode == 0 and mine.stderr.endswith("s).\n"), mine.stderr)
    expect(postgres.sql("SELECT count(*) FROM pgbench_accounts", "ours") == "0", "accounts")


def test_a_terminal_has_one_line(place, postgres):
    fresh(postgres)
    reader, writer = pty.openpty()
    process = subprocess.Popen([PLIMSOLL, "pgbench", "-i", "-s", "3", "ours"], cwd=place.path,
                               env=dict(place.env, **postgres.env), stdin=subprocess.DEVNULL, stdout=writer, stderr=writer)
    os.close(writer)
    said = b""
    try:
        while True:
            part = os.read(reader, 4096)
            if not part:
                break
            said += part
    except OSError:  # how Linux says that nobody has the terminal open any more
        pass
    os.close(reader)
    expect(process.wait(60) == 0, said)
    text = said.decode()
    line = r"\d+ of 300000 tuples \(\d+%\) of pgbench_accounts done \(elapsed [\d.]+ s, remaining [\d.]+ s\) *\r"
    expect(re.search(rf"generating data \(client-side\)\.\.\.\r\n(?:{line})+ +\rvacuuming\.\.\.\r\n", text), repr(text))
    expect("300000 of 300000 tuples (100%)" in text, repr(text))


def test_interrupted(place, postgres):
    fresh(postgres)
    process = subprocess.Popen([PLIMSOLL, "pgbench", "-i", "-s", "3000", "ours"], cwd=place.path,
                               env=dict(place.env, **postgres.env), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
    while "tuples" not in process.stderr.readline():
        expect(process.poll() is None, "it ended by itself")
    process.send_signal(signal.SIGINT)
    rest = process.stderr.read()
    expect(process.wait(60) == 130, f"{process.returncode}: {rest}")
    expect("pgbench: error: interrupted while" in rest and "done in" not in rest, rest)
    expect(postgres.sql("SELECT count(*) FROM pgbench_accounts", "ours") == "0", "accounts")
    deadline = time.monotonic() + 30
    while postgres.sql("SELECT count(*) FROM pg_stat_activity WHERE datname = 'ours'") != "0" and time.monotonic() < deadline:
        time.sleep(0.1)
    expect(postgres.sql("SELECT count(*) FROM pg_stat_activity WHERE datname = 'ours'") == "0", "a connection is left")


if __name__ == "__main__":
    main(globals())
