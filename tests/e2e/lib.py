"""What the end-to-end tests share: running the program, reading a study, looking for what was left behind. Prints TAP.

A test is a function `test_NAME(place)`. One that has a second parameter, `test_NAME(place, postgres)`, runs once on each of
the PostgreSQLs that the program has to work with (class Postgres), each with a line of its own in the TAP.
"""
import atexit
import contextlib
import ctypes
import glob
import inspect
import os
import pwd
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


class Postgres:
    """A running server that the tests of a file share: superuser "postgres" without a password, on a Unix socket."""

    PR_SET_PDEATHSIG = 1

    def __init__(self, programs, settings=None):
        self.programs = programs
        self.path = tempfile.mkdtemp(prefix="pe2e-pg-", dir="/tmp")
        self.port = 5432
        self.identity = {}
        if os.geteuid() == 0:  # PostgreSQL refuses root
            names = [user.pw_name for user in pwd.getpwall()]
            user = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
            os.chown(self.path, user.pw_uid, user.pw_gid)
            self.identity = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        data = os.path.join(self.path, "data")
        subprocess.run([os.path.join(programs, "initdb"), "-D", data, "-A", "trust", "-U", "postgres", "-N", "-E", "UTF8",
                        "--locale=C"], cwd="/", check=True, stdout=subprocess.DEVNULL, **self.identity)
        settings = {"fsync": "off", "listen_addresses": "", "unix_socket_directories": self.path, "port": self.port,
                    "max_connections": 300, "lc_messages": "C", **(settings or {})}
        libc = ctypes.CDLL(None)
        with open(os.path.join(self.path, "log"), "wb") as log:
            self.process = subprocess.Popen(
                [os.path.join(programs, "postgres"), "-D", data, *(f"--{name}={value}" for name, value in settings.items())],
                cwd="/", stdin=subprocess.DEVNULL, stdout=log, stderr=log, **self.identity,
                preexec_fn=lambda: libc.prctl(self.PR_SET_PDEATHSIG, signal.SIGQUIT))
        self._await_ready()
        self.version = int(float(self.sql("SHOW server_version").split()[0]))
        # what makes libpq's programs, and ours, find it
        self.env = {"PGHOST": self.path, "PGPORT": str(self.port), "PGUSER": "postgres", "PGDATABASE": "postgres"}

    def _await_ready(self, seconds=60):
        deadline = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < deadline:
            try:
                with open(os.path.join(self.path, "data", "postmaster.pid"), encoding="utf-8") as file:
                    lines = file.read().split("\n")
            except OSError:
                lines = []
            if len(lines) >= 8 and lines[7].strip() == "ready":
                return
            time.sleep(0.02)
        with open(os.path.join(self.path, "log"), encoding="utf-8", errors="replace") as file:
            log = file.read()
        self.stop()
        raise AssertionError(f"PostgreSQL did not start:\n{log}")

    def sql(self, text, database="postgres"):
        """What psql prints for it, without headers; a failure of any statement fails the test."""
        # Debian's psql: builds of the server alone bring none, and any version can talk to any
        answer = subprocess.run(["psql", "-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-h", self.path, "-p", str(self.port),
                                 "-U", "postgres", "-d", database], input=text, capture_output=True, text=True, timeout=240)
        assert answer.returncode == 0, f"{text}: {answer.stderr}"
        return answer.stdout.rstrip("\n")

    def database(self, name):
        """Makes an empty database of that name, also when there was one before, and returns the name."""
        self.sql(f'DROP DATABASE IF EXISTS "{name}"')
        self.sql(f'CREATE DATABASE "{name}"')
        return name

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        shutil.rmtree(self.path, ignore_errors=True)


def installed_programs():
    """The folder of the newest installed PostgreSQL, or of the one that PLIMSOLL_TEST_PGBIN names."""
    named = os.environ.get("PLIMSOLL_TEST_PGBIN")
    found = [named] if named else [os.path.dirname(path) for path in glob.glob("/usr/lib/postgresql/*/bin/postgres")]
    found = [path for path in found if os.access(os.path.join(path, "postgres"), os.X_OK)]
    if not found:
        raise Skip("no PostgreSQL is installed")
    return max(found, key=lambda path: [int(part) for part in path.split("/") if part.isdigit()])


def programs_of_18():
    """The one that tools/check provides."""
    found = os.environ.get("PLIMSOLL_TEST_PGBIN18")
    if not found:
        raise Skip(os.environ.get("PLIMSOLL_TEST_NO_PG18", "no PostgreSQL 18 in PLIMSOLL_TEST_PGBIN18 (tools/postgres18)"))
    return found


POSTGRES = {"the installed PostgreSQL": installed_programs, "PostgreSQL 18": programs_of_18}
if os.environ.get("PLIMSOLL_TEST_ONE_SERVER"):  # tools/check: slow builds go through the program once, not once a server
    del POSTGRES["PostgreSQL 18"]
_running = {}


def shared_postgres(name):
    """The running server of that name among POSTGRES, started when it is wanted first and stopped at the end."""
    if name not in _running:
        server = Postgres(POSTGRES[name]())
        atexit.register(server.stop)
        _running[name] = server
    return _running[name]


class Database:
    """One database of a server, as a test's client sees it."""

    def __init__(self, server, name):
        self.server = server
        self.name = name
        self.environment = dict(server.env, PGDATABASE=name)

    def sql(self, text):
        return self.server.sql(text, self.name)

    def fill(self, scale):
        """The data of `pgbench -i`, made by the server itself."""
        self.sql(f"""CREATE TABLE pgbench_branches(bid int PRIMARY KEY, bbalance int, filler char(88));
            CREATE TABLE pgbench_tellers(tid int PRIMARY KEY, bid int, tbalance int, filler char(84));
            CREATE TABLE pgbench_accounts(aid int PRIMARY KEY, bid int, abalance int, filler char(84));
            CREATE TABLE pgbench_history(tid int, bid int, aid int, delta int, mtime timestamp, filler char(22));
            INSERT INTO pgbench_branches SELECT i, 0 FROM generate_series(1, {scale}) i;
            INSERT INTO pgbench_tellers SELECT i, (i - 1) / 10 + 1, 0 FROM generate_series(1, {scale * 10}) i;
            INSERT INTO pgbench_accounts SELECT i, (i - 1) / 100000 + 1, 0, '' FROM generate_series(1, {scale * 100000}) i;""")


@contextlib.contextmanager
def a_database(postgres, scale=None, settings=None):
    """A fresh database, gone with the block: on the shared server, or with settings on one of its own."""
    server = postgres if settings is None else Postgres(postgres.programs, settings)
    name = f"t{os.urandom(4).hex()}"
    try:
        database = Database(server, server.database(name))
        if scale is not None:
            database.fill(scale)
        yield database
    finally:
        if server is postgres:
            server.sql(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        else:
            server.stop()


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


def expand(tests):
    """(label, test, name of its server or None): a test with a server is one for each of POSTGRES."""
    for name, test in tests:
        if len(inspect.signature(test).parameters) < 2:
            yield name, test, None
        else:
            for server in POSTGRES:
                yield f"{name} on {server}", test, server


def main(namespace):
    chosen = sys.argv[1:]
    tests = [(name, test) for name, test in namespace.items() if name.startswith("test_") and callable(test)]
    tests = list(expand((name, test) for name, test in tests if not chosen or name in chosen))
    print(f"1..{len(tests)}", flush=True)
    failed = False
    for number, (name, test, server) in enumerate(tests, 1):
        place = Workplace()
        try:
            if server is None:
                test(place)
            else:
                test(place, shared_postgres(server))
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
