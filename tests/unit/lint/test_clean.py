"""What must not be flagged: the negative corpus, and live objects with the defaults of an API server."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.lint.engine import Report, lint
from ansible_collections.winkube.node.plugins.plugin_utils.lint.manifest import live_documents
from ansible_collections.winkube.node.plugins.plugin_utils.lint.profile import NEWEST_MINOR, Profile
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
    """F-31: request 300Mi and limit 800Mi differ; nothing else is wrong with it that would stop it."""
    report = lint(read_paths([str(FIXTURES / "samples" / "iis.yml")]), Profile(minor=27))
    assert {each.rule for each in report.findings} == {"SC-01", "RS-04", "OB-02"}


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
    service = {
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
