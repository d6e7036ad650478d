"""The pages of the walk: where each begins, and what becomes of its commands."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from tests.integration.lab import ROOT
from tests.integration.whole import write_sums
from tests.lab.cluster import kubespray, makers
from tests.walk import DEMO, KIND, MINUTES, Page, Step, Walk, documents


def readme(walk: Walk) -> None:
    walk.bench.node("win1", "192.168.122.220", containers=False)
    walk.whole()
    walk.key()
    walk.node_yaml()
    walk.write("nodes/group_vars/windows_nodes.yml", "winkube_cluster: {kubeconfig: ~/.kube/config}\n")


def fresh_nodes(walk: Walk) -> None:
    """Getting started begins with a folder without nodes."""
    shutil.rmtree(walk.folder / "nodes")
    walk.bench.node("win1", "192.168.122.220", containers=False)
    walk.whole()
    walk.key()
    (name, text), *_ = documents(walk.page)
    walk.write(name, text)


def with_kubernetes(walk: Walk) -> None:
    """Step 4: what is added to the Node YAML, and the variables."""
    shutil.rmtree(walk.folder / "nodes")
    walk.node_yaml()
    checksum = re.compile(r"^winkube_flannel_checksum:.*\n", re.MULTILINE)
    path = walk.folder / "nodes" / "group_vars" / "windows_nodes.yml"
    path.write_text(checksum.sub("", path.read_text(encoding="utf-8")), encoding="utf-8")


def infra_repo(walk: Walk) -> None:
    shutil.copytree(ROOT / "examples" / "infra-repo", walk.folder, dirs_exist_ok=True, symlinks=True)
    home = Path(walk.bench.environment()["HOME"])
    (home / "winkube.node").symlink_to(walk.place.clone)
    for number in (1, 2):
        walk.bench.node(f"win{number}", f"192.168.10.2{number}", containers=False)
    cluster = walk.whole(**kubespray.SETTINGS, network="flannel")
    kinds = (replace(KIND, kubernetes="1.37.0"), replace(KIND, containerd="2.3.8"))
    write_sums(walk.bench.lab.sources, walk.bench.directory, *kinds)
    inventory = walk.folder / "inventory" / "mycluster"
    (inventory / "artifacts").mkdir()
    shutil.copy(cluster.kubeconfig, inventory / "artifacts" / "admin.conf")
    for name in ("cp1", "linux1"):
        here = f"ansible_connection: local\nansible_python_interpreter: {sys.executable}\n"
        walk.write(f"inventory/mycluster/host_vars/{name}.yml", here)


def for_molecule(walk: Walk) -> None:
    """molecule takes no `-e`: what the lab's downloads need is among the variables of the nodes."""
    walk.write("inventory/mycluster/group_vars/windows_nodes/lab.yml", json.dumps(walk.extra))


def ten_nodes(walk: Walk) -> None:
    """The repository of the page, without what it has one make: kubespray's half, and ten machines of one cluster."""
    shutil.copytree(ROOT / "examples" / "infra-repo", walk.folder, dirs_exist_ok=True, symlinks=True)
    inventory = walk.folder / "inventory" / "mycluster"
    (inventory / "group_vars" / "windows_nodes").rename(walk.folder / "later")
    (walk.folder / "vendor").mkdir()
    shutil.copy(walk.place.archive, walk.folder / "vendor")
    (walk.folder / ".venv-windows").symlink_to(walk.place.scripts.parent)
    example = (walk.folder / "nodes" / "win1.yml").read_text(encoding="utf-8")
    for number in range(1, 11):
        address = f"192.168.10.{20 + number}"
        walk.bench.node(f"win{number}", address, containers=False)
        own = example.replace("name: win1\n", f"name: win{number}\n").replace("192.168.10.21", address)
        walk.write(f"nodes/win{number}.yml", own)
    cluster = walk.whole(**kubespray.SETTINGS)
    write_sums(walk.bench.lab.sources, walk.bench.directory, replace(KIND, kubernetes="1.37.0"))
    (inventory / "artifacts").mkdir()
    shutil.copy(cluster.kubeconfig, inventory / "artifacts" / "admin.conf")


def beside_the_link(walk: Walk) -> None:
    """What the page's table says, with kubespray's default network; the variables of flannel go."""
    folder = walk.folder / "inventory" / "mycluster" / "group_vars" / "windows_nodes"
    text = (walk.folder / "later" / "winkube.yml").read_text(encoding="utf-8")
    kept = [line for line in text.splitlines() if "winkube_network_mode" not in line and "flannel" not in line]
    page = (ROOT / "docs" / "beside-kubespray.md").read_text(encoding="utf-8")
    given = re.search(r"^winkube_network_mode: calico\nwinkube_calico_kube_proxy_image: \S+", page, re.MULTILINE)
    assert given is not None
    (folder / "winkube.yml").write_text("\n".join([*kept, given[0], ""]), encoding="utf-8")


def beside(maker: str, walk: Walk) -> None:
    """The repository that the pages of other makers begin with, a bare machine, and a cluster as the page says."""
    install = (str(walk.place.scripts / "ansible-galaxy"), "collection", "install", "--force", "--no-deps")
    walk.place.must(*install, str(walk.place.archive), "-p", str(walk.folder / "collections"))
    walk.write("ansible.cfg", AS_IN_YOUR_REPO)
    walk.bench.node("win1", "192.168.122.220", containers=False)
    cluster = walk.whole(maker=maker, **{**makers.ALL[maker].settings, "tunnel": False})
    walk.extra["winkube_api_server"] = cluster.published
    for name, text in documents(walk.page):
        if name.startswith("nodes/"):  # the others lie on the servers
            walk.write(name, text)


AS_IN_YOUR_REPO = """[defaults]
callbacks_enabled = winkube.node.steps

[inventory]
enable_plugins = winkube.node.node_yaml, yaml, ini
any_unparsed_is_failed = true
"""


def minutes_later(walk: Walk) -> None:
    """Calico's pod makes its network after the run, which cuts the machine off for some seconds."""
    for cluster in walk.bench.lab.clusters.values():
        cluster.advance(180)


def in_a_clone_of_kubernetes(walk: Walk) -> None:
    """A whole node, and a kubelet that Go builds for Windows; the lab knows it by what follows the program."""
    walk.environment["WALK_COLLECTIONS"] = str(walk.place.clone / ".venv" / "collections")
    walk.environment["ANSIBLE_INVENTORY_ENABLED"] = "winkube.node.node_yaml"
    (Path(walk.bench.environment()["HOME"]) / "kubernetes").symlink_to(walk.folder)
    for name, text in KUBERNETES.items():
        walk.write(name, text)
    walk.bench.node("win1", "192.168.122.220", containers=False)
    cluster = walk.whole()
    walk.extra |= KIND.variables(winkube_cluster={"kubeconfig": str(cluster.kubeconfig)})
    walk.execute("ansible-playbook -i node.yaml winkube.node.site", 0)
    cluster.advance(60)


WINDOWS = "_output/local/bin/windows/amd64"
TRAILER = json.dumps({"lab": "kubelet", "version": KIND.kubernetes})
KUBERNETES = {
    "node.yaml": "apiVersion: windows.k8s.io/v1alpha1\nkind: Node\nmetadata: {name: win1}\n"
    "spec: {credentials: {username: Administrator, hostname: 192.168.122.220}}\n",
    "go.mod": "module example.com/kubernetes\n\ngo 1.21\n",
    "cmd/kubelet/kubelet.go": 'package main\n\nfunc main() { println("kubelet") }\n',
    "Makefile": f"all:\n\tmkdir -p {WINDOWS}\n"
    "\tGOOS=$(firstword $(subst /, ,$(KUBE_BUILD_PLATFORMS))) GOARCH=amd64 CGO_ENABLED=0 go build -o built ./$(WHAT)\n"
    f"\t{{ cat built; printf '\\n%s\\n' '{TRAILER}'; }} > {WINDOWS}/kubelet.exe\n",
}


def own_machine(walk: Walk) -> None:
    """README's node in an inventory at home. molecule takes no `-e`, and this scenario none of the lab's settings for
    ssh: they are among the variables of the nodes."""
    walk.place.must(str(walk.place.scripts / "pip"), "install", "--quiet", "molecule")
    walk.bench.node("win1", "192.168.122.220", containers=False)
    cluster = walk.whole()
    walk.key()
    home = Path(walk.bench.environment()["HOME"]) / "infra"
    (home / "group_vars").mkdir(parents=True)
    ((_, node),) = documents(ROOT / "README.md")
    (home / "nodes.yml").write_text(node, encoding="utf-8")
    ours = {
        "winkube_cluster": {"kubeconfig": str(cluster.kubeconfig)},
        "ansible_ssh_common_args": f"-F {walk.bench.lab.ssh_config}",
    }
    (home / "group_vars" / "windows_nodes.yml").write_text(json.dumps(walk.extra | ours), encoding="utf-8")


def joined(walk: Walk, *names: str) -> None:
    """Two nodes of a cluster, as the infra repository makes them, in the folder of the page."""
    walk.environment["WALK_COLLECTIONS"] = str(walk.place.root / "infra" / "collections")
    lines = ["[windows_nodes]"]
    for number in (1, 2):
        spec = walk.bench.node(f"win{number}", f"192.168.122.23{number}", containers=False).spec
        lines.append(f"win{number} ansible_host={spec.address} ansible_user={spec.username}")
    lines += ["[windows_nodes:vars]", "ansible_connection=ssh", "ansible_shell_type=powershell"]
    walk.write("inventory", "\n".join(lines) + "\n")
    cluster = walk.whole()
    walk.extra |= KIND.variables(winkube_cluster={"kubeconfig": str(cluster.kubeconfig)})
    if names != ("fresh",):
        walk.execute("ansible-playbook -i inventory winkube.node.site", 0)
        cluster.advance(60)


def fresh(walk: Walk) -> None:
    """Two machines, and their fingerprints as their consoles show them."""
    joined(walk, "fresh")
    listed = subprocess.run(
        ["ssh-keygen", "-l", "-f", str(walk.bench.lab.directory / "known_hosts")],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    seen = sorted({word for word in listed.split() if word.startswith("SHA256:")})
    walk.write("fingerprints.yml", json.dumps({"winkube_bootstrap_fingerprints": {"win1": seen, "win2": seen}}))


def patched(walk: Walk) -> None:
    """Two whole nodes; a stand-in for Windows Update that has one update for each."""
    joined(walk)
    plugins = walk.folder / "stand-in" / "ansible_collections" / "ansible" / "windows" / "plugins"
    for kind, name, text in (("action", "win_updates.py", UPDATES), ("modules", "win_updates.ps1", "#!powershell\n")):
        (plugins / kind).mkdir(parents=True)
        (plugins / kind / name).write_text(text, encoding="utf-8")
    walk.environment["WALK_COLLECTIONS"] = os.pathsep.join(
        [str(walk.folder / "stand-in"), walk.environment["WALK_COLLECTIONS"]]
    )


UPDATES = '''
from pathlib import Path
from ansible.plugins.action import ActionBase


class ActionModule(ActionBase):
    """One update for each host, until it is installed."""

    def run(self, tmp=None, task_vars=None):
        super().run(tmp, task_vars)
        done = Path("updated-" + task_vars["inventory_hostname"])
        found = 0 if done.exists() else 1
        installs = self._task.args["state"] == "installed"
        if installs and not self._task.check_mode:
            done.touch()
        updates = {"1": {"title": "2026-11 Cumulative Update", "kb": ["5000001"]}} if found else {}
        return {
            "changed": bool(found) and installs,
            "found_update_count": found,
            "updates": updates,
            "reboot_required": False,
        }
'''
SITE = "ansible-playbook -i nodes site.yml"
PLAN = f"{SITE} --check --diff"
LAB = MINUTES.format("tests/integration/test_demo.py")
BESIDE = (
    ".venv-windows/bin/ansible-playbook -i inventory/mycluster/inventory.ini -i inventory/mycluster/windows.yml "
    "winkube.node.site"
)
MOLECULE = "tests/integration/test_molecule.py"
MATRIX = (
    "export WINKUBE_MATRIX_MODE=l2bridge WINKUBE_MATRIX_WINDOWS=2019",
    "export WINKUBE_MATRIX_KUBERNETES=1.22.17 WINKUBE_MATRIX_CONTAINERD=1.6.39",
    "molecule test -s matrix",
)
BISECT = (
    "git bisect start v1.7.12 v1.6.27",
    "BISECT=~/.ansible/collections/ansible_collections/winkube/node/playbooks/files/bisect.sh",
    "CHECK='ansible-playbook winkube.node.stats_watch -e winkube_stats_node=win1 -e winkube_stats_samples=8' \\",
)
BISECTED = "containerd's sources are not here"
PROVISIONED = MINUTES.format("tests/integration/test_provisioner.py")
NO_GO = "" if shutil.which("go") else "there is no Go here"
DRIFTING = "ansible-playbook -i inventory winkube.node.drift"
PATCH = "ansible-playbook -i inventory winkube.node.patch"
INSTALLED = "ansible-playbook -i nodes winkube.node.site"
BINDINGS = Step("kubectl apply -f collections/ansible_collections/winkube/node/examples/rbac/bootstrap.yml")
JOIN = (
    Step(f"{INSTALLED} -e winkube_preflight=only"),
    Step(INSTALLED),
    Step("kubectl get --raw /api/v1/nodes/win1/proxy/configz"),
)
BOOTSTRAP = "ansible-playbook -i inventory winkube.node.bootstrap -e @fingerprints.yml"


def edited(walk: Walk) -> None:
    """Somebody edits a node by hand."""
    host = walk.bench.lab.host("win1")
    path = r"C:\Program Files\containerd\config.toml"
    host.in_turn(lambda: host.node.drive.write(path, b"version = 3\n"))


PAGES = (
    Page(
        "README.md",
        (
            Step("make demo", left_out=DEMO),
            Step("make loop", left_out=DEMO),
            Step(PLAN),
            Step(SITE),
        ),
        readme,
    ),
    Page(
        "docs/getting-started.md",
        (
            Step("git clone <the repository>", left_out="the walk begins with it"),
            Step("cd winkube.node", left_out="the walk is there"),
            Step("make demo", left_out=DEMO),
            Step("make lab", left_out=LAB),
            Step(
                'export ANSIBLE_SSH_COMMON_ARGS="-F .lab/ssh_config" ANSIBLE_SSH_CONTROL_PATH_DIR="$PWD/.lab/cp"',
                left_out=LAB,
            ),
            Step('export PATH="$PWD/.venv/bin:$PATH"', left_out=LAB),
            Step("ansible-playbook -i examples/swdt site.yml --check --diff", left_out=LAB),
            Step("ansible-playbook -i examples/swdt site.yml", left_out=LAB),
            Step("ansible-playbook -i examples/swdt site.yml", left_out=LAB),
            Step("python -m tests.lab show sample", left_out=LAB),
            Step("python -m tests.lab fault sample service containerd no_pipe", left_out=LAB),
            Step(
                "ansible-playbook -i examples/swdt site.yml -e winkube_containerd_log_level=debug",
                left_out=LAB,
            ),
            Step("python -m tests.lab fault sample clear", left_out=LAB),
            Step("python -m tests.lab stop", left_out=LAB),
            Step("ssh -i ~/.ssh/id_ed25519 Administrator@192.168.122.220 hostname"),
            Step("ansible-inventory -i nodes --host win1"),
            Step("ansible -i nodes win1 -m ansible.windows.win_ping"),
            Step(PLAN),
            Step(SITE),
            Step(PLAN, first=with_kubernetes),
            Step(SITE),
            Step("ansible-playbook -i nodes playbooks/verify.yml"),
        ),
        fresh_nodes,
    ),
    Page(
        "examples/infra-repo/README.md",
        (
            Step("mkdir vendor && cp ~/winkube.node/build/winkube-node-0.1.0.tar.gz vendor/"),
            Step("ansible-galaxy collection install -r requirements.yml"),
            Step("ansible-inventory --graph"),
            Step("ansible-playbook playbooks/site.yml --check --diff --limit windows_nodes"),
            Step("ansible-playbook playbooks/site.yml"),
            Step("pip install molecule"),
            Step("WINKUBE_TEST_HOST=win1 molecule test -s windows", first=for_molecule),
            Step("ansible-playbook playbooks/containerd.yml -e winkube_containerd_version=2.3.8"),
        ),
        infra_repo,
        folder="infra",
    ),
    Page(
        "docs/beside-kubespray.md",
        (
            Step(
                "python3 -m venv .venv-kubespray && .venv-kubespray/bin/pip install -r kubespray/requirements.txt",
                left_out="kubespray is not here",
            ),
            Step(
                "python3 -m venv .venv-windows && .venv-windows/bin/pip install 'ansible>=12' kubernetes",
                left_out="the walk begins with such an environment",
            ),
            Step(".venv-windows/bin/ansible-galaxy collection install -r requirements.yml"),
            Step(
                "cd inventory/mycluster/group_vars && mkdir windows_nodes && "
                "ln -s ../k8s_cluster/k8s-cluster.yml windows_nodes/"
            ),
            Step(
                "(cd kubespray && ../.venv-kubespray/bin/ansible-playbook -i ../inventory/mycluster/inventory.ini -b "
                "cluster.yml)",
                left_out="kubespray is not here",
            ),
            Step(f"{BESIDE.replace('.site', '.calico')}", first=beside_the_link),
            Step(f"{BESIDE} -e winkube_preflight=only"),
            Step(BESIDE),
        ),
        ten_nodes,
        folder="beside",
    ),
    Page("docs/beside-rke2.md", (BINDINGS, *JOIN), partial(beside, "rke2"), folder="beside-rke2"),
    Page("docs/beside-k3s.md", (BINDINGS, *JOIN), partial(beside, "k3s"), folder="beside-k3s"),
    Page(
        "docs/beside-k0s.md",
        (*JOIN[:-1], replace(JOIN[-1], first=minutes_later)),
        partial(beside, "k0s"),
        folder="beside-k0s",
    ),
    Page(
        "docs/molecule.md",
        (
            Step("make setup && . .venv/bin/activate", left_out="the walk's environment is another one"),
            Step("molecule test -s default", left_out=MINUTES.format(MOLECULE)),
            Step("pytest --molecule molecule/default", left_out=MINUTES.format("`make molecule-pytest`")),
            Step("WINKUBE_TEST_HOST=win1 WINKUBE_TEST_INVENTORY=~/infra/nodes.yml molecule test -s windows"),
            *(Step(command, left_out="it starts a lab, and plain ansible-core has none") for command in MATRIX),
        ),
        own_machine,
    ),
    Page(
        "docs/push-your-build.md",
        (
            Step("ansible-playbook winkube.node.provision -i node.yaml", left_out=PROVISIONED),
            Step("ansible-playbook winkube.node.provision -i node.yaml --check --diff", left_out=PROVISIONED),
            Step("git checkout v1.7.12", left_out="containerd's sources are not here"),
            Step("GOOS=windows make bin/containerd", left_out="containerd's sources are not here"),
            Step("file bin/containerd", left_out="containerd's sources are not here"),
            Step("make WHAT=cmd/kubelet KUBE_BUILD_PLATFORMS=windows/amd64", left_out=NO_GO),
            Step("ls _output/local/bin/windows/amd64", left_out=NO_GO),
            Step(
                "ansible-playbook winkube.node.push -i node.yaml -e winkube_build_name=kubelet "
                "-e winkube_build_dir=$HOME/kubernetes",
                left_out=NO_GO,
            ),
            Step(
                "ansible-playbook winkube.node.push -i nodes/ -e winkube_build_name=kubelet "
                "-e winkube_build_dir=$HOME/kubernetes -e winkube_watch=true",
                left_out="it goes on until Ctrl-C, and tests/integration/test_push.py runs it",
            ),
            *(Step(command, left_out=BISECTED) for command in BISECT),
            Step(
                "ansible-playbook winkube.node.provision -i nodes/ -e winkube_serial=1 -e winkube_drain=true",
                left_out=PROVISIONED,
            ),
        ),
        in_a_clone_of_kubernetes,
        folder="kubernetes",
    ),
    Page(
        "docs/bootstrap.md",
        (
            Step(BOOTSTRAP),
            Step(f"{BOOTSTRAP} -e @vaulted-password.yml", left_out="the lab's machines have no accounts to change"),
        ),
        fresh,
        folder="bootstrap",
    ),
    Page(
        "docs/patch.md",
        (
            Step(f"{PATCH} --check"),
            Step(f"{PATCH} --limit win1"),
            Step(PATCH),
            Step(f"{PATCH} -e winkube_serial=25%"),
        ),
        patched,
        folder="patch",
    ),
    Page(
        "docs/drift.md",
        (
            Step(DRIFTING),
            Step(
                f"{DRIFTING} -e winkube_drift_dir=/srv/reports/windows -e winkube_drift_fail=false",
                left_out="it writes outside of the walk's folder",
            ),
        ),
        joined,
        folder="drift",
    ),
)
"""In the order in which somebody reads them; the infra repository brings the installed collection."""
MORE: Mapping[str, tuple[Step, ...]] = {
    "docs/beside-kubespray.md": (Step(BESIDE),),
    **{f"docs/beside-{maker}.md": (Step(INSTALLED),) for maker in ("rke2", "k3s", "k0s")},
    "docs/drift.md": (
        Step(DRIFTING, status=2, first=edited),
        Step(f"{DRIFTING} -e winkube_drift_dir=reports -e winkube_drift_fail=false"),
    ),
}
"""What a page says of its commands without showing them."""
