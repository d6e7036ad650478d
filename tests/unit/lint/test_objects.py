"""What the linter says that the API server rejects, in objects of every kind, against a real API server's record."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.corpus import objects

pytestmark = pytest.mark.slow

RECORDS = sorted(path.stem for path in objects.RECORDS.glob("*.json"))
# Kinds that rules speak about; GMSACredentialSpec is none of Kubernetes' own.
KINDS = {
    *("Pod", "Deployment", "DaemonSet", "StatefulSet", "ReplicaSet", "ReplicationController", "Job", "CronJob"),
    *("Service", "PersistentVolume", "PersistentVolumeClaim", "StorageClass", "ConfigMap", "Node", "RuntimeClass"),
}


@pytest.mark.parametrize("minor", RECORDS)
def test_the_linter_rejects_what_the_api_server_rejects(minor: str) -> None:
    found = objects.compare(minor)
    assert found.differences == ()
    assert found.unasked <= 0.2 * found.asked, "record again: python -m tests.real.objects"
    assert found.agree == found.asked > 900
    assert {"service-type", "ipv6-only-service", "pod-security", "runtime-class", "host-pid"} <= found.rules


@pytest.mark.parametrize("minor", RECORDS)
def test_every_kind_that_rules_speak_about_was_asked(minor: str) -> None:
    known = objects.verdicts(minor)
    asked, refused = Counter[str](), Counter[str]()
    for scene in objects.scenes():
        for number, value in enumerate(scene.objects):
            if verdict := known.get(objects.name_of(scene, number)):
                asked[value["kind"]] += 1
                refused[value["kind"]] += verdict.status >= 400
    assert set(asked) >= KINDS
    assert all(refused[kind] for kind in ("Deployment", "DaemonSet", "StatefulSet", "Job", "CronJob", "Service", "Pod"))


def test_a_verdict_of_another_object_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = next(each for each in objects.scenes() if each.name == "service-type-0-flagged")
    changed = objects.Scene(scene.name, ({**scene.objects[0], "spec": {"type": "ClusterIP"}}, *scene.objects[1:]))
    assert objects.digest(changed) != objects.digest(scene)
    monkeypatch.setattr(objects, "scenes", lambda: (changed,))
    found = objects.compare.__wrapped__(RECORDS[-1])
    assert (found.asked, found.unasked, found.rules) == (0, len(changed.objects), frozenset())


def test_a_rejection_that_the_api_server_does_not_know_is_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = next(each for each in objects.scenes() if each.name == "service-type-0-flagged")
    said = {
        objects.name_of(scene, number): objects.Verdict(objects.name_of(scene, number), objects.digest(scene), 201)
        for number in range(len(scene.objects))
    }
    monkeypatch.setattr(objects, "scenes", lambda: (scene,))
    monkeypatch.setattr(objects, "verdicts", lambda _minor: said)
    found = objects.compare.__wrapped__(RECORDS[-1])
    assert found.agree == found.asked - 1 and "only the linter ['spec.type']" in found.differences[0]
