"""Files and requests that we render, as the programs for Windows read them: kubeconfigs, crictl.yaml, cni.conf, what
host-local is asked for the source VIP, kubeadm's dry run."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.containerd import crictl
from ansible_collections.winkube.node.plugins.plugin_utils.components.join import join
from ansible_collections.winkube.node.plugins.plugin_utils.components.join.identities import build_kubeconfig
from ansible_collections.winkube.node.plugins.plugin_utils.components.join.joining import discovery_file
from ansible_collections.winkube.node.plugins.plugin_utils.components.join.material import (
    TOKEN_USER,
    join_configuration,
)
from ansible_collections.winkube.node.plugins.plugin_utils.components.join.options import JoinOptions
from ansible_collections.winkube.node.plugins.plugin_utils.components.kube_proxy import source_vip
from ansible_collections.winkube.node.plugins.plugin_utils.engine.secret import Secret
from ansible_collections.winkube.node.plugins.plugin_utils.facts import looked_up
from ansible_collections.winkube.node.plugins.plugin_utils.facts.cni import cni_versions
from ansible_collections.winkube.node.plugins.plugin_utils.facts.version import Line, Version
from ansible_collections.winkube.node.plugins.plugin_utils.provision import pe_image, provision_source

from tests.real import build
from tests.unit.answers import answered
from tests.unit.components import test_cni_conf
from tests.unit.components.nodes import LAYOUT, wanted_kube_proxy
from tests.windows import lines
from tests.windows.conftest import require
from tests.windows.hns import plugins
from tests.windows.programs import Answer, Programs
from tests.windows.test_command_lines import AT_FIRST, reached, running, write  # noqa: F401

HAS_DRY_RUN = Line(1, 24)
"""Source: tests/recorded, kubeadm-1.22.17 (none) and kubeadm-1.24.17. Before it the phase `preflight` is run, which
asks the cluster as well."""
VERIFIES_BY_POWERSHELL = Line(1, 33)
"""The last line whose SystemVerification fails where PowerShell does not say the release of Windows: Wine has none.
Seen with 1.22.17, 1.30.4, 1.33.13 (system-validators 1.5 to 1.9), not with 1.35.4 (1.12)."""
CNI = "1.9.0"
FLANNEL_CNI = "1.2.0-flannel1"
PUSHED = ("kubelet", "kube-proxy", "containerd")
VIP = wanted_kube_proxy(mode="overlay")
KUBECONFIG = r"C:\tests\kubeconfig"
JOIN = r"C:\tests\join.json"


def of(program: str) -> list[str]:
    """The releases of a program in the table of the builds."""
    return [version for _, version, names in build.WINDOWS if program in names]


@pytest.mark.parametrize("version", of("kubectl"))
def test_a_kubeconfig_is_read_as_it_was_meant(version: str, windows: Programs, judged: Callable[..., None]) -> None:
    require("kubectl", version)
    ours = build_kubeconfig(lines.NOBODY, lines.ca(), "system:node:win1", Secret("abc.def")).reveal()
    write(windows, {KUBECONFIG: ours})
    done = windows.run("kubectl", version, ["--kubeconfig", KUBECONFIG, "config", "view", "--raw", "-o", "json"])
    assert done.exit == 0, done.said
    read = json.loads(done.out)
    read.pop("preferences", None)
    assert read == json.loads(ours)
    asked = windows.run("kubectl", version, ["--kubeconfig", KUBECONFIG, "get", "--raw", "/healthz"])
    assert asked.exit != 0
    assert "127.0.0.1:9" in asked.error, asked.said
    judged("kubectl", version, "asks the API server of the kubeconfig", "kubeconfig, all fields")


@pytest.mark.parametrize("version", of("crictl"))
def test_crictl_reads_its_file(
    version: str,
    windows: Programs,
    running: object,  # noqa: F811
    judged: Callable[..., None],
) -> None:
    require("crictl", version)
    where = crictl.config_path(LAYOUT)
    write(windows, {where: crictl.config(LAYOUT)})
    done = windows.run("crictl", version, ["--config", where, "version"])
    assert done.exit == 0, done.said
    assert "RuntimeName:  containerd" in done.out
    other = crictl.config(LAYOUT).replace(LAYOUT.containerd_pipe, "nobody")
    write(windows, {where: other})
    done = windows.run("crictl", version, ["--config", where, "version"])
    assert done.exit != 0
    assert "nobody" in done.said
    judged("crictl", version, "answered by containerd over the pipe of crictl.yaml", "crictl.yaml")


@pytest.mark.parametrize("version", of("crictl"))
def test_crictl_finds_its_file_beside_itself(version: str, windows: Programs) -> None:
    """As long as the user's folder has none. Where the roles put it."""
    program = require("crictl", version)
    windows.prefix.place(program, crictl.path(LAYOUT))
    write(windows, {crictl.config_path(LAYOUT): crictl.config(LAYOUT).replace(LAYOUT.containerd_pipe, "nobody")})
    done = windows.prefix.run(crictl.path(LAYOUT), ["version"])
    assert done.returncode != 0
    assert b"nobody" in done.stdout + done.stderr, done


def plugin(windows: Programs, name: str, version: str, command: str, conf: str = "", **more: str) -> Answer:
    """A CNI plugin, asked as containerd asks it."""
    environment = {
        "CNI_COMMAND": command,
        "CNI_CONTAINERID": "c0ffee",
        "CNI_NETNS": "0f0f0f0f-1111-2222-3333-444444444444",
        "CNI_IFNAME": "eth0",
        "CNI_PATH": LAYOUT.cni_bin_dir,
        **more,
    }
    return windows.run(name, version, [], environment=environment, stdin=conf.encode())


@pytest.mark.parametrize("name", ["win-bridge", "win-overlay", "host-local", "flannel"])
def test_a_plugin_says_which_versions_it_speaks(name: str, windows: Programs, judged: Callable[..., None]) -> None:
    version = FLANNEL_CNI if name == "flannel" else CNI
    require(name, version)
    done = plugin(windows, name, version, "VERSION", '{"cniVersion": "1.0.0"}')
    assert done.exit == 0, done.said
    spoken = json.loads(done.out)["supportedVersions"]
    for mode in ("l2bridge", "overlay"):
        assert test_cni_conf.data(mode=mode)["cniVersion"] in spoken
    judged(name, version, "", "cniVersion of cni.conf")


@pytest.mark.parametrize("version", of("win-overlay"))
def test_the_table_has_the_cni_versions_that_a_release_takes(
    version: str, windows: Programs, judged: Callable[..., None]
) -> None:
    """Those beside each change of the table."""
    require("win-overlay", version)
    done = plugin(windows, "win-overlay", version, "VERSION", '{"cniVersion": "0.2.0"}')
    assert tuple(json.loads(done.out)["supportedVersions"]) == cni_versions(Version.parse(version)), done.said
    judged("win-overlay", version, "", "all values of cniVersion")


def asks_hns(said: str) -> bool:
    """Whether a plugin called HNS by its DLL, which Wine has not."""
    return re.search(r"hc?n\w+ failed in Win32: Module not found", said) is not None


@pytest.mark.parametrize("mode", ["l2bridge", "overlay"])
def test_a_delegate_takes_its_part_until_hns_is_asked(
    mode: str, windows: Programs, judged: Callable[..., None]
) -> None:
    name = "win-bridge" if mode == "l2bridge" else "win-overlay"
    windows.prefix.place(require("host-local", CNI), rf"{LAYOUT.cni_bin_dir}\host-local.exe")
    require(name, CNI)
    conf = plugins.delegated(test_cni_conf.render(test_cni_conf.settings(mode=mode)))
    assert conf["type"] == name
    done = plugin(windows, name, CNI, "ADD", json.dumps(conf))
    assert asks_hns(done.said), done.said
    judged(name, CNI, "asks HNS", "what flannel.exe makes of cni.conf")
    done = plugin(windows, name, CNI, "ADD", json.dumps({**conf, "policies": "none"}))
    assert not asks_hns(done.said)
    assert "policies" in done.said, done.said


@pytest.mark.parametrize("mode", ["l2bridge", "overlay"])
def test_cni_conf_is_taken_until_hns_is_asked(mode: str, windows: Programs, judged: Callable[..., None]) -> None:
    """flannel.exe reads the file and subnet.env, and starts the delegate with what it has made of them."""
    delegate = "win-bridge" if mode == "l2bridge" else "win-overlay"
    for name, version in (("flannel", FLANNEL_CNI), (delegate, CNI), ("host-local", CNI)):
        windows.prefix.place(require(name, version), rf"{LAYOUT.cni_bin_dir}\{name}.exe")
    write(windows, lines.files("1.37.1"))
    conf = test_cni_conf.render(test_cni_conf.settings(mode=mode))
    done = plugin(windows, "flannel", FLANNEL_CNI, "ADD", conf)
    assert asks_hns(done.said), done.said
    judged("flannel", FLANNEL_CNI, f"{delegate} asks HNS", "cni.conf")
    assert not asks_hns(plugin(windows, "flannel", FLANNEL_CNI, "ADD", conf.replace('"delegate"', '"delegat"')).said)


def test_host_local_gives_the_source_vip(windows: Programs, judged: Callable[..., None]) -> None:
    require("host-local", CNI)
    asked: Any = source_vip._request(VIP, "10.244.2.0/24")
    op = source_vip._host_local(LAYOUT, "ADD", json.dumps(asked))
    environment = {name: str(value) for name, value in op.args["env"].items()}
    done = windows.run("host-local", CNI, [], environment=environment, stdin=json.dumps(asked).encode())
    assert done.exit == 0, done.said
    vip = source_vip.read_reserved(answered({"results": [{"stdout": done.out}]}), "10.244.2.0/24")
    assert vip == "10.244.2.2"
    taken = windows.prefix.path(rf"{source_vip.folder_of(VIP)}\{vip}")
    assert taken.exists()
    judged("host-local", CNI, "gives an address", "request for the source VIP; the file of the address")


@pytest.mark.parametrize("version", of("kubeadm"))
def test_kubeadms_dry_run_gets_to_the_api_server(
    version: str,
    windows: Programs,
    running: object,  # noqa: F811
    judged: Callable[..., None],
) -> None:
    """All of its checks on Windows are passed but one: nobody is elevated on Wine. It asks containerd over its pipe,
    and finds kubelet, powershell and xcopy in the Path that the join gives it, and in no other."""
    require("kubeadm", version)
    passed_over = ["IsPrivilegedUser"]
    if build.program("kubelet", version, "windows").exists():
        windows.place("kubelet", version)
    else:
        passed_over += ["SystemVerification", "KubeletVersion"]
    if Line.parse(version) <= VERIFIES_BY_POWERSHELL:
        passed_over += ["SystemVerification"]
    text = join_configuration(JoinOptions(node_name="win1", version=version, taints=("os=windows:NoSchedule",)), LAYOUT)
    access = build_kubeconfig(lines.NOBODY, lines.ca(), TOKEN_USER, Secret("abcdef.0123456789abcdef")).reveal()
    write(windows, {JOIN: text, discovery_file(LAYOUT): access})
    for path in lines.files(version):  # the join refuses a node that has been joined
        windows.prefix.path(path).unlink(missing_ok=True)
    ignored = f"--ignore-preflight-errors={','.join(passed_over)}"
    dry = ["join", "--dry-run"] if Line.parse(version) >= HAS_DRY_RUN else ["join", "phase", "preflight"]
    arguments = [*dry, "--config", JOIN, ignored, "--v=5"]
    points = reached("kubeadm", version)
    path = ";".join(join.KUBEADM_RUN.path(replace(LAYOUT, kubelet_binary=rf"C:\programs\{version}\kubelet.exe")))
    for _ in range(3):
        point, said = windows.until("kubeadm", version, arguments, points, 60, path=path)
        # It gives containerd two seconds to answer, which is little for a busy machine.
        if AT_FIRST not in said:
            break
    assert point, said[-6000:]
    assert not re.findall(r"\[ERROR (?!IsPrivilegedUser)", said) or len(passed_over) > 1, said
    assert 'exec: "powershell"' not in said
    assert 'exec: "xcopy"' not in said
    if "KubeletVersion" not in passed_over:  # which is asked first
        without = ";".join(folder for folder in path.split(";") if folder != looked_up.POWERSHELL)
        missing = 'failed to get kernel release: exec: "powershell": executable file not found in %PATH%'
        found, said = windows.until("kubeadm", version, arguments, [missing], 60, path=without)
        assert found, said[-3000:]
    judged("kubeadm", version, f"{' '.join(dry)}: {point}", "JoinConfiguration")


@pytest.mark.parametrize(
    ("program", "version"), [(name, version) for _, version, names in build.WINDOWS for name in names if name in PUSHED]
)
def test_a_program_says_what_it_was_built_from(program: str, version: str) -> None:
    """By which a kube-proxy given as kubelet is refused before anything is sent."""
    package = provision_source.read(require(program, version)).package
    assert package.rpartition("/")[2] == program
    assert pe_image.another_program(program, package) == ""
