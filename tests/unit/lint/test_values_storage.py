"""Volumes and mounts: each type, option and field by name, and those that work and must be left alone."""

from __future__ import annotations

from typing import Any

import pytest

from . import several
from .test_rules import findings, places

DOCKER = {"profile": "1.23", "runtime": "docker"}


def mounting(volume: dict[str, Any], **mount: Any) -> dict[str, Any]:
    """A change of the base pod: the volume `v`, mounted in its container at C:/v unless the mount says otherwise."""
    mounted = {"name": "v", "mountPath": "C:\\v", **mount}
    return {"spec": {"volumes": [{"name": "v", **volume}], "containers": [{"volumeMounts": [mounted]}]}}


EMPTY: dict[str, Any] = {"emptyDir": {}}
SECRET = {"secret": {"secretName": "s"}}
MOUNT = "spec.containers[0].volumeMounts[0]"


# -- ways of mounting --------------------------------------------------------------------------------------------------


@pytest.mark.row("LM-38", "LM-39", "ST-05")
@pytest.mark.parametrize("field", ["subPath", "subPathExpr"])
def test_parts_of_a_volume_by_both_fields(field: str) -> None:
    """A part of a Secret has a row of its own, and nothing is reported twice."""
    for volume, part in ((EMPTY, "x.json"), ({"configMap": {"name": "c"}}, "x")):
        patch = mounting(volume, **{field: part})
        assert places("sub-path", patch) == [f"W {MOUNT}.{field}"]
        assert places("sub-path", patch, **DOCKER) == [f"E {MOUNT}.{field}"]
        assert places("secret-sub-path", patch) == []
    # A folder of a volume works with containerd.
    assert places("sub-path", mounting(EMPTY, **{field: "x"})) == []
    assert places("sub-path", mounting(EMPTY, **{field: "x"}), **DOCKER) == [f"E {MOUNT}.{field}"]
    patch = mounting(SECRET, **{field: "x"})
    assert places("secret-sub-path", patch) == [f"I {MOUNT}.{field}"]
    assert places("secret-sub-path", patch, **DOCKER) == [f"I {MOUNT}.{field}"]
    assert places("sub-path", patch) == []


@pytest.mark.row("LM-48", "ST-01")
@pytest.mark.parametrize(
    ("volume", "mount", "flagged"),
    [
        ({"hostPath": {"path": "C:\\a.txt", "type": "File"}}, {"mountPath": "C:\\a"}, True),
        ({"hostPath": {"path": "C:\\a", "type": "Directory"}}, {"mountPath": "C:\\a"}, False),
        ({"hostPath": {"path": "C:\\a.txt"}}, {"mountPath": "C:\\a"}, False),
        ({"configMap": {"name": "c"}}, {"mountPath": "C:\\app\\web.config", "subPath": "web.config"}, True),
        ({"configMap": {"name": "c"}}, {"mountPath": "/app/web.config", "subPath": "web.config"}, True),
        ({"configMap": {"name": "c"}}, {"mountPath": "C:\\app\\config", "subPath": "x"}, False),
        ({"configMap": {"name": "c"}}, {"mountPath": "C:\\app.d\\config", "subPath": "x"}, False),
        ({"configMap": {"name": "c"}}, {"mountPath": "C:\\app\\web.config"}, False),
    ],
)
def test_single_files_with_docker(volume: dict[str, Any], mount: dict[str, Any], flagged: bool) -> None:
    patch = mounting(volume, **mount)
    assert places("single-file-mount", patch, **DOCKER) == ([f"W {MOUNT}.mountPath"] if flagged else [])
    assert places("single-file-mount", patch, profile="1.23", runtime="containerd") == []


@pytest.mark.row("LM-40", "ST-02", "ST-05", "ST-10")
@pytest.mark.parametrize(
    ("path", "read_only", "flagged"),
    [
        ("C:\\out", None, True),
        ("C:\\out", False, True),
        ("C:\\out", True, False),
        ("\\\\.\\pipe\\engine", None, False),
        ("//./pipe/engine", None, False),
        ("\\\\.\\PIPE\\engine", None, False),
        ("\\\\server\\share", None, True),
    ],
)
def test_writing_to_the_host(path: str, read_only: bool | None, flagged: bool) -> None:
    patch = mounting({"hostPath": {"path": path}}, **({} if read_only is None else {"readOnly": read_only}))
    assert places("writable-host-path", patch, **DOCKER) == ([f"W {MOUNT}.mountPath"] if flagged else [])
    assert places("writable-host-path", patch) == [], "with containerd the folder is the host's own"
    options = {"windowsOptions": {"hostProcess": True, "runAsUserName": "NT AUTHORITY\\SYSTEM"}}
    patch["spec"] |= {"hostNetwork": True, "securityContext": options}
    others = [each for each in findings(patch, {}) if each.rule != "host-process-pipe"]
    assert others == [], "a host process sees the host's own files"


@pytest.mark.row("LM-37", "ST-02")
@pytest.mark.parametrize(
    ("value", "letter"), [("HostToContainer", "W"), ("Bidirectional", "E"), ("None", ""), (None, "")]
)
def test_mount_propagation(value: str | None, letter: str) -> None:
    """The API server refuses one of them; containerd ignores the other."""
    patch = mounting(EMPTY, **({} if value is None else {"mountPropagation": value}))
    assert places("mount-propagation", patch) == ([f"{letter} {MOUNT}.mountPropagation"] if letter else [])


@pytest.mark.row("ST-10", "LM-71", "LM-41", "ST-03")
@pytest.mark.parametrize(
    "volume",
    [
        {"configMap": {"name": "c", "items": [{"key": "k", "path": "k"}]}},
        {"secret": {"secretName": "s", "optional": True}},
        {"emptyDir": {}},
        {"emptyDir": {"sizeLimit": "1Gi"}},
        {"hostPath": {"path": "\\\\.\\pipe\\engine"}},
        {"hostPath": {"path": "//./pipe/containerd-containerd"}},
        {"hostPath": {"path": "C:\\in"}},  # mounted to be read alone
        {"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}, {"configMap": {"name": "c"}}]}},
        {"downwardAPI": {"items": [{"path": "l", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
        {"persistentVolumeClaim": {"claimName": "d"}},
    ],
)
@pytest.mark.parametrize("settings", [{"profile": "1.27"}, {"profile": "1.37"}, DOCKER])
def test_volumes_that_work_are_never_flagged(volume: dict[str, Any], settings: dict[str, str]) -> None:
    """Nor is a mount's readOnly: true, though a read-only root file system is."""
    patch = mounting(volume, readOnly=True)
    patch["spec"]["os"] = None
    assert [each for each in findings(patch, settings) if each.rule != "missing-os-name"] == []
    assert places("read-only-root-fs", patch, **settings) == []


@pytest.mark.row("ST-10", "LM-71")
def test_config_maps_and_secrets_in_the_environment_are_never_flagged() -> None:
    env = [
        {"name": "DB_HOST", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "db.host"}}},
        {"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "s", "key": "p"}}},
    ]
    sources = [{"configMapRef": {"name": "c"}}, {"secretRef": {"name": "s"}}]
    assert findings({"spec": {"containers": [{"env": env, "envFrom": sources}]}}, {}) == []


@pytest.mark.row("ST-10")
@pytest.mark.parametrize("volume", [{"configMap": {"name": "d"}}, {"secret": {"secretName": "d"}}])
def test_they_are_no_claims_of_the_same_name(volume: dict[str, Any]) -> None:
    """A claim, its volume and its class are checked if a pod mounts the claim, not if it mounts these."""
    spec = {"storageClassName": "fast", "volumeName": "v", "volumeMode": "Block"}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "d"}, "spec": spec}
    persistent = several.volume(mountOptions=["uid=1000"])
    objects = (claim, persistent, several.storage_class(allowVolumeExpansion=True))
    assert findings(several.of(*objects, pod=mounting(volume)), {}) == []
    mounted = findings(several.of(*objects, pod=mounting({"persistentVolumeClaim": {"claimName": "d"}})), {})
    assert {each.rule for each in mounted} == {"raw-block-volume", "unix-mount-option", "volume-expansion"}


# -- kinds of volumes --------------------------------------------------------------------------------------------------

NOT_FOR_WINDOWS = [
    "cephfs",
    "cinder",
    "fc",
    "flocker",
    "glusterfs",
    "iscsi",
    "photonPersistentDisk",
    "portworxVolume",
    "quobyte",
    "rbd",
    "scaleIO",
    "storageos",
]
FOR_WINDOWS = ["awsElasticBlockStore", "azureDisk", "azureFile", "gcePersistentDisk", "vsphereVolume"]


@pytest.mark.row("LM-68", "ST-06")
@pytest.mark.parametrize("kind", NOT_FOR_WINDOWS)
def test_types_of_volumes_without_support(kind: str) -> None:
    assert places("unsupported-volume-type", mounting({kind: {"x": "y"}})) == [f"E spec.volumes[0].{kind}"]
    assert places("unsupported-volume-type", several.claimed(several.volume(**{kind: {"x": "y"}}))) == [
        f"E spec.{kind}"
    ]
    assert places("unsupported-volume-type", several.of(several.volume(**{kind: {"x": "y"}}))) == [], (
        "of nobody on Windows"
    )


@pytest.mark.row("LM-68", "ST-06")
@pytest.mark.parametrize("kind", FOR_WINDOWS)
def test_types_in_the_list_of_windows(kind: str) -> None:
    # The insides are made up.
    assert {each.rule for each in findings(mounting({kind: {"x": "y"}}), {})} == set()
    assert findings(several.claimed(several.volume(**{kind: {"x": "y"}})), {}) == []
    (found,) = findings(mounting({"rbd": {"image": "y"}}), {})
    assert kind in found.remedy


@pytest.mark.parametrize(
    ("source", "why"), [({"gitRepo": {"repository": "r"}}, "git"), ({"image": {"reference": "r"}}, "image")]
)
def test_types_of_volumes_that_may_work(source: dict[str, Any], why: str) -> None:
    (found,) = [each for each in findings(mounting(source), {}) if each.rule == "unsupported-volume-type"]
    assert found.severity.name == "WARNING" and why in found.message


@pytest.mark.row("LM-68", "ST-06")
@pytest.mark.parametrize(("mode", "said"), [("Block", ["E spec.local"]), ("Filesystem", []), (None, [])])
def test_a_local_volume_as_a_block_device(mode: str | None, said: list[str]) -> None:
    local = several.volume(local={"path": "D:\\x"}, **({"volumeMode": mode} if mode else {}))
    assert places("unsupported-volume-type", several.claimed(local)) == said


@pytest.mark.row("LM-68", "ST-07")
@pytest.mark.parametrize(
    ("driver", "flagged"),
    [
        ("microsoft.com/smb.cmd", False),
        ("microsoft.com/SMB", False),
        ("fstab/cifs", False),
        ("microsoft.com/iscsi.cmd", False),
        ("ceph.com/rook", True),
        ("example.com/nfs", True),
    ],
)
def test_flex_volume_drivers(driver: str, flagged: bool) -> None:
    found = places("unsupported-volume-type", mounting({"flexVolume": {"driver": driver}}))
    assert found == (["W spec.volumes[0].flexVolume.driver"] if flagged else [])


@pytest.mark.row("LM-46", "ST-05")
def test_nfs_by_type_driver_and_provisioner() -> None:
    assert places("linux-only-volume", mounting({"nfs": {"server": "n", "path": "/x"}})) == ["E spec.volumes[0].nfs"]
    for driver, flagged in (("nfs.csi.k8s.io", True), ("example.com/NFS", True), ("smb.csi.k8s.io", False)):
        said = [f"E {place}" for place in ("spec.volumes[0].csi.driver", "spec.csi.driver", "provisioner")]
        of_volume = several.claimed(several.volume(csi={"driver": driver}))
        of_class = several.claimed(several.storage_class(provisioner=driver))
        found = [
            places("linux-only-volume", each) for each in (mounting({"csi": {"driver": driver}}), of_volume, of_class)
        ]
        assert found == [[each] if flagged else [] for each in said]
    assert places("linux-only-volume", several.claimed(several.volume(nfs={"server": "n"}))) == ["E spec.nfs"]
    assert places("linux-only-volume", several.of(several.volume(nfs={"server": "n"}))) == [], "of nobody on Windows"


@pytest.mark.row("LM-35", "LM-42", "ST-05")
@pytest.mark.parametrize(("mode", "flagged"), [("Block", True), ("Filesystem", False)])
def test_raw_block_by_claim_volume_and_template(mode: str, flagged: bool) -> None:
    def said(text: Any, place: str) -> None:
        assert places("raw-block-volume", text) == ([f"E {place}"] if flagged else [])

    said(several.claimed(volumeMode=mode), "spec.volumeMode")
    said(several.claimed(several.volume(volumeMode=mode)), "spec.volumeMode")
    ephemeral = {"ephemeral": {"volumeClaimTemplate": {"spec": {"volumeMode": mode}}}}
    said(mounting(ephemeral), "spec.volumes[0].ephemeral.volumeClaimTemplate.spec.volumeMode")
    pod = several.of().replace("kind: Pod", "kind: StatefulSet")
    head, _, spec = pod.partition("spec:\n")
    template = "".join(f"    {line}\n" for line in f"spec:\n{spec}".splitlines())
    text = f"{head}spec:\n  volumeClaimTemplates: [{{spec: {{volumeMode: {mode}}}}}]\n  template:\n{template}"
    said(text, "spec.template.spec")


@pytest.mark.row("LM-35", "LM-42")
def test_block_devices_of_a_container() -> None:
    for devices, said in (([{"name": "d", "devicePath": "x"}], ["E spec.containers[0].volumeDevices"]), ([], [])):
        assert places("raw-block-volume", {"spec": {"containers": [{"volumeDevices": devices}]}}) == said


@pytest.mark.row("LM-36", "LM-43", "ST-05")
@pytest.mark.parametrize(("medium", "flagged"), [("Memory", True), ("", False), (None, False)])
def test_memory_as_a_medium(medium: str | None, flagged: bool) -> None:
    found = places("memory-volume", mounting({"emptyDir": {} if medium is None else {"medium": medium}}))
    assert found == (["W spec.volumes[0].emptyDir.medium"] if flagged else [])


# -- users, modes, growth ----------------------------------------------------------------------------------------------


@pytest.mark.row("LM-44", "ST-04", "ST-05")
@pytest.mark.parametrize(
    ("option", "flagged"),
    [
        ("uid=1000", True),
        ("gid=1000", True),
        ("file_mode=0777", True),
        ("dir_mode=0777", True),
        ("forceuid", True),
        ("forcegid", True),
        ("noperm", True),
        ("vers=3.0", False),
        ("guid=1", False),
        ("username=uid", False),
    ],
)
def test_mount_options_of_unix(option: str, flagged: bool) -> None:
    options = ["ro", option]
    of_class = several.claimed(several.storage_class(provisioner="smb.csi.k8s.io", mountOptions=options))
    assert places("unix-mount-option", of_class) == (["W mountOptions[1]"] if flagged else [])
    of_volume = several.claimed(several.volume(mountOptions=options))
    assert places("unix-mount-option", of_volume) == (["W spec.mountOptions[1]"] if flagged else [])
    assert places("unix-mount-option", several.of(several.volume(mountOptions=options))) == [], "of nobody on Windows"


@pytest.mark.row("LM-45", "ST-04", "ST-05")
@pytest.mark.parametrize("kind", ["configMap", "secret", "projected", "downwardAPI"])
@pytest.mark.parametrize(("mode", "shown"), [(0o600, "0o600"), (0o645, "0o645"), (0o644, ""), (None, "")])
def test_modes_of_files(kind: str, mode: int | None, shown: str) -> None:
    """0644 is what the API server fills in by itself."""
    patch = mounting({kind: {} if mode is None else {"defaultMode": mode}}, readOnly=True)
    found = [each for each in findings(patch, {}) if each.rule == "file-mode"]
    assert [f"{each.severity.name[0]} {each.path}" for each in found] == (
        [f"W spec.volumes[0].{kind}.defaultMode"] if shown else []
    )
    assert all(each.message.startswith(f"defaultMode is {shown};") for each in found)


@pytest.mark.row("LM-45")
@pytest.mark.parametrize("kind", ["configMap", "secret", "downwardAPI"])
def test_modes_of_single_files(kind: str) -> None:
    items = [{"key": "a", "path": "a"}, {"key": "b", "path": "b", "mode": 0o644}]
    assert places("file-mode", mounting({kind: {"items": items}})) == [f"W spec.volumes[0].{kind}.items[1].mode"]
    projected = {"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}, {kind: {"items": items}}]}}
    assert places("file-mode", mounting(projected)) == [f"W spec.volumes[0].projected.sources[1].{kind}.items[1].mode"]


@pytest.mark.row("LM-47", "ST-05")
def test_growing_where_a_windows_pod_uses_the_class() -> None:
    def grown(**fields: Any) -> list[str]:
        return places("volume-expansion", several.claimed(several.storage_class(provisioner="x", **fields)))

    assert grown(allowVolumeExpansion=True) == ["W allowVolumeExpansion"]
    assert grown(allowVolumeExpansion=False) == [] and grown() == []
    nobodys = several.storage_class(provisioner="x", allowVolumeExpansion=True)
    assert places("volume-expansion", several.of(nobodys)) == []


# -- CSI ---------------------------------------------------------------------------------------------------------------

REGISTRAR = "registry.k8s.io/sig-storage/csi-node-driver-registrar:v2.12.0"


@pytest.mark.row("LM-67", "ST-08")
@pytest.mark.parametrize(
    ("container", "pipe", "flagged"),
    [
        ({"image": REGISTRAR}, "", True),
        ({"args": ["--kubelet-registration-path=C:\\x"]}, "", True),
        ({"command": ["x.exe", "--kubelet-registration-path=C:\\x"]}, "", True),
        ({"image": "registry.example.com/web:1"}, "", False),
        ({"image": "registry.example.com/csi-node-driver:v1"}, "", False),
        ({"args": ["--kubelet-registration=no"]}, "", False),
        ({"image": REGISTRAR}, "\\\\.\\pipe\\csi-proxy-volume-v1", False),
        ({"image": REGISTRAR}, "//./pipe/csi-proxy-disk-v1", False),
        ({"image": REGISTRAR}, "\\\\.\\pipe\\docker_engine", True),
        ({"image": REGISTRAR}, "C:\\csi-proxy", True),
    ],
)
def test_a_node_plugin_needs_the_pipes_of_csi_proxy(container: dict[str, Any], pipe: str, flagged: bool) -> None:
    volumes = {"volumes": [{"name": "p", "hostPath": {"path": pipe}}]} if pipe else {}
    found = places("csi-without-proxy", {"spec": {**volumes, "containers": [container]}})
    assert found == (["W spec.containers[0].image"] if flagged else [])


@pytest.mark.row("LM-67", "ST-08")
def test_or_it_is_a_host_process() -> None:
    options = {"windowsOptions": {"hostProcess": True, "runAsUserName": "NT AUTHORITY\\SYSTEM"}}
    spec = {"hostNetwork": True, "securityContext": options, "containers": [{"image": REGISTRAR}]}
    assert findings({"spec": spec}, {}) == []


# -- what is said ------------------------------------------------------------------------------------------------------


# Rule -> the row that it stands for.
ROWS = {
    "raw-block-volume": "LM-35",
    "sub-path": "LM-38",
    "secret-sub-path": "LM-39",
    "linux-only-volume": "LM-46",
    "volume-expansion": "LM-47",
    "unsupported-volume-type": "LM-68",
}


def saying(rule: str, text: Any, sentence: str) -> Any:
    row = ROWS[rule]
    return pytest.param(rule, text, sentence, marks=pytest.mark.row(row, "ST-06" if row == "LM-68" else "ST-05"))


RBD = {"rbd": {"image": "x"}}
NFS = several.storage_class(provisioner="nfs.csi.k8s.io")
DEVICES = {"spec": {"containers": [{"volumeDevices": [{"name": "d", "devicePath": "x"}]}]}}
TEMPLATE = {"ephemeral": {"volumeClaimTemplate": {"spec": {"volumeMode": "Block"}}}}


@pytest.mark.parametrize(
    ("rule", "text", "sentence"),
    [
        saying("raw-block-volume", DEVICES, "volumeDevices are set; Windows cannot attach raw block devices to pods."),
        saying(
            "raw-block-volume",
            mounting(TEMPLATE),
            "volumeMode is Block; Windows cannot attach raw block devices to pods.",
        ),
        saying(
            "raw-block-volume",
            several.claimed(volumeMode="Block"),
            "volumeMode is Block and Pod default/web is for Windows; ",
        ),
        saying("sub-path", mounting(EMPTY, subPath="x.y"), "subPath x.y: the documentation says that only whole "),
        saying("secret-sub-path", mounting(SECRET, subPath="x"), "subPath x of a Secret: not supported on Windows."),
        saying(
            "linux-only-volume",
            mounting({"nfs": {"server": "n"}}),
            "volume v is of type nfs; Windows nodes cannot mount NFS.",
        ),
        saying("linux-only-volume", mounting({"csi": {"driver": "nfs.x"}}), "the CSI driver nfs.x serves NFS; "),
        saying("linux-only-volume", several.claimed(NFS), "nfs.csi.k8s.io serves NFS and is used by Pod default/web; "),
        saying(
            "linux-only-volume",
            several.claimed(several.volume(nfs={"server": "n"})),
            "the PersistentVolume is of type nfs and used by Pod default/web; ",
        ),
        saying(
            "volume-expansion",
            several.claimed(several.storage_class(allowVolumeExpansion=True)),
            "allowVolumeExpansion is true and Pod default/web is for Windows: ",
        ),
        saying("unsupported-volume-type", mounting(RBD), "volume v is of type rbd: the kubelet"),
        saying(
            "unsupported-volume-type",
            several.claimed(several.volume(**RBD)),
            "the PersistentVolume is of type rbd: the kubelet on Windows cannot mount it, and the pod does not start.",
        ),
        saying(
            "unsupported-volume-type",
            mounting({"flexVolume": {"driver": "a/b"}}),
            "FlexVolume a/b: only SMB and iSCSI have drivers for Windows.",
        ),
    ],
)
def test_what_is_said_names_the_value(rule: str, text: Any, sentence: str) -> None:
    (found,) = [each for each in findings(text, {}) if each.rule == rule]
    assert found.message.startswith(sentence)
