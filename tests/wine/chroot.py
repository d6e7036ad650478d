"""Wine 10, out of Debian 13 (trixie), in a folder of its own that is entered by chroot.

    python -m tests.wine.chroot        sets it up where it is not there yet; exit status 0, or 1 and a sentence

This machine's apt-get chooses and fetches the packages, with trixie as its only source; dpkg-deb unpacks them. Nothing
of Debian runs while it is made, nothing is installed on this machine, and there is nothing to unmount. debootstrap does
the same and needs three times as long.

What is mounted is mounted in a mount namespace that belongs to one process (`Chroot`): the kernel takes the mounts away
with it, however it ends, and every program that was started in there too.
"""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.cache import locked, shared
from tests.debian import FETCH_S, packages, quietly

SUITE = "trixie"
ENTRY = "wine-trixie"
WORK = Path("/work")
"""Where the work folder is in there."""
WINE = "/usr/lib/wine/wine64"
WINESERVER = "/usr/lib/wine/wineserver64"
TOOLS = ("apt-get", "dpkg-deb", "tar", "unshare", "nsenter", "chroot", "mount")
BOOT_S = 240
# Of no use without a screen, or 32-bit: half of the size.
LEFT_OUT = (
    *("./usr/share/doc", "./usr/share/locale", "./usr/share/man", "./usr/share/icons", "*/i386-windows*"),
    *("./usr/i686-w64-mingw32", "./usr/x86_64-w64-mingw32ucrt", "*/winewayland.so", "*/winex11.so"),
)
_ENTER = f"""
set -e
cd "$1"
mount -t proc proc proc
for each in dev sys; do mount --rbind /$each $each; done
for each in /tmp /etc/resolv.conf /etc/hosts; do mount --bind $each .$each; done
mount --bind "$2" .{WORK}
echo in
# Whatever is orphaned in here ends without a trace. Of a shell's own `trap '' CHLD` nothing is left after exec (dash).
exec env --ignore-signal=CHLD cat >/dev/null
"""

ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "HOME": str(WORK),
    "XDG_RUNTIME_DIR": "/tmp",
    # Without it Wine starts the server by a shell script, and there is no shell in there.
    "WINESERVER": WINESERVER,
    "WINEDEBUG": "-all",
    # A crash must end the program, not start a debugger; nothing here needs .NET or a browser.
    "WINEDLLOVERRIDES": "winedbg.exe=d;mscoree=;mshtml=",
}


def root() -> Path:
    """Its root folder."""
    return shared(ENTRY) / "root"


def template() -> Path:
    """A prefix as `wineboot` makes it: each new one is a copy."""
    return shared(ENTRY) / "prefix"


def cannot() -> str | None:
    """Why Wine cannot be set up or entered on this machine, as a phrase; None if it can."""
    if platform.system() != "Linux" or platform.machine() not in {"x86_64", "amd64"}:
        return f"Wine runs on Linux on x86_64, this is {platform.system()} on {platform.machine()}"
    if os.geteuid() != 0:
        return "only root can enter the chroot that Wine 10 lives in"
    absent = [tool for tool in TOOLS if shutil.which(tool) is None]
    if absent:
        return f"{' and '.join(absent)} not on PATH"
    tried = subprocess.run(["unshare", "--mount", "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        return f"this root may not mount (CAP_SYS_ADMIN): {tried.stderr.strip()}"
    return None


def missing() -> str | None:
    """Why Wine cannot be used now, as a phrase; None if it can."""
    reason = cannot()
    if reason is None and not template().is_dir():
        return f"no Wine in {shared(ENTRY)}; `make wine` sets it up"
    return reason


def set_up() -> None:
    """Makes it where it is not there. OSError or CalledProcessError when a step fails; PermissionError says why not."""
    reason = cannot()
    if reason is not None:
        raise PermissionError(reason)
    with locked(ENTRY):
        if template().is_dir():
            return
        folder = shared(ENTRY)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        print(f"wine: {SUITE}'s wine64 goes to {folder} (a minute) ...", file=sys.stderr, flush=True)
        _unpack(packages(SUITE, "wine64", folder / "apt"), root())
        shutil.rmtree(folder / "apt")
        _boot(folder / "new")


def _unpack(packages: Sequence[Path], into: Path) -> None:
    into.mkdir()
    for name in ("bin", "lib", "lib64", "sbin"):
        (into / name).symlink_to(f"usr/{name}")
    for name in ("dev", "etc", "proc", "sys", "tmp", WORK.name):
        (into / name).mkdir()
    left_out = [f"--exclude={pattern}" for pattern in LEFT_OUT]
    for package in packages:
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE) as reader:
            quietly(["tar", "-x", "--keep-directory-symlink", "-C", into, *left_out], FETCH_S, stdin=reader.stdout)
        if reader.returncode:
            raise subprocess.CalledProcessError(reader.returncode, ["dpkg-deb", package])
    for name in ("hosts", "resolv.conf"):
        (into / "etc" / name).touch()
    # What libwine's postinst does: the zlib that its user32.dll imports has to carry Wine's own mark at offset 64.
    data = (into / "usr/x86_64-w64-mingw32/lib/zlib1.dll").read_bytes()
    marked = data[:64] + b"Wine builtin DLL".ljust(32, b"\0") + data[96:]
    (into / "usr/lib/x86_64-linux-gnu/wine/x86_64-windows/zlib1.dll").write_bytes(marked)


def _boot(folder: Path) -> None:
    """The prefix that others are copied from. It gets its name when it is whole."""
    folder.mkdir()
    with Chroot(folder) as chroot:
        environment = {**ENVIRONMENT, "WINEPREFIX": str(WORK)}
        quietly(chroot.command([WINE, "wineboot", "-i"]), BOOT_S, environment=environment)
        quietly(chroot.command([WINESERVER, "-w"]), BOOT_S, environment=environment)
    folder.rename(template())


class Chroot:
    """Entered, with a work folder bound at /work. Use as a context manager.

    One process holds it open for as long as we live: it reads a pipe of ours, and is the first process of a namespace
    of processes. When it ends all in there are ended and all mounts are gone, after a SIGKILL as after a clean end.
    """

    def __init__(self, work: Path) -> None:
        self._work = work

    def __enter__(self) -> Chroot:
        enter = ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child"]
        self._holder = subprocess.Popen(
            [*enter, "sh", "-c", _ENTER, "sh", str(root()), str(self._work)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # Not ended by the terminal's Ctrl-C, but when we are through.
            start_new_session=True,
        )
        assert self._holder.stdout is not None
        if self._holder.stdout.readline() != b"in\n":
            _, said = self._holder.communicate()
            raise OSError(f"{root()} could not be entered: {said.decode(errors='replace').strip()}")
        return self

    def __exit__(self, *_error: object) -> None:
        assert self._holder.stdin is not None
        with contextlib.suppress(OSError):
            self._holder.stdin.close()
        try:
            self._holder.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._holder.kill()
            self._holder.wait()
        for stream in (self._holder.stdout, self._holder.stderr):
            if stream:
                stream.close()

    @property
    def holder(self) -> int:
        """The process that holds it open; all others in there are below it."""
        return self._holder.pid

    def command(self, line: Sequence[str]) -> list[str]:
        """The command line that runs a program of the chroot from outside."""
        spaces = f"/proc/{self._holder.pid}/ns"
        enter = ["nsenter", f"--mount={spaces}/mnt", f"--pid={spaces}/pid_for_children", "--"]
        return [*enter, "chroot", str(root()), *line]


def main() -> int:
    for wait in (5, 15, None):
        try:
            set_up()
        except (OSError, subprocess.SubprocessError) as error:
            said = (getattr(error, "stderr", None) or "").strip()
            print(f"wine: Wine 10 cannot be set up here: {error}" + (f"\n{said}" if said else ""), file=sys.stderr)
            # A mirror may fail once; what this machine lacks it lacks the next time too.
            if wait is None or isinstance(error, PermissionError | FileNotFoundError):
                return 1
            time.sleep(wait)
        else:
            break
    return 0


if __name__ == "__main__":
    sys.exit(main())
