"""The heuristics over commands and environment: each place, each name and sign, and what must not be taken for one."""

from __future__ import annotations

from typing import Any

import pytest

from . import several
from .test_rules import findings, places

PLACES = [
    "command",
    "args",
    "livenessProbe.exec.command",
    "readinessProbe.exec.command",
    "startupProbe.exec.command",
    "lifecycle.postStart.exec.command",
    "lifecycle.preStop.exec.command",
]


def running(words: list[str], place: str = "command") -> dict[str, Any]:
    """A change of the base pod: its container runs this there."""
    value: Any = words
    for part in reversed(place.split(".")):
        value = {part: value}
    return {"spec": {"containers": [value]}}


def said(*words: str) -> list[str]:
    return sorted(f"{each.severity.name[0]} {each.rule}" for each in findings(running(list(words)), {}))


@pytest.mark.row("LM-32", "LM-33")
@pytest.mark.parametrize("place", PLACES)
def test_wherever_a_container_runs_something(place: str) -> None:
    patch = running(["nslookup", "x;", "ping", "8.8.8.8"], place)
    for rule, letter in (("dns-tool", "I"), ("ping-outside", "W")):
        assert places(rule, patch) == [f"{letter} spec.containers[0].{place}"]


@pytest.mark.row("LM-32")
@pytest.mark.parametrize("tool", ["nslookup", "dig"])
def test_tools_that_do_not_resolve_as_windows_does(tool: str) -> None:
    for words in ([tool, "db"], [f"{tool}.exe", "db"], ["cmd", "/c", f"{tool.upper()} db"]):
        assert said(*words) == ["I dns-tool"]
    assert said("powershell.exe", "-Command", f"Resolve-DnsName my{tool}s") == []
    (found,) = findings(running([tool, "db"]), {})
    assert found.message.startswith(f"{tool} in a command") and found.remedy == "Use Resolve-DnsName."


@pytest.mark.row("LM-32", "LM-33")
@pytest.mark.parametrize(
    ("host", "external"),
    [
        ("8.8.8.8", True),
        ("2606:4700::1111", True),
        ("example.com", True),
        ("10.0.0.1", False),
        ("192.168.1.1", False),
        ("db", False),
        ("db.shop.svc", False),
        ("db.shop.svc.cluster.local", False),
        ("printer.local", False),
        ("x.cluster.local", False),
    ],
)
def test_ping_to_the_outside_and_to_a_name_of_the_cluster(host: str, external: bool) -> None:
    expected = ["W ping-outside"] if external else ["I dns-tool"]
    for words in (["ping", host], ["ping.exe", "-n", "4", host], ["cmd", "/c", f"PING -t /4 {host}"]):
        assert [each for each in said(*words) if each != "W half-qualified-name"] == expected
    (found,) = [each for each in findings(running(["ping", host]), {}) if each.rule != "half-qualified-name"]
    assert found.message.startswith(f"ping {host}: " if external else "ping in a command")
    assert [each for each in said("curl.exe", f"https://{host}") if each != "W half-qualified-name"] == []


@pytest.mark.row("LM-33")
def test_what_to_use_instead_of_ping() -> None:
    (found,) = findings(running(["ping", "8.8.8.8"]), {})
    assert "ping 8.8.8.8" in found.message and "ICMP" in found.message and found.remedy.startswith("Use curl")


@pytest.mark.row("LM-64")
@pytest.mark.parametrize("folder", ["sbin", "usr", "etc", "dev", "proc", "sys", "root", "home"])
def test_folders_of_linux(folder: str) -> None:
    for words in ([f"/{folder}/x"], ["a", f"--file=/{folder}/x"], ["cmd", "/c", f"a /{folder}/x"]):
        assert said(*words) == ["I linux-variable"]
    (found,) = findings(running([f"/{folder}/x"]), {})
    assert found.message == f"a word of the command is /{folder}/x, which images for Windows do not have."
    assert said(f"C:/{folder}/x", f"D:\\{folder}\\x", f"https://a/{folder}/x") == []
    mounted = {"volumeMounts": [{"name": "v", "mountPath": f"/{folder}/x"}]}
    assert places("linux-variable", {"spec": {"containers": [{"args": [f"--file=/{folder}/x/y"], **mounted}]}}) == []


@pytest.mark.row("LM-64")
def test_programs_of_linux() -> None:
    """Images for both systems have programs of their own in /bin, and folders like /var and /tmp: C:\\bin, C:\\var."""
    for words in (["/bin/sh", "-c", "x"], ["sh", "-c", "x"], ["cat", "C:\\ready"], ["cmd", "/c", "/bin/ls"]):
        (found,) = said(*words)
        assert found.endswith(" missing-program"), words
    for words in (["/bin/aws-ebs-csi-driver"], ["/var/x"], ["a", "--tmp=/tmp/x"], ["/opt/x"], ["cmd", "/c", "type x"]):
        assert said(*words) == [], words
    bare = {"spec": {"containers": [{"image": "registry.k8s.io/e2e-test-images/busybox:1.29-4", "command": ["sh"]}]}}
    assert places("missing-program", bare) == []


def test_a_tool_of_unix_in_an_image_of_which_nothing_is_known() -> None:
    """Such an image may bring it, so that it is no error."""
    unknown = {"image": "registry.example.com/app:1-windows", "command": ["sh", "-c", "x"]}
    (found,) = findings({"spec": {"containers": [unknown]}}, {})
    assert (found.rule, found.severity.name) == ("missing-program", "WARNING")
    assert found.message.endswith("the container does not start if this image does not, either.")


@pytest.mark.row("LM-32")
def test_a_ping_of_itself_is_how_cmd_sleeps() -> None:
    assert said("cmd", "/c", "ping -n 1800 127.0.0.1 >NUL") == []
    assert said("cmd", "/c", "ping -n 1800 localhost >NUL & nslookup db") == ["I dns-tool"]


@pytest.mark.row("LM-64")
@pytest.mark.parametrize("signal", ["TERM", "HUP", "INT", "QUIT", "SIGTERM", "SIGHUP"])
def test_signals(signal: str) -> None:
    """No image for Windows has kill; PowerShell's cmdlet of that name knows no signals."""
    assert said("kill", f"-{signal}", "1")[0].endswith(" missing-program")
    assert said("powershell", "-Command", f"kill -{signal} 1")[0] == "W foreign-shell-syntax"
    assert said("taskkill", f"/{signal}", "1") == []


@pytest.mark.row("LM-65")
@pytest.mark.parametrize(
    ("file", "flagged"),
    [
        ("/etc/resolv.conf", True),
        ("/etc/hosts", True),
        ("C:\\Windows\\System32\\drivers\\etc\\hosts", True),
        ("C:/windows/system32/drivers/etc/hosts", True),
        ("/etc/hostsfile", False),
        ("/etc/passwd", False),
        ("C:\\app\\hosts", False),
    ],
)
def test_files_of_the_resolver(file: str, flagged: bool) -> None:
    mounted = {"volumeMounts": [{"name": "v", "mountPath": file}]}
    spec = {
        "volumes": [{"name": "v", "hostPath": {"path": file}}],
        "containers": [{**mounted, "env": [{"name": "R", "value": file}]}],
    }
    assert places("resolver-file", {"spec": spec}) == (
        [
            "W spec.containers[0].env[0].value",
            "W spec.containers[0].volumeMounts[0].mountPath",
            "W spec.volumes[0].hostPath.path",
        ]
        if flagged
        else []
    )


# -- names of Services -------------------------------------------------------------------------------------------------

NO_NAMESPACES = [
    "com",
    "org",
    "net",
    "io",
    "dev",
    "local",
    "localdomain",
    "internal",
    "lan",
    "cloud",
    "app",
    "gov",
    "edu",
    "mil",
    "info",
    "biz",
    "eu",
    "de",
    "uk",
    "us",
    "ch",
    "at",
    "fr",
    "cn",
    "jp",
    "ru",
    "exe",
    "dll",
    "json",
    "yml",
    "yaml",
    "txt",
    "log",
    "conf",
    "config",
    "cfg",
    "ini",
    "xml",
    "ps1",
    "cmd",
    "bat",
    "toml",
    "properties",
    "html",
    "js",
    "py",
    "sh",
    "zip",
    "pem",
    "crt",
    "key",
]


def half_name(name: str, value: str, *services: dict[str, Any]) -> list[str]:
    patch = {"spec": {"containers": [{"env": [{"name": name, "value": value}]}]}}
    return places("half-qualified-name", several.of(*services, pod=patch))


HALF = ["W spec.containers[0].env[0].value"]


@pytest.mark.row("LM-31")
@pytest.mark.parametrize("ending", NO_NAMESPACES)
def test_domains_of_the_world_and_endings_of_files_are_no_namespaces(ending: str) -> None:
    assert half_name("DB_HOST", f"db.{ending}") == []
    assert half_name("DB_HOST", f"db.{ending}x") == HALF


@pytest.mark.row("LM-31")
@pytest.mark.parametrize(
    "word", ["HOST", "ADDR", "SERVER", "ENDPOINT", "URL", "URI", "SERVICE", "BROKER", "DNS", "DSN"]
)
def test_names_of_variables_that_hold_a_host(word: str) -> None:
    assert half_name(f"DB_{word}", "db.prod") == HALF
    assert half_name(f"db{word.lower()}", "db.prod") == HALF
    assert half_name("DB_NAME", "db.prod") == []


@pytest.mark.row("LM-31")
@pytest.mark.parametrize(
    ("value", "flagged"),
    [
        ("kubernetes.default", True),
        ("kubernetes.default.svc", True),
        ("web.shop.svc:80", True),
        ("http://web.shop.svc/ready", True),
        ("amqp://user:secret@queue.shop.svc:5672", True),
        ("kubernetes", False),
        ("kubernetes.default.svc.cluster.local", False),
        ("web.shop.svc.cluster.local:80", False),
        ("db.prod", False),
        ("1.22", False),
        ("", False),
    ],
)
def test_the_short_name_and_the_full_one_and_not_the_in_betweens(value: str, flagged: bool) -> None:
    """In a variable with a neutral name: .svc, or the Service that every cluster has, shows what is meant."""
    assert half_name("X", value) == (HALF if flagged else [])


@pytest.mark.row("LM-31")
def test_a_service_of_the_input_is_known_by_name_and_namespace() -> None:
    other = {**several.service(), "metadata": {"name": "db", "namespace": "prod"}}
    assert half_name("X", "db.prod", other) == HALF
    assert half_name("X", "db.test", other) == []
    text = several.of(pod={"spec": {"containers": [{"env": [{"name": "H", "value": "kubernetes.default"}]}]}})
    (found,) = [each for each in findings(text, {}) if each.rule == "half-qualified-name"]
    assert found.remedy.startswith("Write kubernetes.default.svc.cluster.local, or the short name")
