"""Kerberos with a real KDC: Ansible's winrm plugin and pywinrm log in to the lab's WinRM, and seal their messages."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.lab import Bench, Run
from tests.integration.records import leaks
from tests.integration.site import converge
from tests.lab.server.files import psrp_variables, winrm_variables
from tests.lab.server.host import NodeHost
from tests.lab.server.nodes import WINRM_PASSWORD
from tests.real import kdc

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(kdc.missing() is not None, reason=f"lane real: {kdc.missing()}"),
]
HOST = f"win1.{kdc.REALM.lower()}"
PAGE = Path(__file__).parents[2] / "docs" / "operations.md"
USER = f"Administrator@{kdc.REALM}"


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    try:
        yield made
        assert leaks(made) == []
    finally:
        made.close()


@pytest.fixture
def realm(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[kdc.Realm]:
    folder = tmp_path_factory.mktemp("kdc")
    with kdc.realm(folder) as made:
        made.user("Administrator", WINRM_PASSWORD)
        for name, value in made.environment.items():
            monkeypatch.setenv(name, value)
        yield made


def inventory(bench: Bench, address: str = HOST, **variables: Any) -> Path:
    wanted = {
        "ansible_user": USER,
        "ansible_password": WINRM_PASSWORD,
        **winrm_variables(bench.lab.door.url, bench.lab.door.ca, 5985, "kerberos"),
        "ansible_winrm_kinit_env_vars": '["KRB5_CONFIG"]',
        **variables,
    }
    lines = ["[windows]", f"win1 ansible_host={address}", "[windows:vars]"]
    return bench.file("kerberos.ini", "\n".join([*lines, *(f"{key}={value}" for key, value in wanted.items())]) + "\n")


def ping(bench: Bench, realm: kdc.Realm, **variables: Any) -> Run:
    reach = inventory(bench, **variables)
    return bench.ansible("-i", reach, "win1", "-m", "ansible.windows.win_ping", env=realm.environment)


def joined(bench: Bench, realm: kdc.Realm, address: str = HOST) -> NodeHost:
    """win1, a member of the realm as HOST."""
    return bench.node("win1", address, realm=kdc.REALM, keytab=str(realm.service(HOST)))


def test_containerd_from_bare_and_again(bench: Bench, realm: kdc.Realm, monkeypatch: pytest.MonkeyPatch) -> None:
    host = joined(bench, realm)
    usual = bench.environment()
    monkeypatch.setattr(bench, "environment", lambda: {**usual, **realm.environment})
    reach = inventory(bench)
    assert converge(bench, "-i", reach).recap["win1"].changed == 2
    assert host.in_turn(lambda: host.node.services.state("containerd")) == "running"
    bench.reset_ledger()
    assert converge(bench, "-i", reach).recap["win1"].changed == 0
    account = bench.account()
    assert (account.remote_calls, account.winrm_commands, account.failed_logins) == (1, 1, 0)


def test_messages_are_sealed_by_the_tickets_keys(bench: Bench, realm: kdc.Realm) -> None:
    """A node as Windows is takes no plain message over HTTP."""
    bench.node("win1", HOST, realm=kdc.REALM, keytab=str(realm.service(HOST)), winrm_unencrypted=False)
    assert ping(bench, realm).rc == 0
    refused = ping(bench, realm, ansible_winrm_message_encryption="never")
    assert refused.rc == 4, refused
    assert "Bad HTTP response returned from server. Code 500" in refused.output


@pytest.mark.parametrize("connection", ["winrm", "psrp"])
def test_over_https(bench: Bench, realm: kdc.Realm, connection: str) -> None:
    joined(bench, realm)
    reach, login = (winrm_variables, "ansible_winrm") if connection == "winrm" else (psrp_variables, "ansible_psrp")
    variables = reach(bench.lab.door.url, bench.lab.door.ca, 5986, "kerberos")
    run = ping(
        bench, realm, **variables, **({"ansible_psrp_negotiate_service": "HTTP"} if login.endswith("psrp") else {})
    )
    assert run.rc == 0, run.output
    assert bench.account().failed_logins == 0


def test_a_ticket_that_is_over_is_told(bench: Bench, realm: kdc.Realm) -> None:
    joined(bench, realm)
    realm.run("kinit", "-l", "1s", "-k", "-t", str(realm.user_keytab(USER)), USER)
    time.sleep(1.5)
    run = ping(bench, realm, ansible_winrm_kinit_mode="manual", ansible_password="")
    assert run.rc == 4, run.output
    assert "Ticket expired" in run.output and "`Ticket expired`" in PAGE.read_text(encoding="utf-8")
    assert bench.calls() == 0


@pytest.mark.parametrize("by", ["password", "ticket"])
def test_psrp_logs_in_by_kerberos(bench: Bench, realm: kdc.Realm, by: str) -> None:
    """pyspnego gets a ticket with the password, without kinit; or takes the one that is there."""
    joined(bench, realm)
    variables = psrp_variables(bench.lab.door.url, bench.lab.door.ca, 5985, "kerberos")
    if by == "ticket":
        realm.run("kinit", "-k", "-t", str(realm.user_keytab(USER)), USER)
        variables |= {"ansible_user": "", "ansible_password": ""}
    run = ping(bench, realm, **variables, ansible_psrp_negotiate_service="HTTP")
    assert run.rc == 0, run.output
    assert (bench.account().pipelines, bench.account().failed_logins) == (1, 0)


@pytest.mark.parametrize(
    ("address", "variables", "sentence"),
    [
        (HOST, {"ansible_password": "wrong"}, ("kinit: Password incorrect",)),
        (HOST, {"ansible_user": "Nobody@" + kdc.REALM}, ("Client '", "not found in Kerberos database")),
        (HOST, {"ansible_winrm_kinit_mode": "manual"}, ("find client principal", "in cache")),
        ("192.168.122.220", {}, ("Server HTTP/", "not found in Kerberos database")),
        (HOST, {"ansible_winrm_kinit_env_vars": "[]"}, ("Cannot find KDC for realm",)),
    ],
)
def test_what_goes_wrong_is_said_and_touches_nothing(
    bench: Bench, realm: kdc.Realm, address: str, variables: dict[str, str], sentence: tuple[str, ...]
) -> None:
    """The sentences stand in docs/operations.md with what to do."""
    joined(bench, realm, address)
    before = bench.dump()
    run = ping(bench, realm, address=address, **variables)
    assert run.rc == 4, run.output
    page = PAGE.read_text(encoding="utf-8")
    assert [part for part in sentence if part not in run.output or part not in page] == [], run.output
    assert bench.dump() == before and bench.calls() == 0
