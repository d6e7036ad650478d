"""Which repairs the record, and so the condition Healthy, is told of."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest
from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.winkube.node.plugins.action import win_k8s_repair
from ansible_collections.winkube.node.plugins.action.win_k8s_repair import ActionModule
from ansible_collections.winkube.node.plugins.plugin_utils.record.node_record import Repair
from ansible_collections.winkube.node.plugins.plugin_utils.task.recorded import Adding


@pytest.mark.parametrize(
    ("result", "told"),
    [
        ({"changed": True}, Repair(cause="flannel.mtu", mended=True)),
        ({"changed": False, "broken": []}, Repair(cause="flannel.mtu", mended=True)),
        ({"changed": False, "broken": ["services.stopped"]}, None),
    ],
)
def test_a_node_with_another_error_is_not_healthy_again(
    monkeypatch: pytest.MonkeyPatch, result: dict[str, Any], told: Repair | None
) -> None:
    action: Any = ActionModule(SimpleNamespace(check_mode=False), *(MagicMock() for _argument in range(5)))
    action.adds = Adding()
    how = SimpleNamespace(action="finding", finding="flannel.mtu")
    monkeypatch.setattr(win_k8s_repair, "read", lambda _of, _options: how)
    monkeypatch.setattr(win_k8s_repair, "check_options", lambda _how: None)
    monkeypatch.setattr(ActionModule, "_work", {"finding": lambda *_given: result})
    assert action.work({}, None) == result
    assert action.adds.repair == told


def test_a_repair_that_leaves_its_work_to_roles_names_them(monkeypatch: pytest.MonkeyPatch) -> None:
    action: Any = ActionModule(SimpleNamespace(check_mode=False), *(MagicMock() for _argument in range(5)))
    action.adds = Adding()
    how = SimpleNamespace(action="finding", finding="kube-proxy.arguments")
    monkeypatch.setattr(win_k8s_repair, "read", lambda _of, _options: how)
    monkeypatch.setattr(win_k8s_repair, "check_options", lambda _how: None)

    def find(of: Any, *_given: object) -> dict[str, Any]:
        of._leave_to(("kube_proxy", "cni"))
        return {"changed": False, "roles": ["kube_proxy", "cni"]}

    monkeypatch.setattr(ActionModule, "_work", {"finding": find})
    action.work({}, None)
    told = Repair(cause="kube-proxy.arguments", mended=False, left_to=("kube_proxy", "cni"))
    assert action.adds.repair == told


def test_what_ansible_refuses_itself_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_given: object) -> None:
        raise AnsibleActionFail("This action does not support async.")

    monkeypatch.setattr(ActionBase, "run", refuse)
    action: Any = ActionModule(*(MagicMock() for _argument in range(6)))
    with pytest.raises(AnsibleActionFail, match="async"):
        action.run(None, {})
