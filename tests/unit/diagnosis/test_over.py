"""A state that is over in the same text is no finding, whatever order its lines have."""

from __future__ import annotations

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.explain import Worth, explain
from ansible_collections.winkube.node.plugins.plugin_utils.words.messages import about

POD = """Name:             {name}
Containers:
  iis:
    Ready:          {ready}
    Restart Count:  {restarts}
Conditions:
  Type              Status
  Initialized       True
  Ready             {ready}
  ContainersReady   {ready}
Events:
  Type     Reason     Age                    From               Message
  ----     ------     ----                   ----               -------
{events}
"""
PROBE = '  Warning  Unhealthy  {age} (x4 over 8m50s)  kubelet  Readiness probe failed: Get "http://10.0.0.1/": EOF'
MOUNT = (
    '  Warning  FailedMount  {age} (x3 over 9m)  kubelet  MountVolume.SetUp failed for volume "a" : '
    "references non-existent secret key: b"
)
PULL = (
    '  Warning  Failed  {age}  kubelet  Failed to pull image "h/a:1": failed to do request: Head "https://h/v2/a": '
    "tls: failed to verify certificate: x509: certificate signed by unknown authority"
)
SIDECAR = "  Normal  Started  {age}  kubelet  Started container sidecar"
LIST = "Events:\n  Type  Reason  Age  From  Message\n  ----  ------  ---  ----  -------\n{}\n"
STARTED = "  Normal  Started  {age}  kubelet  Started container iis"
RESTARTING = "  Warning  BackOff  {age} (x9 over 9m)  kubelet  Back-off restarting failed container iis in pod a"


def pod(*events: str, ready: bool = True, restarts: int = 0, name: str = "iis") -> str:
    """As kubectl describes it; each event with how long ago it was."""
    filled = "\n".join(each.format(age=age) for each, age in zip(events[::2], events[1::2], strict=True))
    return POD.format(name=name, ready=ready, restarts=restarts, events=filled)


@pytest.mark.parametrize(
    ("text", "findings"),
    [
        (pod(PROBE, "8m30s"), ()),
        (pod(PROBE, "8m30s", ready=False), ("pod.probe",)),
        (pod(PROBE, "8m30s", restarts=3), ("pod.probe",)),
        (pod(PROBE, "8m", name="one") + pod(PROBE, "8m", name="two", ready=False), ("pod.probe",)),
        (pod(PROBE, "8m", name="one", ready=False) + pod(PROBE, "8m", name="two"), ("pod.probe",)),
        (pod(MOUNT, "9m", STARTED, "8m"), ()),
        (pod(MOUNT, "8m", STARTED, "8m"), ()),
        (pod(STARTED, "9m", MOUNT, "8m"), ("volume.object-missing",)),
        (pod(STARTED, "9m", MOUNT, "8m", ready=False), ("volume.object-missing",)),
        (pod(MOUNT, "9m", name="one") + pod(STARTED, "8m", name="two"), ("volume.object-missing",)),
        (pod(PULL, "9m", SIDECAR, "8m", ready=False), ("image.registry-certificate",)),
        (pod(PULL, "9m", STARTED, "8m"), ()),
        (pod(PULL, "9m", STARTED, "8m", restarts=1), ("image.registry-certificate",)),
        (LIST.format(MOUNT.format(age="9m")) + LIST.format(STARTED.format(age="8m")), ("volume.object-missing",)),
        (pod(RESTARTING, "20s", STARTED, "5s", restarts=9, ready=False), ("pod.stuck",)),
    ],
)
def test_what_kubectl_describes_as_ready_or_started_is_over(text: str, findings: tuple[str, ...]) -> None:
    assert about(text) == findings


ROW = "{namespace}  {age}  {kind}  {reason}  {thing}  {said}"
NO_SECRET = 'MountVolume.SetUp failed for volume "a" : references non-existent secret key: b'


@pytest.mark.parametrize(
    ("namespace", "thing", "age", "findings"),
    [
        ("one", "pod/a", "5m", ()),
        ("two", "pod/a", "5m", ("volume.object-missing",)),
        ("one", "pod/b", "5m", ("volume.object-missing",)),
        ("one", "pod/a", "12m", ("volume.object-missing",)),
    ],
)
def test_an_event_is_over_by_a_later_one_of_the_same_pod(
    namespace: str, thing: str, age: str, findings: tuple[str, ...]
) -> None:
    failed = ROW.format(namespace="one", age="9m", kind="Warning", reason="FailedMount", thing="pod/a", said=NO_SECRET)
    said = "Started container a"
    started = ROW.format(namespace=namespace, age=age, kind="Normal", reason="Started", thing=thing, said=said)
    for lines in ((failed, started), (started, failed)):
        assert about("\n".join(lines)) == findings


@pytest.mark.parametrize(("node", "over"), [("node/win1", True), ("node/win2", False)])
def test_a_node_that_is_ready_ends_what_its_own_kubelet_said(node: str, *, over: bool) -> None:
    full = ROW.format(
        namespace="default",
        age="9m",
        kind="Warning",
        reason="InvalidDiskCapacity",
        thing="node/win1",
        said="invalid capacity 0",
    )
    said = f"Node {node[5:]} status is now: NodeReady"
    ready = ROW.format(namespace="default", age="5m", kind="Normal", reason="NodeReady", thing=node, said=said)
    worth = Worth.NOTHING if over else Worth.PLACES
    assert explain({"it": f"{full}\n{ready}"}).worth == explain({"it": f"{ready}\n{full}"}).worth == worth


@pytest.mark.parametrize("words", ["is now running", "service is now running", "service entered the running state"])
def test_newest_first_a_program_that_runs_again_ends_what_it_said_before(words: str) -> None:
    failed = "11/20/2026 9:59:03 AM 1000 Error containerd failed: {}"
    line = failed.format(
        'invalid plugin config: "systemd_cgroup" only works for runtime io.containerd.runtime.v1.linux'
    )
    runs = f"11/20/2026 10:00:09 AM 7036 Information The containerd {words}."
    assert about(line) != ()
    assert about(f"{runs}\n{line}") == about(f"{line}\n{runs}") == ()
    earlier = runs.replace("10:00:09", "9:58:00")
    assert about(f"{line}\n{earlier}") == about(line)
    other = runs.replace("containerd", "kubelet")
    assert about(f"{other}\n{line}") == about(line)


@pytest.mark.parametrize(("times", "findings"), [(1, ()), (2, ("start.ended",)), (10, ("start.ended",))])
def test_a_service_that_ends_again_and_again_is_not_well_where_it_was_started_last(
    times: int, findings: tuple[str, ...]
) -> None:
    ended = f"The kubelet service terminated unexpectedly.  It has done this {times} time(s)."
    runs = "11/20/2026 10:00:09 AM 7036 Information The kubelet service entered the running state."
    assert about(f"11/20/2026 10:00:04 AM 7034 Error {ended}\n{runs}") == findings


NO_LOGIN = (
    "E1120 10:00:0{at} {process} run.go:72] failed to run Kubelet: unable to load bootstrap kubeconfig: "
    "stat C:\\k\\b.conf: no such file or directory"
)


@pytest.mark.parametrize(("at", "findings"), [("5.05", ()), ("5.2", ("start.no-login",))])
def test_within_a_second_the_later_line_counts(at: str, findings: tuple[str, ...]) -> None:
    failed, works = NO_LOGIN.format(at=at, process=7), WORKS.format(process=7)
    assert about(f"{failed}\n{works}") == about(f"{works}\n{failed}") == findings


UNKNOWN = "E1120 10:00:0{second}.1 {process} {file}:9] The moon is full: {said}"
WORKS = "I1120 10:00:05.1 {process} kubelet_node_status.go:75] Successfully registered node win1"


@pytest.mark.parametrize(
    ("line", "process", "worth"),
    [
        (UNKNOWN.format(second=1, process=7, file="odd.go", said="odd"), 7, Worth.NOTHING),
        (UNKNOWN.format(second=9, process=7, file="odd.go", said="odd"), 7, Worth.PLACES),
        (UNKNOWN.format(second=1, process=8, file="odd.go", said="odd"), 7, Worth.PLACES),
        (UNKNOWN.format(second=1, process=1, file="odd.go", said="odd"), 1, Worth.PLACES),
        (UNKNOWN.format(second=1, process=8, file="kubelet.go", said="odd"), 7, Worth.NOTHING),
        (UNKNOWN.format(second=1, process=7, file="odd.go", said="odd (0x803b0099)"), 7, Worth.PLACES),
        (UNKNOWN.format(second=1, process=7, file="odd.go", said='volumeID(a) of pod "a/b"'), 7, Worth.PLACES),
    ],
)
def test_a_place_is_over_where_its_process_or_program_works_later(line: str, process: int, worth: Worth) -> None:
    assert explain({"it": f"{line}\n{WORKS.format(process=process)}\nI1120 10:00:09.1 9 a.go:1] on"}).worth == worth


@pytest.mark.parametrize(
    ("line", "alone", "in_a_log"),
    [
        ("W1120 10:00:00.1 7 a.go:1] MountVolume.SetUp of a is slow", Worth.PLACES, Worth.NOTHING),
        ("W1120 10:00:00.1 7 a.go:1] MountVolume.SetUp of a failed", Worth.PLACES, Worth.PLACES),
        ("W1120 10:00:00.1 7 a.go:1] The moon is not found", Worth.PLACES, Worth.NOTHING),
        ("W1120 10:00:00.1 7 a.go:1] The moon (0x803b0099)", Worth.PLACES, Worth.PLACES),
        ("E1120 10:00:00.1 7 a.go:1] The moon is full", Worth.PLACES, Worth.PLACES),
        ('E1120 10:00:00.1 7 a.go:1] "The moon is full" err="<nil>"', Worth.NOTHING, Worth.NOTHING),
        ("E1120 10:00:00.1 7 a.go:1] The moon does not exist, ignoring", Worth.NOTHING, Worth.NOTHING),
        ("2026/11/20 10:00:00 [cni-net] Plugin azure-vnet started.", Worth.PLACES, Worth.NOTHING),
        ("2026/11/20 10:00:00 [cni-net] Plugin azure-vnet failed.", Worth.PLACES, Worth.PLACES),
        ("Readiness: http-get http://:80/ timeout=1s #failure=3", Worth.NOTHING, Worth.NOTHING),
        ("default 5m Warning Odd pod/a The moon", Worth.PLACES, Worth.PLACES),
        ("default 5m Normal Odd pod/a PullImage failed", Worth.NOTHING, Worth.NOTHING),
        ("11/20/2026 10:00:00 AM 7026 Information The driver did not load", Worth.NOTHING, Worth.NOTHING),
    ],
)  # fmt: skip
def test_in_a_log_a_place_is_told_by_level_code_or_words_of_a_failure(line: str, alone: Worth, in_a_log: Worth) -> None:
    log = "\n".join((line, *(f"I1120 10:00:0{each}.1 9 b.go:1] on" for each in range(3))))
    assert (explain({"it": line}).worth, explain({"it": log}).worth) == (alone, in_a_log)
