"""Planted secrets turn up nowhere but where they belong: the service's own environment.

Also at -vvv, where Ansible's connection plugin prints every answer of the node as it came: a node gives only
fingerprints of the values, also to the run that changes one.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.integration.lab import Bench
from tests.integration.records import PRIVATE_LINE, leaks, unpacked
from tests.integration.site import URL, checksum, converge, site
from tests.lab.cluster.access import encoded
from tests.lab.machine.faults import ServiceFault

SECRET = "plantedsecret4711"


def service(password: str) -> dict[str, object]:
    return {"environment": {"HTTPS_PROXY": f"http://ann:{password}@proxy:3128"}}


def test_a_proxys_password_is_nowhere_but_in_the_services_environment(bench: Bench) -> None:
    host = bench.node()
    bench.plant(SECRET, "the proxy's password", ": the registry")
    env = {"ANSIBLE_CACHE_PLUGIN": "jsonfile", "ANSIBLE_CACHE_PLUGIN_CONNECTION": str(bench.directory / "facts")}
    first = converge(bench, "-v", "--diff", env=env, winkube_containerd_service=service("firstplantedsecret"))
    old = bench.plant("firstplantedsecret", "the proxy's old password")
    second = converge(bench, "-vvv", "--diff", env=env, winkube_containerd_service=service(SECRET))
    assert "changed environment of the service containerd" in second.output
    again = converge(bench, "-v", env=env, winkube_containerd_service=service(SECRET))
    assert again.recap["win1"].changed == 0
    assert bench.calls() <= 3 + 2 + 1

    loud = converge(bench, "-vvv", env=env, winkube_containerd_service=service(SECRET))
    assert loud.recap["win1"].changed == 0
    assert "HTTPS_PROXY=sha256:" in loud.stdout, "what the node says of it is shown there"
    for run in (first, second, again, loud):
        assert not any(secret in run.stdout + run.stderr for secret in (SECRET, old))
    for path in (bench.directory / "facts").iterdir():
        assert SECRET not in path.read_text(encoding="utf-8")
    dump = host.in_turn(host.node.dump)
    registry = json.dumps(dump["registry"])
    assert registry.count(SECRET) == 1, "it is where the service finds it"
    files = host.in_turn(
        lambda: {path: host.node.drive.read(path) for path, entry in host.node.drive.walk() if entry.kind == "file"}
    )
    assert [path for path, content in files.items() if SECRET.encode() in content] == []


def test_a_failed_change_puts_the_old_value_back(bench: Bench) -> None:
    host = bench.node()
    bench.plant(SECRET, "the proxy's new password")
    converge(bench, winkube_containerd_service=service("first"))
    host.in_turn(lambda: host.node.faults.service("containerd", ServiceFault("no_pipe", times=1)))
    failed = site(bench, winkube_containerd_service=service(SECRET))
    assert failed.rc != 0
    assert SECRET not in failed.stdout + failed.stderr
    registry = json.dumps(host.in_turn(host.node.dump)["registry"])
    assert SECRET not in registry
    assert "http://ann:first@proxy:3128" in registry


def test_what_windows_would_log_of_a_run_is_looked_through_and_has_no_secret(bench: Bench) -> None:
    """Event 4104 has the text of each script block, 4688 each command line: not what variables hold."""
    host = bench.node()
    bench.plant(SECRET, "the proxy's password", ": the registry")
    converge(bench, winkube_containerd_service=service(SECRET))
    logged = "\n".join(bench.lab.ledger.logged("win1"))
    for block in ("function ConvertFrom-NodePacked", "powershell", "$input"):
        assert block in logged, "the module's script, the command line, Ansible's wrapper"
    started = host.in_turn(lambda: list(host.node.processes.started))
    assert any("sc.exe" in line for line in started) and any("-EncodedCommand" in line for line in started), started
    assert leaks(bench) == []
    host.in_turn(lambda: host.node.run(r"C:\Windows\System32\sc.exe", ["config", "containerd", "password=", SECRET]))
    bench.lab.ledger.log("win1", f"$password = '{SECRET}'")
    where = " ".join(leaks(bench))
    assert "the event log of win1" in where and "(4688)" in where
    host.node.processes.started.clear()
    bench.lab.ledger._logged.clear()


def test_what_has_leaked_is_noticed_after_each_scenario(bench: Bench) -> None:
    host = bench.node(password="a password to log in with")
    cluster = bench.cluster()
    old = {"metadata": {"name": "old"}, "data": {"token-secret": encoded("abcdef0123456789")}}
    cluster.request("POST", "/api/v1/namespaces/kube-system/secrets", old)
    cluster.request("DELETE", "/api/v1/namespaces/kube-system/secrets/old")
    bench.plant(SECRET, "the proxy's password", ": the registry")
    assert leaks(bench) == []
    environment = r"HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\Environment"
    key = (bench.lab.directory / "client_key").read_text(encoding="utf-8").splitlines()
    host.in_turn(lambda: host.node.registry.set(environment, "HTTPS_PROXY", "string", SECRET))
    host.in_turn(lambda: host.node.registry.set(environment, "TOKEN", "string", "abcdef.abcdef0123456789"))
    host.in_turn(lambda: host.node.drive.write(r"C:\x.log", SECRET.encode("utf-16-le")))
    host.in_turn(lambda: host.node.drive.write(r"C:\private", SECRET.encode()))
    host.in_turn(lambda: host.node.drive.set_sddl(r"C:\private", "O:BAD:PAI(A;;FA;;;SY)(A;;FA;;;BA)"))
    found = {
        "facts/win1": SECRET,
        "copy": key[PRIVATE_LINE],
        "log": base64.b64encode(b"a password to log in with").decode(),
    }
    for name, text in found.items():
        bench.file(name, text)
    bench.files.clear()
    assert sorted(leaks(bench)) == [
        "the key that Ansible logs in with is in copy",
        "the password of win1 is in log",
        "the proxy's password is in facts/win1",
        r"the proxy's password is in win1: C:\x.log",
        "token-secret of the Secret old is in win1: the registry",
    ]
    bench.files.update(bench.directory / name for name in found)
    host.in_turn(lambda: host.node.drive.delete(r"C:\x.log"))
    host.in_turn(lambda: host.node.registry.delete_value(environment, "TOKEN"))


def test_the_secrets_of_addresses_are_shown_nowhere(bench: Bench) -> None:
    """User and password and a signed query of a source, in what is told, noted on the node and recorded; the same
    address signed again is the same source."""
    bench.node()
    secret = bench.plant("planted-in-an-address", "a part of an address")
    url = URL.replace("http://", f"http://ann:{secret}@")
    signed: dict[str, Any] = {"winkube_containerd_url": f"{url}?sig={secret}&X-Amz-Signature={secret}"}
    verified: dict[str, Any] = {"winkube_containerd_checksum": checksum()}
    wrong = site(bench, "-v", "--diff", **signed, winkube_containerd_checksum=f"sha256:{64 * 'a'}")
    assert wrong.rc != 0 and "http://***@xyz/containerd" in wrong.output, wrong
    made = converge(bench, "-v", "--diff", **signed, **verified)
    assert "from http://***@xyz/containerd-1.7.11-windows-amd64.tar.gz?sig=***" in made.output, made
    again: dict[str, Any] = {"winkube_containerd_url": f"{url}?sig={secret}2&X-Amz-Signature={secret}2"}
    assert converge(bench, "-v", **again, **verified).recap["win1"].changed == 0
    missing: dict[str, Any] = {name: value.replace("tar.gz", "rar") for name, value in signed.items()}
    assert "'http://***@xyz/" in site(bench, **missing).output
    proxy = site(bench, winkube_proxy=f"http://ann:{secret}:proxy")
    assert "winkube_proxy: 'http://ann:***' is not a proxy" in proxy.output, proxy
    assert leaks(bench) == []


@pytest.mark.parametrize(
    "wrap",
    [
        lambda data: data,
        gzip.compress,
        base64.b64encode,
        lambda data: base64.b64encode(gzip.compress(data)),
        lambda data: json.dumps({"a": base64.b64encode(b"x" * 90 + data).decode()}).replace("/", "\\/").encode(),
        lambda data: base64.encodebytes(b"x" * 90 + data),
        lambda data: base64.urlsafe_b64encode(b"\xff\xfe\xfb" * 9 + data).rstrip(b"="),
        lambda data: base64.b64encode(f"& '{base64.b64encode(gzip.compress(data)).decode()}'".encode("utf-16-le")),
        lambda data: base64.b64encode(b"{" + base64.b64encode(gzip.compress(base64.b64encode(data))) + b"}"),
    ],
)
def test_the_search_sees_through_packing(wrap: Callable[[bytes], bytes]) -> None:
    hidden = b"before " + wrap(b"a long text around " + SECRET.encode() + b", which goes on") + b" after"
    found = b"\n".join(unpacked(hidden))
    assert SECRET.encode() in found or SECRET.encode("utf-16-le") in found


def test_what_ansible_debug_shows_of_a_batch_has_no_secret(bench: Bench) -> None:
    """It prints the arguments of each module, the packed batch among them."""
    bench.node()
    bench.plant(SECRET, "the proxy's password", ": the registry")
    run = site(bench, "-vvvvv", winkube_containerd_service=service(SECRET), env={"ANSIBLE_DEBUG": "1"})
    assert run.rc == 0 and "done with _execute_module (winkube.node.node_apply, {batch, " in run.output, run
    assert [what for what in leaks(bench) if "std" in what] == []
