"""What must not be cloned is found wherever it lies, and remains of the past are removed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components import registry
from ansible_collections.winkube.node.plugins.plugin_utils.components.service import RECOVERY
from ansible_collections.winkube.node.plugins.plugin_utils.cri_tcp.node import certificate_folder
from ansible_collections.winkube.node.plugins.plugin_utils.engine.batch import Batch
from ansible_collections.winkube.node.plugins.plugin_utils.engine.plan import make_plan, reads
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import (
    Reading,
    file_key,
    file_query,
    merge_queries,
)
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resources.file import File
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resources.service import Service
from ansible_collections.winkube.node.plugins.plugin_utils.engine.services.native import Native
from ansible_collections.winkube.node.plugins.plugin_utils.golden_image import findings, rest

from tests.lab.machine.security import sid_of
from tests.unit.components.nodes import LAYOUT
from tests.unit.repair.repair_cuts import cut_everywhere
from tests.unit.repair.repair_machine import SC, Machine

SCOPE = findings.Scope(LAYOUT, r"C:\var\lib\cni\networks")
ENVIRONMENT = "HKLM\\SYSTEM\\CurrentControlSet\\Control\\Session Manager\\Environment"
LISTENERS = "HKLM\\SOFTWARE\\Microsoft\\Windows\\CurrentVersion\\WSMAN\\Listener"
BOUND = [(each.name, path) for each in registry.COMPONENTS for path in each.bound(LAYOUT)]
JOURNAL = rf"{LAYOUT.state_dir}\batches\{'a' * 32}\journal.jsonl"
Plant = Callable[[Machine], object]


def looked(machine: Machine) -> Reading:
    """Read as by the action: first the receipts, then the rest."""
    first = (*registry.read_plan(LAYOUT), file_query(findings.receipt_folder(LAYOUT), entries=True))
    reading = Reading().merge(machine.link.probe(merge_queries(first)), first)
    more = merge_queries((*findings.reads(SCOPE, reading), *reads((rest.Stopped(LAYOUT), rest.Cleared(LAYOUT, "m")))))
    return reading.merge(machine.link.probe(more), more)


def said(machine: Machine) -> list[str]:
    return [found.sentence for found in findings.find(SCOPE, looked(machine))]


def write(path: str, text: str = "x") -> Plant:
    return lambda machine: machine.write(path, text.encode())


def test_nothing_is_in_the_way_of_a_machine_with_its_programs_and_services() -> None:
    receipt = json.dumps({"schema": 1, "source": {"url": "https://x/kubelet.exe"}, "files": []})
    settings = {
        LAYOUT.containerd_config: b"version = 3\n",
        rf"{LAYOUT.state_dir}\receipts\kubelet.json": receipt.encode(),
    }
    machine = Machine(services=("containerd", "kubelet"), files=settings)
    assert said(machine) == []


@pytest.mark.parametrize(("component", "path"), BOUND, ids=lambda value: value)
def test_what_a_component_calls_bound_is_found(component: str, path: str) -> None:
    """A file, or a folder with something in it; an empty folder may be cloned."""
    machine = Machine(services=())
    machine.node.drive.mkdir(path, sid_of("BA"))
    assert said(machine) == []
    machine.write(rf"{path}\inside", b"x")
    (sentence,) = said(machine)
    assert sentence.startswith(f"{path} holds inside ({component}). "), sentence
    machine.node.drive.delete_tree(path)
    machine.write(path, b"x")
    assert any(each.startswith(f"{path} is there ({component}). ") for each in said(machine))


def test_every_kubeconfig_and_certificate_of_the_layout_is_bound() -> None:
    bound = {path for _component, path in BOUND}
    assert {LAYOUT.kubelet_kubeconfig, LAYOUT.flanneld_kubeconfig, LAYOUT.kube_proxy_kubeconfig} <= bound
    assert rf"{LAYOUT.kubelet_dir}\pki" in bound


def name_in_service(machine: Machine) -> None:
    machine.node.services.create("kubelet", rf'"{LAYOUT.kubelet_binary}" --hostname-override=WIN1 --v=2', start=2)


def address_in_service(machine: Machine) -> None:
    key = "HKLM\\SYSTEM\\CurrentControlSet\\Services\\flanneld\\Parameters"
    machine.node.services.create("flanneld", LAYOUT.nssm, start=2)
    machine.node.registry.set(key, "Application", "expand_string", LAYOUT.flanneld_binary)
    machine.node.registry.set(key, "AppParameters", "expand_string", f"--iface={machine.node.nic.address} --log=win1")


def variable(machine: Machine) -> None:
    machine.node.registry.set(ENVIRONMENT, "NO_PROXY", "string", f"10.0.0.0/8,{machine.node.nic.address},.svc")


def nat(machine: Machine) -> None:
    subnet = {"AddressPrefix": "172.30.0.0/20", "GatewayAddress": "172.30.0.1"}
    machine.node.hns.create_network({"Name": "nat", "Type": "nat", "Subnets": [subnet]})


@pytest.mark.parametrize(
    ("plant", "sentence"),
    [
        (
            nat,
            "HNS has the network nat (nat), which is bound to an adapter and an address of this machine. Remove it: ",
        ),
        (
            name_in_service,
            "The service kubelet is one machine's: its command line has --hostname-override=WIN1. Remove it: sc.exe ",
        ),
        (
            address_in_service,
            "The service flanneld is one machine's: its command line has --iface=10.7.0.25, the machine's name WIN1. ",
        ),
        (variable, "The machine's variable NO_PROXY holds the address 10.7.0.25. Remove it or that part of it."),
        (
            write(LAYOUT.containerd_config, "[metrics]\n  address = '10.7.0.25:1338'\n"),
            rf"{LAYOUT.containerd_config} holds the address 10.7.0.25. Take it out where it comes from, and run again.",
        ),
        (
            write(rf"{LAYOUT.state_dir}\receipts\x.json", '{"source": {"url": "http://win1/x.exe"}}'),
            rf"{LAYOUT.state_dir}\receipts\x.json holds the machine's name WIN1. Take it out",
        ),
        (
            write(r"C:\var\lib\cni\networks\vxlan0\10.244.3.2"),
            r"C:\var\lib\cni\networks notes addresses of pods that were",
        ),
        (
            write(rf"{certificate_folder(LAYOUT)}\server.pem"),
            "CRI is open over TCP, with a certificate of this machine in ",
        ),
        (
            write(rf"{LAYOUT.state_dir}\blocked.json", "{}"),
            rf"{LAYOUT.state_dir}\blocked.json says that an undo has failed",
        ),
        (
            write(rf"{LAYOUT.state_dir}\open.json", "{}"),
            rf"{LAYOUT.state_dir}\open.json says that a batch is under way",
        ),
        (write(rf"{LAYOUT.state_dir}\expiry.json", "{}"), rf"{LAYOUT.state_dir}\expiry.json says that something"),
        (lambda machine: machine.node.registry.create(rf"{FEATURES}\RebootPending"), "Windows waits for a restart"),
        (lambda machine: machine.node.encryption.update({"C:": "on"}), "BitLocker protects C:, which sysprep refuses"),
    ],
)
def test_each_thing_that_is_in_the_way_is_named_with_what_to_do(plant: Plant, sentence: str) -> None:
    machine = Machine(services=())
    plant(machine)
    (found,) = said(machine)
    assert found.startswith(sentence), found


FEATURES = "HKLM\\SOFTWARE\\Microsoft\\Windows\\CurrentVersion\\Component Based Servicing"


@pytest.mark.parametrize(
    "text", [r"C:\win1\x", "win1-overlay", "mywin1", "win1.exe", "10.7.0.250", "110.7.0.25", "x-win1"]
)
def test_a_part_of_a_longer_word_is_not_the_machines(text: str) -> None:
    assert said(Machine(services=(), files={LAYOUT.containerd_config: f"a = '{text}'\n".encode()})) == []


def test_what_has_to_stay_until_sysprep_is_told() -> None:
    machine = Machine(services=())
    keys, *more = findings.list_remaining(LAYOUT, looked(machine))
    assert "ssh_host_ed25519_key" in keys and more == []
    machine.node.registry.create(rf"{LISTENERS}\*+HTTPS")
    assert findings.list_remaining(LAYOUT, looked(machine))[1].startswith(
        "WinRM listens with a certificate of this machine"
    )
    for name in machine.node.drive.listdir(r"C:\ProgramData\ssh"):
        machine.node.drive.delete(rf"C:\ProgramData\ssh\{name}")
    assert len(findings.list_remaining(LAYOUT, looked(machine))) == 1


def test_an_argument_of_one_machine_is_found_whatever_its_value() -> None:
    """The address from before sysprep, or from another network, is on none of the adapters."""
    machine = Machine(services=())
    machine.node.services.create("kubelet", rf"{LAYOUT.kubelet_binary} --node-ip 10.99.0.7 --v=2", start=2)
    (sentence,) = said(machine)
    assert sentence.startswith("The service kubelet is one machine's: its command line has --node-ip 10.99.0.7. ")


@pytest.mark.parametrize("plant", [name_in_service, address_in_service])
def test_the_commands_of_the_sentence_take_a_service_away(plant: Plant) -> None:
    machine = Machine(services=())
    plant(machine)
    (sentence,) = said(machine)
    commands = re.findall(r"sc\.exe (\w+) ([\w-]+)", sentence)
    assert [verb for verb, _name in commands] == ["stop", "delete"]
    for command in commands:
        machine.node.run(SC, list(command))
    assert said(machine) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('server = "https://r"\n[header]\n  "authorization" = "Basic x"\n', True),
        ('[host."https://m"]\n  [host."https://m".header]\n    "x" = "y"\n', True),
        ('client = [["a.pem", "a.key"]]\n', True),
        ('[host."https://m"]\n  capabilities = ["pull"]\n', False),
    ],
)
def test_credentials_of_a_registry_are_told(text: str, said: bool) -> None:
    layout = replace(LAYOUT, registry_hosts=("r.example",))
    path = rf"{LAYOUT.certs_dir}\r.example\hosts.toml"
    reading = Machine(services=(), files={path: text.encode()}).read((file_query(path, content_limit=4096),))
    assert [each.partition(" has ")[0] for each in findings.list_remaining(layout, reading)] == [path] * said


def test_services_stop_and_the_past_goes_once() -> None:
    past = {
        JOURNAL: b"{}\n",
        rf"{LAYOUT.state_dir}\category.json": b"{}",
        rf"{LAYOUT.state_dir}\ip.json": b"{}",
        rf"{LAYOUT.state_dir}\changes.json": b'{"components": {"kubelet": {"by": "me"}}}',
        LAYOUT.containerd_log: b"log",
        r"C:\k\kubelet.log": b"log",
    }
    stays = {rf"{LAYOUT.state_dir}\receipts\kubelet.json": b"{}", rf"{LAYOUT.state_dir}\hashes.json": b"{}"}
    machine = Machine(files={**past, **stays})
    steps = []
    for resource, mark in ((rest.Stopped(LAYOUT), "b" * 32), (rest.Cleared(LAYOUT, "c" * 32), "c" * 32)):
        plan = make_plan(rest.NAME, (resource,), looked(machine))
        assert plan.batch is not None and machine.link.apply(plan.batch, mark).is_done
        steps += [step.text for step in plan.steps]
    # The journal of the first batch is the seventh.
    assert steps == [
        "stop kube-proxy, kubelet, flanneld, containerd",
        "remove 7 journals, notes and logs of this machine",
    ]
    assert [machine.node.services.state(name) for name in ("containerd", "kubelet")] == ["stopped", "stopped"]
    drive = machine.node.drive
    assert not any(drive.is_file(path) for path in past if not path.endswith("changes.json"))
    assert all(drive.is_file(path) for path in stays)
    assert drive.listdir(rf"{LAYOUT.state_dir}\batches") == ["c" * 32]
    for resource in (rest.Stopped(LAYOUT), rest.Cleared(LAYOUT, "d" * 32)):
        assert make_plan(rest.NAME, (resource,), looked(machine)).batch is None


@pytest.mark.slow
def test_services_that_are_stopped_for_an_image_run_again_where_that_is_cut() -> None:
    def plan(machine: Machine) -> Batch:
        made = make_plan(rest.NAME, (rest.Stopped(LAYOUT),), looked(machine)).batch
        assert made is not None
        return made

    count, wrong = cut_everywhere(Machine, plan, every=3)
    assert wrong == [] and count >= 8


def test_a_service_that_rests_is_started_only_if_something_it_uses_changes() -> None:
    """An image's containerd is stopped, and started if its configuration differs."""
    machine = Machine(services=("containerd",), files={LAYOUT.containerd_config: b"old"})
    machine.node.run(SC, ["stop", "containerd"])
    wanted = Native("containerd", LAYOUT.containerd_binary, ("--run", "1000000"), "containerd", RECOVERY)
    uses = frozenset({file_key(LAYOUT.containerd_config)})
    service = Service("containerd", wanted, uses, rests=True)
    same = File(LAYOUT.containerd_config, b"old", backup="")
    found = machine.read(reads((same, service)))
    steps = {
        case: [step.text for step in make_plan("containerd", resources, found).steps]
        for case, resources in {
            "rests": (same, service),
            "runs": (same, replace(service, rests=False)),
            "changes": (replace(same, content=b"new"), service),
        }.items()
    }
    assert "start containerd" not in steps["rests"]
    assert "start containerd" in steps["runs"] and "start containerd" in steps["changes"], steps
