"""What must not be flagged: the negative corpus, and live objects with the defaults of an API server."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.lint.engine import Report, lint
from ansible_collections.winkube.node.plugins.plugin_utils.lint.fix import apply_fixes, fix
from ansible_collections.winkube.node.plugins.plugin_utils.lint.manifest import live_documents
from ansible_collections.winkube.node.plugins.plugin_utils.lint.model import Severity
from ansible_collections.winkube.node.plugins.plugin_utils.lint.profile import NEWEST_MINOR, Profile, apply_settings
from ansible_collections.winkube.node.plugins.plugin_utils.lint.sources import read_paths

from .test_rules import BASE, FIXTURES, merged


def sentences(report: Report) -> list[str]:
    return [f"{each.rule} {each.object} {each.path}: {each.message}" for each in report.findings]


@pytest.mark.row("LM-71", "RS-13", "ST-10", "ST-05", "NW-18")
@pytest.mark.parametrize("minor", [24, 27, 33, NEWEST_MINOR])
def test_everything_that_works_has_no_finding(minor: int) -> None:
    report = lint(read_paths([str(FIXTURES / "clean")]), Profile(minor=minor))
    assert sentences(report) == []
    # The Pod of the Linux Deployment and seven for Windows: nothing was left out for want of being understood.
    assert report.pods == {"windows": 7, "linux": 1}


@pytest.mark.row("RS-04")
def test_the_documents_own_iis_sample_gets_the_warning_of_its_request() -> None:
    """F-31: request 300Mi and limit 800Mi differ; nothing else in it would keep it from running."""
    report = lint(read_paths([str(FIXTURES / "samples" / "iis.yml")]), Profile(minor=27))
    assert {each.rule for each in report.findings} == {
        "missing-os-name",
        "unequal-memory-request",
        "logs-not-on-stdout",
    }


PUBLIC = sorted((FIXTURES / "samples" / "public").glob("*.yml"))


def header(sample: Path, name: str) -> Any:
    """The value of `# <name>: ...` at the head of a sample; None where there is no such line."""
    head = itertools.takewhile(lambda line: line.startswith("#"), sample.read_text(encoding="utf-8").splitlines())
    values = (yaml.safe_load(line.partition(":")[2]) for line in head if line.startswith(f"# {name}: "))
    return next(values, None)


@pytest.mark.row("LM-71")
@pytest.mark.parametrize("minor", [27, 33, NEWEST_MINOR])
@pytest.mark.parametrize("sample", PUBLIC, ids=[sample.stem for sample in PUBLIC])
def test_what_sig_windows_publishes_has_no_error(sample: Path, minor: int) -> None:
    """`Cluster` is the cluster that the sample is for, `Errors` are the known reasons for its refusal."""
    profile = apply_settings(Profile(minor=minor), header(sample, "Cluster"))
    report = lint(read_paths([str(sample)]), profile)
    errors = [each for each in report.findings if each.severity is Severity.ERROR]
    assert {each.rule for each in errors} == set(header(sample, "Errors") or ()), [each.message for each in errors]
    assert report.pods["windows"] > 0 and report.pods["unknown"] == 0


def test_every_public_sample_names_what_it_is_modelled_on() -> None:
    for sample in PUBLIC:
        assert re.match(r"# Modelled on: [\w-]+/[\w-]+[ ,]", sample.read_text(encoding="utf-8")), sample.name


@pytest.mark.row("LM-71")
@pytest.mark.parametrize("sample", PUBLIC, ids=[sample.stem for sample in PUBLIC])
def test_fixing_what_sig_windows_publishes_brings_no_error(sample: Path) -> None:
    """With os.name, which --fix adds, the API server checks more."""
    profile = apply_settings(Profile(), header(sample, "Cluster"))
    documents = read_paths([str(sample)])
    before = lint(documents, profile)
    fixed = fix(documents, before, profile, ())
    assert [sentence for each in fixed for sentence in each.refused] == []
    after = lint(apply_fixes(documents, fixed), profile)
    assert {each.rule for each in after.at_least(Severity.ERROR)} == set(header(sample, "Errors") or ())
    assert "missing-os-name" not in {each.rule for each in after.findings}


LIVE: dict[str, Any] = {
    "metadata": {"uid": "p", "resourceVersion": "1"},
    "spec": {
        "dnsPolicy": "ClusterFirst",
        "terminationGracePeriodSeconds": 30,
        "securityContext": {},
        "enableServiceLinks": True,
        "containers": [
            {
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
                "volumeMounts": [{"name": "t", "mountPath": "/var/run/secrets/x", "readOnly": True}],
            }
        ],
        "volumes": [{"name": "t", "projected": {"defaultMode": 420, "sources": []}}],
    },
}


@pytest.mark.row("LM-71")
def test_defaults_of_the_api_server_are_nobodys_will() -> None:
    service: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "s", "uid": "s"},
        "spec": {
            "selector": {"app": "web"},
            "type": "ClusterIP",
            "sessionAffinity": "ClientIP",
            "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 10800}},
            "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack",
            "internalTrafficPolicy": "Cluster",
        },
    }
    pod = merged(yaml.safe_load(BASE), LIVE)
    assert sentences(lint(live_documents([pod, service]), Profile(builds=(20348,)))) == []
    # It is the values that are fine: the same Service on an older build, and with another time.
    service["spec"]["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"] = 60
    found = lint(live_documents([pod, service]), Profile(builds=(17763,))).findings
    assert {each.path for each in found} == {
        "spec.sessionAffinity",
        "spec.sessionAffinityConfig.clientIP.timeoutSeconds",
    }


@pytest.mark.row("LM-71")
@pytest.mark.parametrize("minor", [24, 27, NEWEST_MINOR])
def test_what_a_running_pod_and_its_service_say_of_themselves_is_no_matter(minor: int) -> None:
    """Status fields of pod and containers, conditions, several containers that share a volume, every kind of probe."""
    probes = {
        "livenessProbe": {"httpGet": {"path": "/", "port": 80}, "timeoutSeconds": 5},
        "readinessProbe": {"tcpSocket": {"port": 80}},
        "startupProbe": {"exec": {"command": ["cmd.exe", "/c", "exit 0"]}},
        "lifecycle": {
            "postStart": {"exec": {"command": ["cmd.exe", "/c", "echo started"]}},
            "preStop": {"httpGet": {"path": "/stop", "port": 80}},
        },
    }
    mounts = {"volumeMounts": [{"name": "shared", "mountPath": "C:\\shared"}]}
    resources = {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "100m"}}
    second = {"name": "log", "image": "registry.example.com/log:1", "resources": resources, **mounts}
    spec = {"containers": [{**probes, **mounts}, second], "volumes": [{"name": "shared", "emptyDir": {}}]}
    states = [{"name": "web", "ready": True, "restartCount": 1, "state": {"running": {"startedAt": "2026-01-01"}}}]
    status = {
        "phase": "Running",
        "podIP": "10.244.1.2",
        "podIPs": [{"ip": "10.244.1.2"}],
        "hostIP": "192.168.1.2",
        "qosClass": "Burstable",
        "conditions": [{"type": "Ready", "status": "True"}],
        "containerStatuses": states,
    }
    pod = merged(yaml.safe_load(BASE), {"spec": spec, "status": status})
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "s"},
        "spec": {"selector": {"app": "web"}, "type": "LoadBalancer", "ports": [{"port": 80}]},
        "status": {"loadBalancer": {"ingress": [{"ip": "203.0.113.1"}]}},
    }
    assert sentences(lint(live_documents([pod, service]), Profile(minor=minor))) == []


def test_what_another_object_of_the_input_made_is_not_checked_twice() -> None:
    pod = merged(yaml.safe_load(BASE), {"spec": {"hostPID": True}})
    template = {"metadata": pod["metadata"], "spec": pod["spec"]}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "uid": "d"},
        "spec": {"template": template},
    }
    owned = {"name": "web-1", "uid": "r", "ownerReferences": [{"uid": "d"}]}
    replica_set = {**deployment, "kind": "ReplicaSet", "metadata": owned}
    made = merged(pod, {"metadata": {"uid": "p", "ownerReferences": [{"uid": "r"}]}})
    report = lint(live_documents([made, replica_set, deployment]), Profile())
    assert [(each.object, each.line) for each in report.findings] == [("Deployment default/web", 0)]
