"""What the end-to-end tests of HTTP share: servers to be loaded, and `plimsoll http` with its result as JSON."""
import http.client
import json
import os
import resource
import shutil
import signal
import socket
import ssl
import subprocess
import time

from lib import PLIMSOLL, Skip, expect

HTTPSERVER = os.environ.get("PLIMSOLL_HTTPSERVER") or os.path.join(os.path.dirname(PLIMSOLL), "tests", "support", "httpserver")
LEDGER = ("completed", "failed", "skipped", "expired", "unfinished")  # never_started is part of the last one


class HttpServer:
    """tests/support/httpserver.c as a process. Options as on its command line: mode="refuse", stall=2000, step=1."""

    def __init__(self, **options):
        words = [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", str(value))]
        self.process = subprocess.Popen([HTTPSERVER, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        expect(line.strip().isdigit(), f"the HTTP server did not start: {words}")
        self.port = int(line)
        self.host = options.get("host", "127.0.0.1")
        self.unix = options.get("unix")
        self.is_tls = "cert" in options

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process.stdout.close()

    def authority(self):
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def url(self, path="/plain"):
        return f"{'https' if self.is_tls else 'http'}://{self.authority()}{path}"

    def ask(self, path):
        """By a connection of its own, in plain Python; the server counts none of it when the path begins with "/_"."""
        if self.unix is not None:
            connection = http.client.HTTPConnection("localhost", timeout=30)
            connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            connection.sock.connect(self.unix)
        elif self.is_tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            connection = http.client.HTTPSConnection(self.host, self.port, timeout=30, context=context)
        else:
            connection = http.client.HTTPConnection(self.host, self.port, timeout=30)
        try:
            connection.request("GET", path)
            return connection.getresponse().read().decode()
        finally:
            connection.close()

    def counts(self):
        return json.loads(self.ask("/_counts"))

    def forget(self):
        self.ask("/_forget")

    def log(self):
        """(came ns, answered ns or 0, connection, status, path) of each request in the order in which they came."""
        lines = [line.split(" ", 4) for line in self.ask("/_log").splitlines()]
        return [(int(came), int(answered), int(connection), int(status), path)
                for came, answered, connection, status, path in lines]


# ---- certificates ----

def run_openssl(folder, *arguments):
    answer = subprocess.run(["openssl", *arguments], cwd=folder, capture_output=True, text=True, timeout=60)
    expect(answer.returncode == 0, f"openssl {arguments}: {answer.stderr}")


class Certificates:
    """A certificate authority of our own, and what it signed: for this machine (cert, key) and for another name (other)."""

    def __init__(self, place):
        if shutil.which("openssl") is None:
            raise Skip("there is no openssl (Debian package openssl)")
        self.folder = os.path.join(place.path, "certificates")
        os.mkdir(self.folder)
        self.ca = os.path.join(self.folder, "ca.pem")
        run_openssl(self.folder, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                    "-subj", "/CN=Test Authority", "-keyout", "ca.key", "-out", "ca.pem")
        self.cert, self.key = self._sign("server", "DNS:localhost,IP:127.0.0.1,IP:::1")
        self.other_cert, self.other_key = self._sign("other", "DNS:other.test")

    def _sign(self, name, names):
        with open(os.path.join(self.folder, f"{name}.ext"), "w", encoding="ascii") as file:
            file.write(f"subjectAltName={names}\n")
        run_openssl(self.folder, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}",
                    "-keyout", f"{name}.key", "-out", f"{name}.csr")
        run_openssl(self.folder, "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
                    "-days", "2", "-extfile", f"{name}.ext", "-out", f"{name}.pem")
        return os.path.join(self.folder, f"{name}.pem"), os.path.join(self.folder, f"{name}.key")


# ---- real servers ----

def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def find_program(package, *paths):
    for path in paths:
        found = shutil.which(path)
        if found is not None:
            return found
    raise Skip(f"there is no {os.path.basename(paths[0])} (Debian package {package})")


class Daemon:
    """A program that serves at a port until it is told to stop."""

    def start(self, command, folder):
        self.log_path = os.path.join(folder, "log")
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=5).close()
                return
            except OSError:
                time.sleep(0.02)
        log = self.text()
        self.stop()
        raise AssertionError(f"{command[0]} did not start: {log}")

    def text(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT)  # nginx: when all has been answered, and logged
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


class Nginx(Daemon):
    """Debian's nginx from a folder of its own: /plain, /file/* and /never (closes without an answer). It logs each request;
    `requests()` reads that after it was stopped."""

    CONFIG = """daemon off; master_process off; pid {folder}/pid; error_log {folder}/errors notice; worker_rlimit_nofile 8192;
events {{ worker_connections 4096; }}
http {{
    log_format counted '$status $server_protocol $request_method $request_uri $ssl_session_reused $connection';
    access_log {folder}/requests counted;
    client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3;
    uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
    keepalive_requests {keepalive_requests}; gzip on; gzip_min_length 1; gzip_types *;
    server {{
        listen 127.0.0.1:{port} {listen_options};
        {tls}
        location = /plain {{ return 200 "hello, world\\n"; }}
        location = /never {{ return 444; }}
        location /file/ {{ root {folder}; }}
    }}
}}
"""

    def __init__(self, place, certificates=None, http2=False, keepalive_requests=1000):
        program = find_program("nginx-light", "nginx", "/usr/sbin/nginx")
        self.folder = os.path.join(place.path, f"nginx{os.urandom(3).hex()}")
        os.makedirs(os.path.join(self.folder, "file"))
        self.port = free_port()
        self.is_tls = certificates is not None
        options = " ".join(["ssl"] * self.is_tls + ["http2"] * http2)
        tls = f"ssl_certificate {certificates.cert}; ssl_certificate_key {certificates.key};" if self.is_tls else ""
        with open(os.path.join(self.folder, "conf"), "w", encoding="utf-8") as file:
            file.write(self.CONFIG.format(folder=self.folder, port=self.port, listen_options=options, tls=tls,
                                          keepalive_requests=keepalive_requests))
        self.start([program, "-p", self.folder, "-c", os.path.join(self.folder, "conf")], self.folder)

    def file(self, name, content):
        with open(os.path.join(self.folder, "file", name), "wb") as file:
            file.write(content)

    def url(self, path="/plain"):
        return f"{'https' if self.is_tls else 'http'}://127.0.0.1:{self.port}{path}"

    def requests(self):
        """(status, protocol, method, target, "r" for resumed TLS, connection number) of each request."""
        with open(os.path.join(self.folder, "requests"), encoding="utf-8") as file:
            return [tuple(line.split()) for line in file]


class Nghttpd(Daemon):
    """HTTP/2 without TLS. `requests()` counts the answers that it logged."""

    def __init__(self, place):
        program = find_program("nghttp2-server", "nghttpd")
        self.folder = os.path.join(place.path, f"nghttpd{os.urandom(3).hex()}")
        root = os.path.join(self.folder, "root")
        os.makedirs(root)
        with open(os.path.join(root, "plain"), "w", encoding="ascii") as file:
            file.write("hello, world\n")
        self.port = free_port()
        self.start([program, "--verbose", "--no-tls", "--address=127.0.0.1", "-d", root, str(self.port)], self.folder)

    def url(self, path="/plain"):
        return f"http://127.0.0.1:{self.port}{path}"

    def statuses(self):
        return [line.split(":status:")[1].strip() for line in self.text().splitlines() if ":status:" in line]

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(20)


# ---- the program ----

class Load:
    """What `plimsoll http` did: exit code, what it printed, its JSON (None when it wrote none) and its greatest memory."""

    def __init__(self, place, arguments, wanted_exit):
        path = os.path.join(place.path, f"result{os.urandom(4).hex()}.json")
        process = place.start("http", *arguments, f"--json={path}", stderr=subprocess.PIPE)
        self.out, self.err = process.communicate(timeout=240)
        self.exit = process.returncode
        self.json, self.text = None, ""
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                self.text = file.read()
            self.json = json.loads(self.text)
        if wanted_exit is not None:
            expect(self.exit == wanted_exit, f"exit {self.exit}, not {wanted_exit}: {arguments}\n{self.out}\n{self.err}")
        if self.json is not None:
            check_conservation(self.json, arguments)

    def __getitem__(self, name):
        return self.json[name]

    @property
    def ledger(self):
        return self.json["ledger"]

    @property
    def measured(self):
        return self.json["http"]["measured"]

    def faults(self):
        return {fault["code"]: fault for fault in self.json["faults"]}

    def all_text(self):
        return self.out + self.err + self.text


def check_conservation(result, what):
    """What was due is what became of it, in the whole and in each part; the parts are the whole."""
    def check(cell, name):
        ledger = cell["ledger"]
        expect(ledger["due"] == sum(ledger[column] for column in LEDGER), f"{what}: {name}: {ledger}")
        expect(cell["response"]["count"] == cell["response"]["censored"] + ledger["completed"], f"{what}: {name}: {cell}")
        expect(cell["response"]["censored"] == ledger["expired"] + ledger["unfinished"], f"{what}: {name}: {cell}")
        expect(cell["service"]["count"] == ledger["completed"], f"{what}: {name}: {cell}")
    check(result, "whole")
    for part in ("scripts", "groups"):
        cells = result[part] or []
        for cell in cells:
            check(cell, part)
        for column in ("due", *LEDGER, "never_started") if cells else ():
            total = sum(cell["ledger"][column] for cell in cells)
            expect(total == result["ledger"][column], f"{what}: {column} of {part}: {total} of {result['ledger'][column]}")


def http_load(place, *arguments, exit=0):
    """exit: what is wanted; None: any."""
    return Load(place, [str(argument) for argument in arguments], exit)


def peak_memory_bytes(place, *arguments):
    """The greatest resident memory of one run, which must end well."""
    with open(PLIMSOLL, "rb") as file:
        if b"__asan_init" in file.read():
            raise Skip("AddressSanitizer keeps memory that was freed")
    code = ("import os, resource, subprocess, sys\n"
            "done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)\n"
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)\n"
            "sys.exit(done.returncode)\n")
    answer = subprocess.run(["python3", "-c", code, PLIMSOLL, "http", *map(str, arguments)], cwd=place.path, env=place.env,
                            capture_output=True, text=True, timeout=240)
    expect(answer.returncode == 0, f"{arguments}: {answer.stderr}")
    return int(answer.stdout)


def quantile(values, q):
    """Nearest rank."""
    values = sorted(values)
    rank = max(1, -(-len(values) * q // 1)) if q > 0 else 1
    return values[int(min(rank, len(values))) - 1]


def raise_descriptors():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
