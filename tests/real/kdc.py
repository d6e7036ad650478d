"""A Kerberos realm on loopback: MIT's KDC from Debian's packages krb5-kdc and krb5-admin-server."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

REALM = "LAB.WINKUBE.TEST"
PROGRAMS = ("krb5kdc", "kdb5_util", "kadmin.local", "kinit")


def missing() -> str | None:
    """What is not here, as a sentence."""
    for program in PROGRAMS:
        if shutil.which(program) is None:
            return f"{program} is not on PATH (packages krb5-kdc, krb5-admin-server, krb5-user)"
    for module in ("gssapi", "krb5", "kerberos"):
        if find_spec(module) is None:
            return f"{module} is not installed (pip install pywinrm[kerberos] pypsrp[kerberos], which need libkrb5-dev)"
    return None


@dataclass(frozen=True)
class Realm:
    """`config` is its krb5.conf; the environment of whoever asks it names that."""

    folder: Path
    config: Path

    @property
    def environment(self) -> dict[str, str]:
        """For the KDC, and for whoever asks it."""
        return {
            "KRB5_CONFIG": str(self.config),
            "KRB5_KDC_PROFILE": str(self.folder / "kdc.conf"),
            "KRB5CCNAME": f"FILE:{self.folder}/tickets",
        }

    def user(self, name: str, password: str) -> None:
        self._administer(f"addprinc -pw {password} {name}")

    def user_keytab(self, user: str) -> Path:
        """The keys of a user, whose password is as it was: a ticket without typing it."""
        keytab = self.folder / "user.keytab"
        self._administer(f"ktadd -norandkey -k {keytab} {user}")
        return keytab

    def service(self, host: str) -> Path:
        """The keytab of HTTP at a host, which is what WinRM is asked for."""
        keytab = self.folder / f"{host}.keytab"
        self._administer(f"addprinc -randkey HTTP/{host}")
        self._administer(f"ktadd -k {keytab} HTTP/{host}")
        return keytab

    def _administer(self, order: str) -> None:
        self.run("kadmin.local", "-r", REALM, "-q", order)

    def run(self, *command: str) -> None:
        """CalledProcessError where it fails."""
        subprocess.run(command, env={**os.environ, **self.environment}, check=True, capture_output=True, timeout=60)


@contextmanager
def realm(folder: Path) -> Iterator[Realm]:
    """A new realm with a KDC that ends with the block."""
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    made = Realm(folder, folder / "krb5.conf")
    made.config.write_text(
        f"[libdefaults]\ndefault_realm = {REALM}\ndns_lookup_kdc = false\ndns_canonicalize_hostname = false\n"
        f"rdns = false\nudp_preference_limit = 1\n[realms]\n{REALM} = {{\n  kdc = 127.0.0.1:{port}\n}}\n"
        f"[domain_realm]\n.{REALM.lower()} = {REALM}\n"
    )
    (folder / "kdc.conf").write_text(
        f'[kdcdefaults]\nkdc_listen = ""\nkdc_tcp_listen = 127.0.0.1:{port}\n[realms]\n{REALM} = {{\n'
        f"  database_name = {folder}/principal\n  key_stash_file = {folder}/stash\n  max_life = 1h\n}}\n"
        f"[logging]\nkdc = FILE:{folder}/kdc.log\n"
    )
    made.run("kdb5_util", "create", "-s", "-r", REALM, "-P", "of-the-database")
    server = subprocess.Popen(
        ["krb5kdc", "-n", "-r", REALM], env={**os.environ, **made.environment},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        _wait_for(server, port)
        yield made
    finally:
        server.terminate()
        server.wait(timeout=10)


def _wait_for(server: subprocess.Popen[bytes], port: int) -> None:
    """Until the KDC takes connections. TimeoutError."""
    for _ in range(200):
        with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        if server.poll() is not None:
            break
        time.sleep(0.05)
    raise TimeoutError(f"krb5kdc does not listen at port {port}")
