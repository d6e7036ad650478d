"""The table of Ansible modules that a simulated node answers, and the refusal of all others by name.

Each answer is what the module's own `ExitJson` / `FailJson` would print. Of Ansible.Basic only what a controller sees
is reproduced: unknown options, missing support of check mode, `invocation`. Source: ansible-core 2.19.14 and 2.21.5,
module_utils/csharp/Ansible.Basic.cs (`CheckUnsupportedArguments`, `CheckArguments`, `GetFormattedResults`). node_probe
and node_apply do without it and have sentences of their own (`plain`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.lab.machine.node import SimulatedNode
from tests.lab.machine.session import Session
from tests.lab.server import modules_copy
from tests.lab.twin import modules_choco, modules_windows
from tests.lab.twin.modules import UNHANDLED, failed, run_module, unhandled

HIDDEN = "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER"
_OWN = "_ansible_"


@dataclass(frozen=True)
class Call:
    """One run of a module: where, in which session, its full name, its own arguments, what the task adds to the
    environment of its process."""

    node: SimulatedNode
    session: Session
    name: str
    arguments: Mapping[str, Any]
    check_mode: bool
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Module:
    """How a module is answered: its options (with those that are `no_log`), check mode, and the function. `plain`: it
    does not use Ansible.Basic; what its sentences begin with."""

    answer: Callable[[Call], dict[str, Any]]
    options: frozenset[str] = frozenset()
    no_log: frozenset[str] = frozenset()
    check_mode: bool = True
    required: frozenset[str] = field(default_factory=frozenset)
    plain: str | None = None


def _twin(call: Call) -> dict[str, Any]:
    name = call.name.rpartition(".")[2]
    return run_module(call.node, call.session, name, dict(call.arguments), call.check_mode)


def _ping(call: Call) -> dict[str, Any]:
    data = call.arguments.get("data", "pong")
    if data == "crash":
        return unhandled("boom")
    return {"changed": False, "ping": data}


def _setup(call: Call) -> dict[str, Any]:
    """The facts that playbooks for Windows look at first; no subsets."""
    request = json.dumps(
        {"schema": 1, "queries": [{"key": "system", "op": "system"}], "state_dir": "C:\\ProgramData\\winkube"}
    )
    system = run_module(call.node, call.session, "node_probe", {"request": request}, True)["parts"]["system"]
    name, build = str(system["computer_name"]), str(system["os"]["build"])
    version = f"10.0.{build}.0"
    facts = {
        "ansible_os_family": "Windows",
        "ansible_system": "Win32NT",
        "ansible_distribution": f"Microsoft {system['os']['product']}",
        "ansible_distribution_version": version,
        "ansible_distribution_major_version": "10",
        "ansible_kernel": version,
        "ansible_architecture": "64-bit",
        "ansible_architecture2": {"amd64": "x86_64", "386": "i386"}.get(system["os"]["architecture"], "arm64"),
        "ansible_os_installation_type": system["os"]["installation_type"],
        "ansible_os_product_type": "server",
        "ansible_hostname": name.split(".", maxsplit=1)[0],
        "ansible_nodename": name,
        "ansible_fqdn": name,
        "ansible_user_id": call.session.user,
        "ansible_powershell_version": int(str(system["powershell"]).split(".", maxsplit=1)[0]),
        "ansible_reboot_pending": system["reboot_pending"],
        "gather_subset": list(call.arguments.get("gather_subset") or ["all"]),
        "module_setup": True,
    }
    return {"changed": False, "ansible_facts": facts}


def _chocolatey(call: Call) -> dict[str, Any]:
    return modules_choco.win_chocolatey(
        call.node, call.session, call.arguments, call.check_mode, dict(call.environment)
    )


def _windows(name: str) -> Module:
    run, options = modules_windows.HANDLERS[name]
    return Module(lambda call: run(call.node, call.session, call.arguments, call.check_mode), options=options)


_SETUP = Module(_setup, options=frozenset({"gather_subset", "gather_timeout", "fact_path", "_measure_subset"}))
TABLE: dict[str, Module] = {
    "winkube.node.node_probe": Module(_twin, options=frozenset({"request"}), plain=""),
    # node_apply itself refuses under check mode, with its own answer.
    "winkube.node.node_apply": Module(
        _twin, options=frozenset({"batch"}), no_log=frozenset({"batch"}), plain="The batch could not be handled: "
    ),
    "ansible.windows.win_copy": Module(modules_copy.answer, options=modules_copy.OPTIONS, required=frozenset({"dest"})),
    "ansible.windows.win_ping": Module(_ping, options=frozenset({"data"})),
    "ansible.windows.setup": _SETUP,
    "ansible.builtin.setup": _SETUP,
    "chocolatey.chocolatey.win_chocolatey": Module(
        _chocolatey, options=modules_choco.OPTIONS, no_log=modules_choco.SECRET, required=frozenset({"name"})
    ),
    **{name: _windows(name) for name in modules_windows.HANDLERS},
}


def answer(
    node: SimulatedNode,
    session: Session,
    name: str,
    arguments: Mapping[str, Any],
    environment: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Run one module. `arguments` are all that Ansible sent, its own `_ansible_*` ones among them.

    Returns the result object; `failed` in it means exit code 1. What ends session or machine is raised by the twin.
    """
    module = TABLE.get(name)
    if module is None:
        return failure(
            f"The simulated node {node.name} does not know the module {name}; it answers {', '.join(sorted(TABLE))}. "
            "What a module does there is one entry in tests/lab/server/modules.py."
        )
    own = {key: value for key, value in arguments.items() if not key.startswith(_OWN) or key in module.options}
    result = _checked(node, session, name, module, own, arguments, environment or {})
    if str(result.get("msg", "")).startswith(UNHANDLED):
        return result
    if int(arguments.get("_ansible_verbosity", 0)) <= 2:
        result.pop("exception", None)
    verbose = int(arguments.get("_ansible_verbosity", 0)) > 2
    if arguments.get("_ansible_inject_invocation", verbose or module.plain is None):
        shown = {key: HIDDEN if key in module.no_log and value is not None else value for key, value in own.items()}
        result.setdefault("invocation", {"module_args": shown})
    return result


def failure(message: str, *, thrown: bool = False) -> dict[str, Any]:
    return failed(message, message if thrown else "")


def _checked(
    node: SimulatedNode,
    session: Session,
    name: str,
    module: Module,
    own: dict[str, Any],
    arguments: Mapping[str, Any],
    environment: Mapping[str, str],
) -> dict[str, Any]:
    if module.plain is not None:
        (option,) = module.options
        if stranger := next((key for key in own if key != option), ""):
            return failure(f"{module.plain}Unsupported parameter {stranger}: the module has the option {option} alone.")
        if own.get(option) is None:
            return failure(f"{module.plain}The option {option} is missing.", thrown=True)
    unknown = sorted(set(own) - module.options)
    if unknown and not arguments.get("_ansible_ignore_unknown_opts", False):
        legal = ", ".join(sorted(module.options))
        return failure(
            f"Unsupported parameters for ({name}) module: {', '.join(unknown)}. Supported parameters include: {legal}"
        )
    check_mode = bool(arguments.get("_ansible_check_mode", False))
    if check_mode and not module.check_mode:
        return {"changed": False, "skipped": True, "msg": f"remote module ({name}) does not support check mode"}
    missing = sorted(option for option in module.required if own.get(option) is None)
    if missing:
        return failure(f"missing required arguments: {', '.join(missing)}")
    return module.answer(Call(node, session, name, own, check_mode, environment))
