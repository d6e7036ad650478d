"""Packages of Debian, of whatever suite, without installing them: what tests use of other releases."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

MIRROR_VARIABLE = "WINKUBE_DEBIAN_MIRROR"
"""A mirror of Debian, for machines whose own sources name none (Ubuntu)."""
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
FETCH_S = 600


def _mirror() -> str:
    """The mirror of Debian that this machine's own sources name. FileNotFoundError where they name none."""
    if chosen := os.environ.get(MIRROR_VARIABLE):
        return chosen
    wanted = ["indextargets", "--format", "$(ORIGIN) $(SITE)", "Created-By: Packages"]
    listed = subprocess.run(["apt-get", *wanted], capture_output=True, text=True, check=False).stdout
    # Before the first `apt-get update` nobody has told the origin.
    known = {"Debian", ""} if platform.freedesktop_os_release().get("ID") == "debian" else {"Debian"}
    sites = [site for origin, _, site in (line.partition(" ") for line in listed.splitlines()) if origin in known]
    usual = [site for site in sites if not site.rstrip("/").endswith("-security")]
    if not usual:
        raise FileNotFoundError(f"this machine's package sources name no mirror of Debian; set {MIRROR_VARIABLE}")
    return usual[0]


def packages(suite: str, name: str, state: Path, *, alone: bool = False) -> list[Path]:
    """The package `name` of this suite, unless `alone` with all that it depends on, fetched by this machine's apt-get,
    which keeps its state in the new folder `state`. OSError or CalledProcessError where that fails."""
    if not KEYRING.exists():
        raise FileNotFoundError(f"{KEYRING} is not there (package debian-archive-keyring)")
    for below in ("lists/partial", "cache/archives/partial", "none"):
        (state / below).mkdir(parents=True)
    (state / "status").touch()
    (state / "sources.list").write_text(f"deb [arch=amd64 signed-by={KEYRING}] {_mirror()} {suite} main\n")
    settings = {
        "APT::Architecture": "amd64",
        "APT::Install-Recommends": "false",
        "APT::Sandbox::User": "root",
        "Acquire::Languages": "none",
        "Acquire::Retries": "3",
        "Dir::Cache": state / "cache",
        "Dir::Etc::sourcelist": state / "sources.list",
        "Dir::Etc::sourceparts": state / "none",
        "Dir::State": state,
        "Dir::State::status": state / "status",
    }
    options = [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]
    archives = state / "cache" / "archives"
    get = ["download"] if alone else ["install", "--yes", "--download-only"]
    for action in (["update"], [*get, name]):
        quietly(["apt-get", "-qq", *options, *action], FETCH_S, folder=archives)
    return sorted(archives.glob("*.deb"))


def quietly(
    command: Sequence[str | Path],
    timeout: int,
    stdin: object = None,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> None:
    """CalledProcessError carries the last lines of what it said."""
    done = subprocess.run(
        command,
        stdin=stdin or subprocess.DEVNULL,  # type: ignore[call-overload]
        env=None if environment is None else {"PATH": os.environ["PATH"], **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        timeout=timeout,
        cwd=folder,
        check=False,
    )
    if done.returncode:
        raise subprocess.CalledProcessError(done.returncode, str(command[0]), stderr=done.stderr[-2000:])
