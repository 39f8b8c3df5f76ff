#!/usr/bin/env python3
"""What happens when things break: nothing measured is lost, nothing is left running, the exit code says so."""
import os
import signal
import subprocess
import time

from lib import PLIMSOLL, Skip, await_line, expect, main, rows

PLAN = """study: faults
services:
  db: {kind: postgres, data: {kind: tpcb, scale: 1}}
stages:
  - {kind: footprint, settle: 0.1s, for: 1s}
  - {kind: clients, script: tpcb-like, over: {clients: [1, 2]}, for: 3s, warm_up: 0.2s, iterations: 2}
"""


def in_a_load(place, process):
    """Waits until a trial with load is under way: its backends are connected."""
    pid, _ = place.server()
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        names = subprocess.run(["ps", "--ppid", str(pid), "-o", "args="], capture_output=True, text=True).stdout
        # loading the data needs no UPDATE
        if any(" bench " in line and "UPDATE" in line for line in names.splitlines()):
            return pid
        time.sleep(0.02)
    process.kill()
    raise AssertionError("no load came under way")


def states(study):
    return rows(study, "SELECT state, count(*) FROM trial GROUP BY 1 ORDER BY 1")


def test_interrupt(place):
    process = place.start("run", place.file("p.yaml", PLAN))
    in_a_load(place, process)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    output = process.communicate(timeout=30)[0]
    expect(process.returncode == 130, f"exit {process.returncode}: {output}")
    place.await_nothing_left()
    study = os.path.join(place.path, "p.study")
    expect(("interrupted", 1) in states(study), f"{states(study)}: {output}")
    completed = rows(study, "SELECT sum(completed) FROM slice JOIN trial ON trial.id = trial_id WHERE state = 'interrupted' AND step = -1")
    expect(completed[0][0] > 0, "what was measured before the interruption is not in the study")
    expect(os.path.exists(os.path.join(place.path, "p.html")), "no page")
    expect("--resume" in output, output)
    result = place.run("run", os.path.join(place.path, "p.yaml"), "--resume")
    expect(result.returncode == 0, result.stderr)
    expect(dict(states(study)) == {"done": 5, "interrupted": 1}, f"{states(study)}")


def test_interrupt_twice_a_server_that_hangs(place):
    """The first signal asks for an end in good order, the second one does not wait for anything."""
    process = place.start("run", place.file("p.yaml", PLAN))
    pid = in_a_load(place, process)
    backends = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True).stdout.split()
    for one in (pid, *map(int, backends)):
        os.kill(one, signal.SIGSTOP)
    process.send_signal(signal.SIGINT)
    await_line(process, "press Ctrl-C again")
    expect(process.poll() is None, "it did not wait for what is under way")
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=5)
    expect(process.returncode == 130, f"exit {process.returncode}")
    place.await_nothing_left()
    result = place.run("run", os.path.join(place.path, "p.yaml"), "--resume")
    expect(result.returncode == 0, result.stderr)
    expect(states(os.path.join(place.path, "p.study")) == [("done", 5)], "not gone on")


def test_interrupt_once_a_server_that_hangs(place):
    """Paused while the tool waits or tidies: one signal is enough, whatever the tool is doing with the server."""
    process = place.start("run", place.file("p.yaml", PLAN.replace("iterations: 2", "iterations: 2, cooldown: 2s")))
    pid = in_a_load(place, process)
    time.sleep(4)  # into the cooldown, give or take
    os.kill(pid, signal.SIGSTOP)
    time.sleep(4)  # into the connecting of the next trial's tidying
    expect(process.poll() is None, "it ended by itself")
    process.send_signal(signal.SIGINT)
    output = process.communicate(timeout=20)[0]
    expect(process.returncode == 130 and "press Ctrl-C again" in output, f"exit {process.returncode}: {output}")
    place.await_nothing_left()


def test_interrupt_while_starting(place):
    process = place.start("run", place.file("p.yaml", PLAN))
    time.sleep(0.4)
    process.send_signal(signal.SIGTERM)
    output = process.communicate(timeout=30)[0]
    expect(process.returncode == 130, f"exit {process.returncode}: {output}")
    place.await_nothing_left()
    expect(not os.path.exists(os.path.join(place.path, "p.study")), "an empty study was left")


def test_kill_the_tool(place):
    process = place.start("run", place.file("p.yaml", PLAN))
    in_a_load(place, process)
    expect(place.left_behind(), "nothing to leave behind: the test would see nothing")
    process.kill()
    process.wait()
    place.await_nothing_left()
    study = os.path.join(place.path, "p.study")
    before = rows(study, "SELECT id, state FROM trial")
    expect(before and all(state == "done" for _, state in before), f"{before}")
    result = place.run("run", os.path.join(place.path, "p.yaml"), "--resume")
    expect(result.returncode == 0, result.stderr)
    expect(states(study) == [("done", 5)], f"{states(study)}")
    expect(rows(study, "SELECT id, state FROM trial")[: len(before)] == before, "an earlier trial was changed")


def test_kill_the_server(place):
    process = place.start("run", place.file("p.yaml", PLAN))
    pid = in_a_load(place, process)
    os.kill(pid, signal.SIGKILL)
    output = process.communicate(timeout=120)[0]
    expect(process.returncode == 3, f"exit {process.returncode}: {output}")
    place.await_nothing_left()
    study = os.path.join(place.path, "p.study")
    expect(states(study) == [("done", 5), ("failed", 1)], f"{states(study)}: {output}")
    faults = rows(study, "SELECT source, code, count, example FROM fault")
    expect(any(source == "db" and "KILL" in code for source, code, _, _ in faults), f"{faults}")
    expect("fresh" in output, output)
    with open(os.path.join(place.path, "p.md")) as file:
        page = file.read()
    expect("failed" in page and "SIGKILL" in page, "the page does not tell")


def test_kill_a_backend(place):
    process = place.start("run", place.file("p.yaml", PLAN.replace("clients: [1, 2]", "clients: [2, 4]")))
    pid = in_a_load(place, process)
    _, directory = place.server()
    query = subprocess.run(["psql", "-h", directory, "-U", "postgres", "-d", "postgres", "-AtXc",
                            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'bench'"
                            " AND backend_type = 'client backend' LIMIT 1"], capture_output=True, text=True)
    expect(query.stdout == "t\n", f"{query}")
    output = process.communicate(timeout=120)[0]
    expect(process.returncode == 3, f"exit {process.returncode}: {output}")
    study = os.path.join(place.path, "p.study")
    failed = rows(study, "SELECT clients_lost, why FROM trial WHERE state = 'failed'")
    expect(len(failed) == 1 and failed[0][0] == 1, f"{failed}")
    expect(("load", "57P01") in rows(study, "SELECT source, code FROM fault"), f"{rows(study, 'SELECT * FROM fault')}")
    expect(pid > 0, "")


def test_a_pause_of_the_tool(place):
    """A paused virtual machine: the trial is void, kept, and done once more."""
    process = place.start("run", place.file("p.yaml", PLAN))
    in_a_load(place, process)
    time.sleep(0.7)
    process.send_signal(signal.SIGSTOP)
    time.sleep(1.5)
    process.send_signal(signal.SIGCONT)
    output = process.communicate(timeout=120)[0]
    expect(process.returncode == 0, f"exit {process.returncode}: {output}")
    study = os.path.join(place.path, "p.study")
    expect(dict(states(study)) == {"done": 5, "void": 1}, f"{states(study)}: {output}")
    expect("void" in output and "did not run" in output, output)


def test_crash_of_a_backend(place):
    """As the killer of processes for want of memory does it: the server survives, through recovery, and is replaced."""
    process = place.start("run", place.file("p.yaml", PLAN))
    pid = in_a_load(place, process)
    backends = subprocess.run(["ps", "--ppid", str(pid), "-o", "pid=,args="], capture_output=True, text=True).stdout
    os.kill(next(int(line.split()[0]) for line in backends.splitlines() if " bench " in line), signal.SIGKILL)
    output = process.communicate(timeout=120)[0]
    expect(process.returncode == 3, f"exit {process.returncode}: {output}")
    place.await_nothing_left()
    study = os.path.join(place.path, "p.study")
    expect(states(study) == [("done", 5), ("failed", 1)], f"{states(study)}: {output}")


def with_small_disk(place, megabytes):
    if os.getuid() != 0:
        raise Skip("only root can mount a small disk")
    folder = os.path.join(place.path, "small")
    os.mkdir(folder)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", folder], capture_output=True).returncode != 0:
        raise Skip("mounting is not allowed here")
    return folder


def test_disk_full(place):
    folder = with_small_disk(place, 12)
    try:
        study = os.path.join(folder, "p.study")
        plan = place.file("p.yaml", PLAN.replace("iterations: 2", "iterations: 20").replace("for: 3s", "for: 0.3s"))
        filler = os.path.join(folder, "filler")
        process = place.start("run", plan, "-o", study)
        deadline = time.monotonic() + 60
        done = 0
        while time.monotonic() < deadline and done < 3 and process.poll() is None:
            time.sleep(0.1)
            try:
                done = rows(study, "SELECT count(*) FROM trial WHERE state = 'done'")[0][0]
            except Exception:  # noqa: BLE001  the file is not there yet
                pass
        expect(done >= 3, f"{done} trials in {deadline}")
        with open(filler, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"x" * 4096)
            except OSError:
                pass
        output = process.communicate(timeout=120)[0]
        expect(process.returncode == 3, f"exit {process.returncode}: {output}")
        expect("p.study" in output and ("full" in output or "space" in output), output)
        place.await_nothing_left()
        os.remove(filler)
        kept = rows(study, "SELECT count(*) FROM trial WHERE state = 'done'")[0][0]
        expect(kept >= done, f"{kept} trials are left of {done}")
        expect(place.run("page", study, "--md").returncode == 0, "the study cannot be read any more")
    finally:
        subprocess.run(["umount", "-l", folder], check=False)


def test_two_runs_on_one_study(place):
    plan = place.file("p.yaml", PLAN)
    first = place.start("run", plan)
    in_a_load(place, first)
    second = place.run("run", plan, "--resume")
    expect(second.returncode in (2, 3) and "in use" in second.stderr, f"{second}")
    first.send_signal(signal.SIGINT)
    output = first.communicate(timeout=30)[0]
    expect(first.returncode == 130, output)


if __name__ == "__main__":
    main(globals())
