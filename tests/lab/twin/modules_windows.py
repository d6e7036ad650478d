"""Modules of ansible.windows and community.windows as a simulated node answers them: only what the roles use of them.

Results and sentences are those of the modules. Sources: ansible.windows 3.8.0, plugins/modules/win_{regedit,service,
environment,stat}.ps1; community.windows 3.3.0, plugins/modules/win_firewall_rule.ps1. An option that is not simulated
is refused by name.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tests.lab.machine import image
from tests.lab.machine.errors import NotSimulated, WinError
from tests.lab.machine.firewall import RULES as FIREWALL_RULES
from tests.lab.machine.registry import Data
from tests.lab.twin.modules_process import MODULE_S, Answer, Work, at_once, failed, work_in_session

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode
    from tests.lab.machine.session import Session

_KINDS = {"dword": "dword", "qword": "qword", "string": "string", "expandstring": "expand_string"}
_START = {"auto": 2, "manual": 3, "disabled": 4}
_WORDS = {
    "localsubnet": "LocalSubnet",
    "dns": "DNS",
    "dhcp": "DHCP",
    "wins": "WINS",
    "defaultgateway": "DefaultGateway",
}
_TRUE = {"true", "yes", "on", "1", "y", "t"}

REGEDIT = frozenset(
    {"path", "key", "name", "entry", "value", "data", "type", "datatype", "state", "delete_key", "hive"}
)
SERVICE = frozenset(
    {
        "name", "state", "start_mode", "description", "display_name", "path", "username", "password", "dependencies",
        "dependency_action", "desktop_interact", "error_control", "failure_actions",
        "failure_actions_on_non_crash_failure", "failure_command", "failure_reboot_msg", "failure_reset_period_sec",
        "force_dependent_services", "load_order_group", "pre_shutdown_timeout_ms", "required_privileges",
        "service_type", "sid_info", "update_password",
    }
)  # fmt: skip
FIREWALL = frozenset(
    {
        "name", "group", "enabled", "enable", "remoteip", "state", "description", "direction", "action", "program",
        "service", "profiles", "profile", "localip", "localport", "remoteport", "protocol", "interfacetypes", "edge",
        "security", "icmp_type_code",
    }
)  # fmt: skip
ENVIRONMENT = frozenset({"name", "level", "state", "value", "variables"})
STAT = frozenset({"path", "dest", "name", "get_checksum", "get_size", "checksum_algorithm", "checksum_algo", "follow"})


def is_true(value: object) -> bool:
    """A boolean as Ansible.Basic reads it."""
    return value if isinstance(value, bool) else str(value).lower() in _TRUE


def refuse(name: str, arguments: Mapping[str, Any], simulated: set[str]) -> None:
    """Raises NotSimulated for an option that is given and not simulated."""
    odd = sorted(key for key, value in arguments.items() if value is not None and key not in simulated)
    if odd:
        raise NotSimulated(
            f"The lab does not simulate {', '.join(odd)} of {name}; it does {', '.join(sorted(simulated))}."
        )


# -- win_regedit ---------------------------------------------------------------------------------------------------


def regedit(node: SimulatedNode, session: Session, arguments: Mapping[str, Any], check_mode: bool) -> Answer:
    """One value, `state: present`, of type string, expandstring, dword or qword."""
    refuse("win_regedit", arguments, {"path", "name", "data", "type"})
    path, name = str(arguments["path"]).replace(":", "", 1), str(arguments.get("name") or "")
    kind = _KINDS.get(str(arguments.get("type") or "string"))
    if kind is None:
        raise NotSimulated(f"The lab does not simulate the type {arguments.get('type')} of win_regedit.")
    raw = arguments.get("data")
    data: Data = int(raw or 0) if kind.endswith("word") else str("" if raw is None else raw)

    def work() -> Answer:
        found = node.registry.value(path, name)
        result = {
            "changed": found is None or (found.type, found.data) != (kind, data),
            "data_changed": found is not None and found.data != data,
            "data_type_changed": found is not None and found.type != kind,
        }
        if result["changed"] and not check_mode:
            if not session.elevated:
                return failed(f"failed to change registry property '{name}' at {arguments['path']}: Access is denied.")
            node.registry.set(path, name, kind, data)
        return result

    return work_in_session(node, session, "win_regedit", at_once(work))


# -- win_service ---------------------------------------------------------------------------------------------------


def service(node: SimulatedNode, session: Session, arguments: Mapping[str, Any], check_mode: bool) -> Answer:
    """`start_mode` auto, manual or disabled; `state` started."""
    refuse("win_service", arguments, {"name", "state", "start_mode"})
    name, state, mode = str(arguments["name"]), arguments.get("state"), arguments.get("start_mode")
    if state not in {None, "started"} or mode not in {None, *_START}:
        raise NotSimulated(f"The lab does not simulate state {state} with start_mode {mode} of win_service.")

    def work() -> Work:
        yield MODULE_S
        if not node.services.exists(name):
            return failed(f"Service '{name}' is not installed, need to set 'path' to create a new service")
        result: Answer = {"changed": False}
        config = node.services.config(name)
        try:
            if mode is not None and config.start != _START[str(mode)]:
                result["changed"] = True
                if not check_mode:
                    node.services.change(name, "Start", "dword", _START[str(mode)])
            if state == "started" and node.services.state(name) != "running":
                result["changed"] = True
                if not check_mode:
                    yield from node.services.start(name)
                    while node.services.state(name) == "start_pending":
                        yield 0.25
        except WinError as error:
            shown = f"{config.display_name} ({name})"
            # Start-Service's own sentence; the reason stands in the inner exception only.
            sentence = f"Service '{shown}' cannot be started due to the following error: {error.text}"
            return failed(f"Unhandled exception while executing module: {sentence}")
        config = node.services.config(name)
        modes = {number: word for word, number in _START.items()}
        return {
            **result,
            "exists": True,
            "name": config.name,
            "display_name": config.display_name,
            "path": config.image_path,
            "start_mode": modes.get(config.start, str(config.start)),
            "state": "running" if check_mode and state else node.services.state(name),
        }

    return work_in_session(node, session, "win_service", work())


# -- win_firewall_rule ---------------------------------------------------------------------------------------------


def firewall_rule(node: SimulatedNode, session: Session, arguments: Mapping[str, Any], check_mode: bool) -> Answer:
    """All rules of a group: enabled or not, and the remote addresses."""
    refuse("win_firewall_rule", arguments, {"group", "enabled", "remoteip"})
    group = str(arguments.get("group") or "")
    enabled, remote = arguments.get("enabled"), arguments.get("remoteip")
    if not group:
        return failed("Either name or group must be specified")

    def work() -> Answer:
        try:
            wanted = None if remote is None else _addresses(str(remote))
        except ValueError:
            # E_INVALIDARG of INetFwRule::put_RemoteAddresses; the sentence is field knowledge, unverified.
            return failed('Exception setting "RemoteAddresses": "Value does not fall within the expected range."')
        rules = [(value.name, str(value.data)) for value in node.registry.values(FIREWALL_RULES)]
        # The group as it stands in the rule: "Remote Desktop" is what people see of it, and finds none.
        rules = [(name, text) for name, text in rules if f"|embedctxt={group.lower()}|" in text.lower()]
        if not rules:
            return {"changed": False}
        changed: list[str] = []
        unchanged: list[str] = []
        for name, text in rules:
            new = text if enabled is None else _with_enabled(text, is_true(enabled))
            new = new if wanted is None or _remote_of(new) == wanted else _with_remote(new, wanted)
            (unchanged if new == text else changed).append(_field(text, "Name"))
            if new != text and not check_mode:
                if not session.elevated:
                    return failed("Access is denied. (Exception from HRESULT: 0x80070005 (E_ACCESSDENIED))")
                node.registry.set(FIREWALL_RULES, name, "string", new)
        apart = "', '"
        said = f"Firewall rule(s) changed '{apart.join(changed)}' - unchanged '{apart.join(unchanged)}'"
        return {"changed": bool(changed), "msg": said}

    return work_in_session(node, session, "win_firewall_rule", at_once(work))


def _addresses(text: str) -> frozenset[tuple[str, str]]:
    """`RemoteAddresses` as the fields of a rule: RA4 and RA6 with their values; empty for any. ValueError if it is
    none that the firewall takes."""
    found: set[tuple[str, str]] = set()
    if text in {"", "*", "any"}:
        return frozenset()
    for item in text.split(","):
        word = _WORDS.get(item.lower())
        if word:
            found |= {("RA4", word), ("RA6", word)}
            continue
        first, dash, last = item.partition("-")
        if dash:
            one, two = ipaddress.ip_address(first), ipaddress.ip_address(last)
            if one.version != two.version or int(one) > int(two):
                raise ValueError(item)
            found.add((f"RA{one.version}", item))
            continue
        network = ipaddress.ip_network(item, strict=False)
        single = network.prefixlen == network.max_prefixlen
        masked = f"{network.network_address}/{network.netmask if network.version == 4 else network.prefixlen}"
        found.add((f"RA{network.version}", str(network.network_address) if single else masked))
    return frozenset(found)


def _fields(text: str) -> list[tuple[str, str]]:
    return [(key, value) for key, _, value in (part.partition("=") for part in text.strip("|").split("|"))]


def _field(text: str, name: str) -> str:
    return next((value for key, value in _fields(text) if key == name), "")


def _text(fields: list[tuple[str, str]]) -> str:
    return "".join(f"{key}={value}|" if value or "=" in key else f"{key}|" for key, value in fields)


def _with_enabled(text: str, enabled: bool) -> str:
    active = "TRUE" if enabled else "FALSE"
    return _text([(key, active if key == "Active" else value) for key, value in _fields(text)])


def _remote_of(text: str) -> frozenset[tuple[str, str]]:
    return frozenset((key, value) for key, value in _fields(text) if key in {"RA4", "RA6"})


def _with_remote(text: str, remote: frozenset[tuple[str, str]]) -> str:
    kept = [(key, value) for key, value in _fields(text) if key not in {"RA4", "RA6"}]
    place = next((index for index, (key, _) in enumerate(kept) if key in {"App", "Name"}), len(kept))
    return _text([*kept[:place], *sorted(remote), *kept[place:]])


# -- win_environment, win_stat -------------------------------------------------------------------------------------


def environment(node: SimulatedNode, session: Session, arguments: Mapping[str, Any], check_mode: bool) -> Answer:
    """`variables` of the machine, to be set."""
    refuse("win_environment", arguments, {"variables", "level"})
    if arguments.get("level") != "machine":
        raise NotSimulated("The lab simulates the level machine of win_environment.")

    def work() -> Answer:
        result: Answer = {"changed": False, "values": {}}
        for name, wanted in dict(arguments.get("variables") or {}).items():
            before = node.registry.text(image.ENVIRONMENT, name) or None
            changed = before != str(wanted)
            result["values"][name] = {"before": before, "after": str(wanted), "changed": changed}
            result["changed"] = result["changed"] or changed
            if changed and not check_mode:
                if not session.elevated:
                    return failed("Requested registry access is not allowed.")
                node.registry.set(image.ENVIRONMENT, name, "string", str(wanted))
        return result

    return work_in_session(node, session, "win_environment", at_once(work))


def stat(node: SimulatedNode, session: Session, arguments: Mapping[str, Any], check_mode: bool) -> Answer:
    """Whether a path is there, and whether it is a folder."""
    refuse("win_stat", arguments, {"path", "get_checksum"})
    path = str(arguments["path"])

    def work() -> Answer:
        kind = node.drive.kind(path)
        if kind is None:
            return {"changed": False, "stat": {"exists": False}}
        return {
            "changed": False,
            "stat": {"exists": True, "path": path, "isdir": kind != "file", "isreg": kind == "file"},
        }

    return work_in_session(node, session, "win_stat", at_once(work))


HANDLERS: Mapping[str, tuple[Callable[[SimulatedNode, Session, Mapping[str, Any], bool], Answer], frozenset[str]]] = {
    "ansible.windows.win_environment": (environment, ENVIRONMENT),
    "ansible.windows.win_regedit": (regedit, REGEDIT),
    "ansible.windows.win_service": (service, SERVICE),
    "ansible.windows.win_stat": (stat, STAT),
    "community.windows.win_firewall_rule": (firewall_rule, FIREWALL),
}
"""Full name of a module -> its function and all options that the real one has."""
