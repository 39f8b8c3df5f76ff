#!/usr/bin/env python3
"""What wrong input gets: an error that says what is wrong and what would be right, exit 2, and nothing changed."""
import os

from lib import Skip, expect, main, rows

GOOD = """study: t
services:
  db: {kind: postgres, data: {kind: tpcb, scale: 1}}
stages:
  - {kind: footprint, settle: 0.1s, for: 1s}
"""


def refuse(place, plan, *expected, name="p.yaml", exit_code=2):
    path = place.file(name, plan)
    before = sorted(os.listdir(place.path))
    result = place.run("run", path)
    for text in expected:
        expect(text in result.stderr, f"{text!r} is not in {result.stderr!r}")
    expect(result.returncode == exit_code, f"exit {result.returncode}: {result.stderr}")
    expect(result.stderr.startswith("plimsoll: "), result.stderr)
    expect(sorted(os.listdir(place.path)) == before, "something was changed")
    expect(not place.left_behind(), "something was left")
    checked = place.run("check", path)
    return result.stderr, checked


def test_plans(place):
    table = [
        (GOOD.replace("for:", "fro:"), "p.yaml:5:", "\"fro\"", "\"for\""),
        (GOOD.replace("1s}", "1 sec}"), "p.yaml:5:", "1 sec"),
        (GOOD.replace("1s}", "1}"), "p.yaml:5:", "unit"),
        (GOOD.replace("scale: 1", "scale: 0"), "p.yaml:3:", "scale"),
        (GOOD + "  - {kind: clients, over: {clients: []}}\n", "p.yaml:6:"),
        (GOOD + "  - {kind: clients, over: {}}\n", "p.yaml:6:"),
        (GOOD + "  - {kind: footprint}\n", "p.yaml:6:", "footprint"),
        (GOOD + "  - {kind: clients, script: nothing}\n", "p.yaml:6:", "nothing"),
        (GOOD + "scripts: {mine: mine.sql}\n", "p.yaml:6:", "mine.sql"),
        (GOOD.replace("footprint", "footprnt"), "p.yaml:5:", "footprint"),
        (GOOD.replace("postgres", "postgre"), "p.yaml:3:", "postgres"),
        (GOOD + "subject: dbb\n", "p.yaml:6:", "dbb"),
        ("", "p.yaml"),
        ("study: \xff\xfe".encode("latin1"), "p.yaml", "UTF-8"),
        (GOOD.replace("  db", "\tdb"), "p.yaml:3:"),
    ]
    for plan, *expected in table:
        error, checked = refuse(place, plan, *expected)
        expect(checked.returncode == 2, "check does not refuse what run refuses: " + error)
        expect(checked.stderr == error, f"check says {checked.stderr!r}, run says {error!r}")


def test_plan_files(place):
    result = place.run("run", place.path)
    expect(result.returncode == 2 and "directory" in result.stderr, result.stderr)
    result = place.run("run", "nothing.yaml")
    expect(result.returncode == 2 and "nothing.yaml" in result.stderr, result.stderr)
    big = place.file("big.yaml", b"#" * 100_000_000)
    result = place.run("run", big)
    expect(result.returncode == 2 and "big.yaml" in result.stderr and "100000000" in result.stderr, result.stderr)


def test_script_errors(place):
    place.file("mine.sql", "\\set x 1 +\nSELECT :x;\n")
    plan = GOOD + "  - {kind: clients, script: mine, clients: 1, for: 1s}\nscripts: {mine: mine.sql}\n"
    error, _ = refuse(place, plan, "mine.sql:1:")
    expect('syntax error in command "set"' in error, error)
    place.file("mine.sql", "SELECT :nothing;\n")
    refuse(place, plan, "mine.sql:1:8", "nothing")
    place.file("mine.sql", "-- nothing\n")
    refuse(place, plan, "mine.sql", "no SQL command")


def test_options(place):
    plan = place.file("p.yaml", GOOD)
    table = [
        ([], "usage"),
        (["rnu"], "run"),
        (["run"], "plan"),
        (["run", "--resum", plan], "--resume"),
        (["run", plan, "extra"], "extra"),
        (["run", plan, "-o"], "FILE.study"),
        (["run", plan, "-o", ""], "empty"),
        (["run", plan, "--only", "nothing"], "footprint"),
        (["run", plan, "--quick=yes"], "no value"),
        (["page"], "study"),
        (["page", "x", "--html", "--md"], "exclude"),
        (["check"], "plan"),
    ]
    for arguments, expected in table:
        result = place.run(*arguments)
        expect(result.returncode == 2, f"{arguments}: exit {result.returncode}")
        expect(expected in result.stderr, f"{arguments}: {result.stderr!r}")
    for arguments in (["--help"], ["run", "--help"], ["page", "-h"], ["check", "--help"], ["--version"]):
        result = place.run(*arguments)
        expect(result.returncode == 0 and result.stdout != "" and result.stderr == "", f"{arguments}: {result}")
    expect(os.listdir(place.path).sort() == ["p.yaml", "t"].sort(), "something was changed")


def test_what_would_fail_later(place):
    """What the server would refuse is said before it is started, by check as by run."""
    refuse(place, GOOD + "  - {kind: clients, script: select-only, clients: 200}\n", "p.yaml:6:", "max_connections: 203")
    refuse(place, GOOD.replace(", data: {kind: tpcb, scale: 1}", "") + "  - {kind: clients, script: select-only}\n", "p.yaml:6:",
           "data: {kind: tpcb")
    plan = place.file("p.yaml", GOOD)
    html = place.file("p.html", "mine")
    result = place.run("run", plan)
    expect(result.returncode == 2 and "p.html" in result.stderr, f"{result}")
    expect(open(html).read() == "mine", "a file of the user's was overwritten")
    expect(not os.path.exists(os.path.join(place.path, "p.study")), "a study was left")


def test_environment(place):
    plan = place.file("p.yaml", GOOD)
    place.env["TMPDIR"] = "relative"
    result = place.run("run", plan)
    expect(result.returncode == 2 and "absolute" in result.stderr, f"{result}")
    place.env["TMPDIR"] = place.path + "/nothing"
    result = place.run("run", plan)
    expect(result.returncode == 2 and "nothing" in result.stderr, f"{result}")
    place.env["TMPDIR"] = place.tmp
    place.env.update(PGSERVICE="nope", PGTARGETSESSIONATTRS="standby", PGREQUIREPEER="zz", PGHOST="203.0.113.1", PGUSER="x")
    result = place.run("run", plan, "--quick", timeout=60)
    expect(result.returncode == 0, f"{result}")


def test_output(place):
    plan = place.file("p.yaml", GOOD)
    with open("/dev/full", "w") as full:
        result = place.run("check", plan, stdout=full, stderr=-1, capture_output=False)
    expect(result.returncode == 3 and "standard output" in result.stderr, f"{result}")
    result = place.run("run", plan, "--quick")
    expect(result.returncode == 0, result.stderr)
    before = open(os.path.join(place.path, "p.study"), "rb").read()
    result = place.run("page", "p.study", "-o", "p.study")
    expect(result.returncode == 2 and open(os.path.join(place.path, "p.study"), "rb").read() == before, f"{result}")
    result = place.run("page", "p.study", "-o", "other.md")
    expect(result.returncode == 0 and open(os.path.join(place.path, "other.md")).read().startswith("# "), f"{result}")


def test_study_files(place):
    plan = place.file("p.yaml", GOOD)
    there = place.file("there.study", "precious")
    result = place.run("run", plan, "-o", there)
    expect(result.returncode == 2 and "there.study" in result.stderr, result.stderr)
    expect(open(there).read() == "precious", "an existing file was overwritten")
    result = place.run("run", plan, "-o", there, "--resume")
    expect(result.returncode in (2, 3) and "there.study" in result.stderr, result.stderr)
    expect(open(there).read() == "precious", "an existing file was overwritten")
    result = place.run("run", plan, "-o", "missing.study", "--resume")
    expect(result.returncode in (2, 3) and "missing.study" in result.stderr, result.stderr)
    result = place.run("run", plan, "-o", "no/such/folder/x.study")
    expect(result.returncode in (2, 3) and "x.study" in result.stderr, result.stderr)
    for wrong in (there, "missing.study", place.path):
        result = place.run("page", wrong)
        expect(result.returncode == 2 and result.stdout == "", f"{wrong}: {result}")
    expect(not place.left_behind(), "something was left")


def test_study_of_another_plan_or_version(place):
    plan = place.file("p.yaml", GOOD)
    result = place.run("run", plan, "--quick")
    expect(result.returncode == 0, result.stderr)
    other = place.file("q.yaml", GOOD.replace("study: t", "study: u"))
    result = place.run("run", other, "-o", "p.study", "--resume")
    expect(result.returncode == 2 and "another plan" in result.stderr, result.stderr)
    import sqlite3

    with sqlite3.connect(os.path.join(place.path, "p.study")) as connection:
        connection.execute("PRAGMA user_version = 999")
    result = place.run("page", "p.study")
    expect(result.returncode == 2 and "999" in result.stderr, result.stderr)
    result = place.run("run", plan, "-o", "p.study", "--resume")
    expect(result.returncode in (2, 3) and "999" in result.stderr, result.stderr)


def test_no_postgres(place):
    os.mkdir(os.path.join(place.path, "empty"))
    plan = GOOD.replace("kind: postgres,", "kind: postgres, directory: %s/empty," % place.path)
    error, _ = refuse(place, plan, "/empty")
    expect("postgresql" in error, f"no package is named: {error}")
    error, _ = refuse(place, GOOD.replace("kind: postgres,", "kind: postgres, version: 11,"), "11")
    expect("/usr/lib/postgresql" in error, f"no path is named: {error}")


def test_postgres_that_does_not_start(place):
    plan = place.file("p.yaml", GOOD.replace("kind: postgres,", "kind: postgres, settings: {shared_buffers: 4000GB},"))
    result = place.run("run", plan)
    expect(result.returncode == 3, f"exit {result.returncode}: {result.stderr}")
    expect("shared_buffers" in result.stderr or "memory" in result.stderr, result.stderr)
    expect(not os.path.exists(os.path.join(place.path, "p.study")), "an empty study was left")
    place.await_nothing_left()
    plan = place.file("p.yaml", GOOD.replace("kind: postgres,", "kind: postgres, settings: {shared_bufers: 1GB},"))
    result = place.run("run", plan)
    expect(result.returncode in (2, 3) and "shared_bufers" in result.stderr, result.stderr)
    place.await_nothing_left()


def test_folder_not_writable(place):
    if os.getuid() == 0:
        import subprocess

        from lib import PLIMSOLL

        plan = place.file("p.yaml", GOOD)
        os.chmod(plan, 0o644)
        result = subprocess.run(["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", PLIMSOLL, "run", plan],
                                cwd=place.path, env=place.env, capture_output=True, text=True, timeout=60)
    else:
        plan = place.file("p.yaml", GOOD)
        os.chmod(place.path, 0o555)
        result = place.run("run", plan)
        os.chmod(place.path, 0o755)
    if "Permission denied" in result.stderr and "plimsoll:" not in result.stderr:
        raise Skip("the build folder cannot be read by an ordinary user")
    expect(result.returncode in (2, 3) and "p.study" in result.stderr, f"{result}")
    expect(not os.path.exists(os.path.join(place.path, "p.study")), "a study was left")


if __name__ == "__main__":
    main(globals())
