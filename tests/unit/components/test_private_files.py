"""Each kubeconfig, key and hosts.toml with credentials, under each owner and access list that others may come in by:
the plan differs, and after the run only Administrators have the file."""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.containerd import registries
from ansible_collections.winkube.node.plugins.plugin_utils.components.join import component, identities, join, material
from ansible_collections.winkube.node.plugins.plugin_utils.components.join.options import JoinOptions
from ansible_collections.winkube.node.plugins.plugin_utils.components.stage import Given
from ansible_collections.winkube.node.plugins.plugin_utils.cri_tcp import certs, edit
from ansible_collections.winkube.node.plugins.plugin_utils.cri_tcp import node as cri_tcp
from ansible_collections.winkube.node.plugins.plugin_utils.engine import security, windows_path
from ansible_collections.winkube.node.plugins.plugin_utils.engine.plan import make_plan, reads
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading, file_key
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Resource
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resources.file import File
from ansible_collections.winkube.node.plugins.plugin_utils.engine.secret import Secret
from ansible_collections.winkube.node.plugins.plugin_utils.facts.version import Version
from ansible_collections.winkube.node.plugins.plugin_utils.node.link import Link

from tests.lab.twin.modules import run_module
from tests.lab.twin.node import LabNode
from tests.unit.cri_tcp.test_cri_tcp import arguments, node
from tests.unit.engine.descriptors import CLOSED, OPEN, OPEN_ELSEWHERE

from .nodes import LAYOUT
from .test_join import fresh
from .test_registries import MARK, bare_node, made

KUBECONFIG = '{"clusters": [{"name": "k", "cluster": {"server": "https://k"}}]}'


def _kubeconfigs(folder: Path) -> Iterator[Resource]:
    """The kubelet's, given by the user, and those of flanneld and kube-proxy, made in the cluster."""
    own = folder / "kubelet"
    own.write_text(KUBECONFIG, encoding="utf-8")
    options = JoinOptions(node_name="win1", version="1.37.1", join="kubeconfig", kubeconfig_source=str(own))
    paths = ((LAYOUT.flanneld_kubeconfig, "flanneld"), (LAYOUT.kube_proxy_kubeconfig, "kube-proxy"))
    found = tuple(identities.Identity(path, name, rf"C:\k\{name}.exe", Secret(KUBECONFIG)) for path, name in paths)
    answers: dict[str, Any] = {"identities": identities.Identities(found=found), "joins": False}
    asks: Any = SimpleNamespace(once=lambda key, _make: answers[key])
    yield from component.files(Given(join.NAME, options, LAYOUT, fresh(), asks, mark=MARK))
    assert material.build_own_kubeconfig(options, LAYOUT, fresh(), MARK)


def _private(folder: Path) -> dict[str, File]:
    """The private files of everything that has some, by path."""
    pair = {"certificate": "node.pem", "key": "node.key"}
    option = {"host": "r.example.com", "client": pair, "auth": {"username": "a", "password": "geheim"}}
    listener = edit.Listener(edit.Address("127.0.0.1", 8888), cri_tcp.made_files(LAYOUT))
    own = certs.create(["127.0.0.1"], 3, datetime.datetime(2026, 11, 21, tzinfo=datetime.UTC))
    args = replace(arguments(listener), certificates=own)
    resources = (
        *_kubeconfigs(folder),
        *registries.build_resources(LAYOUT, made(option), Version.parse("2.3.7"), bare_node(), MARK),
        *cri_tcp.build_resources(args, node(args)),
    )
    return {each.path: each for each in resources if isinstance(each, File) and each.private}


PLACES = (
    LAYOUT.kubelet_kubeconfig,
    LAYOUT.flanneld_kubeconfig,
    LAYOUT.kube_proxy_kubeconfig,
    *(windows_path.join(LAYOUT.certs_dir, "r.example.com", name) for name in ("server-client.key", "hosts.toml")),
    *(windows_path.join(cri_tcp.certificate_folder(LAYOUT), name) for name in certs.ON_NODE),
)


def test_these_are_all_private_files(tmp_path: Path) -> None:
    assert sorted(_private(tmp_path)) == sorted(PLACES)


def _text(secret: File) -> str:
    assert isinstance(secret.content, Secret)
    return str(secret.content.reveal().decode())


@pytest.mark.parametrize("place", PLACES)
def test_whatever_others_have_of_it_is_a_difference(tmp_path: Path, place: str) -> None:
    secret = _private(tmp_path)[place]
    there = {"exists": True, "kind": "file", "sha256": secret.sha256}
    for sddl, why in (OPEN | OPEN_ELSEWHERE).values():
        change = secret.change(Reading({file_key(place): {**there, "sddl": sddl}}))
        assert change is not None and why in change.text, sddl
        assert change.predicted[file_key(place)]["sddl"] == security.ADMINS_ONLY_FILE
        assert [op.args["sddl"] for op in change.commit] == [security.ADMINS_ONLY_FILE]
        assert change.touches == frozenset(), "the content is the same, so nothing restarts"
        assert _text(secret) not in f"{change.text}{change.before}{change.after}"
    for sddl in CLOSED.values():
        assert secret.change(Reading({file_key(place): {**there, "sddl": sddl}})) is None, sddl


@pytest.mark.parametrize("place", PLACES)
def test_after_the_run_only_administrators_have_it(tmp_path: Path, place: str) -> None:
    secret = _private(tmp_path)[place]
    machine = LabNode("win1")
    session = machine.open_session()
    link = Link(
        lambda module, args: run_module(machine, session, module, args, False),
        lambda: None,
        LAYOUT.state_dir,
        runner_mode="inline",
    )
    machine.drive.mkdir(LAYOUT.state_dir)
    machine.drive.set_sddl(LAYOUT.state_dir, security.ADMINS_ONLY)
    machine.drive.mkdir(windows_path.parent(place))
    for old in (KUBECONFIG.encode(), b"old"):
        for name, (sddl, why) in OPEN.items():
            if not sddl.startswith("O:"):
                continue  # each file of the lab has an owner
            machine.drive.write(place, old)
            machine.drive.set_sddl(place, sddl, restore_privilege=True)
            queries = reads((secret,))
            reading = Reading().merge(link.probe(queries), queries)
            made_plan = make_plan("x", (secret,), reading)
            assert made_plan.batch is not None, name
            answer = link.apply(made_plan.batch, uuid.uuid4().hex)
            if "is owned by" in why and place.startswith(f"{LAYOUT.state_dir}\\"):
                # What somebody else put into the node's own folder is not mended: the node stops there.
                assert f"{place} is owned by" in answer.reason
                machine.drive.delete(place)
                continue
            assert answer.is_done, answer
            assert machine.drive.sddl(place) == "O:BAD:PAI(A;;FA;;;SY)(A;;FA;;;BA)", name
            assert machine.drive.read(place) == _text(secret).encode()
            again = Reading().merge(link.probe(queries), queries)
            assert make_plan("x", (secret,), again).batch is None, name
