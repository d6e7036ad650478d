"""What win_k8s_repair does of its remedies: none that was not allowed, and flanneld again no more often than said."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.action import win_k8s_repair
from ansible_collections.winkube.node.plugins.plugin_utils.node.link import NodeError
from ansible_collections.winkube.node.plugins.plugin_utils.node_action import display
from ansible_collections.winkube.node.plugins.plugin_utils.repair.repair import Remedy

from .nodes import LAYOUT
from .repair_machine import OLD, SUBNET_ENV, Machine, env
from .test_repair import WANTED, machine, nodes, read

OPTIONS: dict[str, Any] = {
    "switch_mode": False,
    "retries": 2,
    "remove_policy_lists": False,
    "generate_subnet_env": False,
    "subnet": "",
    "interface_name": "Ethernet",
    "management_ip": "",
}


def sent(monkeypatch: pytest.MonkeyPatch, made: Machine, *, works: bool = True, **options: Any) -> list[str]:
    """The texts of what is sent to the node, of which launches of flanneld fail unless it `works`."""
    texts: list[str] = []
    action: Any = object.__new__(win_k8s_repair.ActionModule)

    def look() -> None:
        action._reading = read(made)

    def apply(remedy: Remedy) -> None:
        texts.append(remedy.text)
        if not works and remedy.text.startswith("launch"):
            raise NodeError("it did not come")

    monkeypatch.setattr(display, "warning", lambda text: None)
    action._options, action._layout, action._wanted = OPTIONS | options, LAYOUT, WANTED
    action._task = SimpleNamespace(check_mode=False, delegate_to="win1")
    action._nodes, action._done = nodes(win1=OLD), []
    action._look, action._apply = look, apply
    look()
    try:
        action._repair()
    except NodeError as error:
        texts.append(str(error))
    return texts


@pytest.mark.row("KP-17")
def test_policy_lists_go_only_if_it_was_said(monkeypatch: pytest.MonkeyPatch) -> None:
    made = machine(lease=env())
    cbr0 = made.network("cbr0", OLD)
    end = made.endpoint(cbr0, "Ethernet", IsRemoteEndpoint=True, IPAddress="10.244.7.4")
    policy = {"Type": "ELB", "Protocol": 6, "InternalPort": 80, "ExternalPort": 80, "VIPs": ["10.96.0.1"]}
    made.node.hns.create_policy_list({"References": [f"/endpoints/{end['ID']}"], "Policies": [policy]})
    assert sent(monkeypatch, made) == []
    (text,) = sent(monkeypatch, made, remove_policy_lists=True)
    assert text.startswith("remove 1 policy lists")


@pytest.mark.row("FL-11")
@pytest.mark.parametrize(("retries", "launches"), [(0, 1), (2, 3)])
def test_flanneld_is_launched_once_and_so_often_again(
    monkeypatch: pytest.MonkeyPatch, retries: int, launches: int
) -> None:
    *texts, error = sent(monkeypatch, machine(), works=False, retries=retries)
    assert texts == ["launch flanneld again and wait 60 s for its network cbr0"] * launches
    assert error.startswith(f"repair: flanneld was launched {launches} times, and its network cbr0")


@pytest.mark.row("FL-09")
@pytest.mark.parametrize("allowed", [False, True])
def test_subnet_env_is_written_after_the_launches_and_only_if_it_was_said(
    monkeypatch: pytest.MonkeyPatch, allowed: bool
) -> None:
    made = machine()
    made.network("cbr0", OLD)
    *launches, last = sent(monkeypatch, made, works=False, retries=1, generate_subnet_env=allowed)
    assert len(launches) == 2
    assert all(text.startswith("launch flanneld again") for text in launches)
    assert last.startswith(rf"write {SUBNET_ENV}: FLANNEL_NETWORK=" if allowed else "repair: flanneld was launched 2")


@pytest.mark.row("FL-09")
def test_without_its_network_a_lease_would_help_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = sent(monkeypatch, machine(), works=False, retries=0, generate_subnet_env=True)
    assert not [text for text in texts if text.startswith("write")]
