#!/usr/bin/env python3
"""The live view: a redrawn block on a terminal, plain lines elsewhere."""
import os
import pty
import re
import select
import time

from lib import PLIMSOLL, expect, main

PLAN = """study: live
services:
  db: {kind: postgres, data: {kind: tpcb, scale: 1}}
stages:
  - {kind: clients, script: select-only, clients: 2, for: 3s, warm_up: 0.2s}
"""


def test_terminal(place):
    plan = place.file("p.yaml", PLAN)
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(place.path)
        os.execve(PLIMSOLL, [PLIMSOLL, "run", plan], dict(place.env, TERM="xterm", COLUMNS="100"))
    text = b""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if select.select([terminal], [], [], 0.5)[0]:
            try:
                piece = os.read(terminal, 65536)
            except OSError:
                break
            if not piece:
                break
            text += piece
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    screen = text.decode(errors="strict")
    expect(status == 0, f"exit {status}: {screen}")
    expect("\x1b[3A" in screen, "the block was not redrawn")
    expect(re.search(r"\d+/s  p50 [\d.]+ \S+  p99 [\d.]+ \S+", screen), "no rate and latencies")
    expect(re.search(r"subject: [\d.]+ \w+, \d+\.\d+ cores", screen), "no memory and CPU of the subject")
    expect(re.search(r"\d+:\d\d left", screen), "no time left")
    expect("clients" in screen and "measure" in screen, "no stage and phase")


def test_plain(place):
    result = place.run("run", place.file("p.yaml", PLAN))
    expect(result.returncode == 0, result.stderr)
    expect("\x1b" not in result.stdout, "escape sequences without a terminal")
    expect("[1/1] clients" in result.stdout, result.stdout)
    expect("page: p.html" in result.stdout and "study: p.study" in result.stdout, result.stdout)


if __name__ == "__main__":
    main(globals())
