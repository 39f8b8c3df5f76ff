"""What the end-to-end tests share: running the program, reading a study, looking for what was left behind. Prints TAP."""
import glob
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import traceback

PLIMSOLL = os.path.abspath(os.environ.get("PLIMSOLL", "build/dev/plimsoll"))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Skip(Exception):
    """Raised with the reason why a test cannot run here."""


class Workplace:
    """A folder of its own, with a TMPDIR inside it, so that tests do not see each other's servers."""

    def __init__(self):
        # short: the path of a Unix socket has 107 bytes at most
        self.path = tempfile.mkdtemp(prefix="pe2e-", dir="/tmp")
        os.chmod(self.path, 0o755)
        self.tmp = os.path.join(self.path, "t")
        os.mkdir(self.tmp)
        os.chmod(self.tmp, 0o1777)
        self.env = dict(os.environ, TMPDIR=self.tmp, LC_ALL="C")

    def file(self, name, text):
        path = os.path.join(self.path, name)
        mode = "wb" if isinstance(text, bytes) else "w"
        with open(path, mode) as out:
            out.write(text)
        return path

    def run(self, *arguments, timeout=240, **options):
        options.setdefault("capture_output", True)
        return subprocess.run([PLIMSOLL, *arguments], cwd=self.path, env=self.env, text=True, errors="replace",
                              timeout=timeout, **options)

    def start(self, *arguments, **options):
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.STDOUT)
        return subprocess.Popen([PLIMSOLL, *arguments], cwd=self.path, env=self.env, text=True, errors="replace", **options)

    def left_behind(self):
        """Processes that live in this workplace's directories, and the directories."""
        found = glob.glob(os.path.join(self.tmp, "plimsoll-*"))
        for entry in os.listdir("/proc"):
            if not entry.isdigit() or int(entry) == os.getpid():
                continue
            try:
                with open(f"/proc/{entry}/cmdline", "rb") as file:
                    command = file.read().replace(b"\0", b" ").decode(errors="replace")
                folder = os.readlink(f"/proc/{entry}/cwd")
            except OSError:
                continue
            if self.path in folder or self.path in command:
                found.append(f"{entry}: {command} in {folder}")
        return found

    def await_nothing_left(self, seconds=15):
        deadline = time.monotonic() + seconds
        while self.left_behind() and time.monotonic() < deadline:
            time.sleep(0.1)
        left = self.left_behind()
        assert not left, f"left behind: {left}"

    def server(self, seconds=30):
        """Waits for the measured PostgreSQL; returns (pid of the postmaster, its directory)."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for pid_file in glob.glob(os.path.join(self.tmp, "plimsoll-*", "**", "postmaster.pid"), recursive=True):
                try:
                    with open(pid_file) as file:
                        lines = file.read().split("\n")
                except OSError:
                    continue
                if len(lines) >= 8 and lines[7].strip() == "ready":
                    return int(lines[0]), lines[4]
            time.sleep(0.05)
        raise AssertionError("no PostgreSQL came up")

    def remove(self):
        for entry in self.left_behind():
            if ": " in entry:
                try:
                    os.kill(int(entry.split(":")[0]), signal.SIGKILL)
                except (OSError, ValueError):
                    pass
        shutil.rmtree(self.path, ignore_errors=True)


def rows(study, sql, *parameters):
    with sqlite3.connect(f"file:{study}?mode=ro", uri=True) as connection:
        return connection.execute(sql, parameters).fetchall()


def expect(condition, text):
    assert condition, text


def await_line(process, text, seconds=60):
    """Reads the process's output until a line holds `text`; returns what was read."""
    lines = []
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        line = process.stdout.readline()
        if line == "":
            break
        lines.append(line)
        if text in line:
            return lines
    raise AssertionError(f"no line with {text!r} in {''.join(lines)}")


def main(namespace):
    chosen = sys.argv[1:]
    tests = [(name, test) for name, test in namespace.items() if name.startswith("test_") and callable(test)]
    tests = [(name, test) for name, test in tests if not chosen or name in chosen]
    print(f"1..{len(tests)}", flush=True)
    failed = False
    for number, (name, test) in enumerate(tests, 1):
        place = Workplace()
        try:
            test(place)
            print(f"ok {number} - {name}", flush=True)
        except Skip as reason:
            print(f"ok {number} - {name} # SKIP {reason}", flush=True)
        except Exception:  # noqa: BLE001  whatever went wrong is what the test says
            failed = True
            for line in traceback.format_exc().splitlines():
                print(f"# {line}", flush=True)
            print(f"not ok {number} - {name}", flush=True)
        finally:
            place.remove()
    sys.exit(1 if failed else 0)
