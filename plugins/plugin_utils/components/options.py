# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of a component's module and the variables of its role, in one table.

It generates the module's documentation and argument_spec, and the role's defaults, specification, task and table of
variables. The first task of a run plans with it too: `arguments` says which variable sets which option.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

SECRET = "Secret. "
"""The start of the description of an option whose value is never shown."""


class _Same:
    """Marks a variable whose default is its option's."""


SAME = _Same()


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of the component's own role. `default` may be a template; without one the option's counts. `text`
    is the role's description in Ansible's markup; without one the option's counts. `shown` replaces the default in
    the README if it explains more than the value."""

    name: str
    default: Any = SAME
    text: str = ""
    shown: str = ""


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a module.

    `variable` sets it in the role: a variable of that role, or an expression of shared ones. An option without one has
    a variable per suboption, or none. `default` None: it has none. Several descriptions are paragraphs.
    """

    name: str
    type: str
    description: str | tuple[str, ...]
    default: Any = None
    required: bool = False
    elements: str = ""
    choices: tuple[str, ...] = ()
    options: tuple[Option, ...] = ()
    variable: Variable | str = ""

    def document(self) -> dict[str, Any]:
        """The option in the form of a module's documentation."""
        text = self.description
        found: dict[str, Any] = {"description": text if isinstance(text, str) else list(text), "type": self.type}
        if self.elements:
            found["elements"] = self.elements
        if self.choices:
            found["choices"] = list(self.choices)
        if self.required:
            found["required"] = True
        if self.default is not None:
            found["default"] = self.default
        if self.options:
            found["suboptions"] = document(self.options)
        return found


@dataclass(frozen=True, slots=True)
class Interface:
    """A component's module and role, as users see them.

    `module` is the module's name, `summary` the short description of both, `task` the title of the role's task.
    `shared` are the fragments winkube.node.<name> of options that modules share. `places` are its folders, files and
    names of services on a node, each a field of `Layout` and a suboption of `node`; their variables belong to the role
    winkube.
    """

    module: str
    summary: str
    task: str
    options: tuple[Option, ...]
    shared: tuple[str, ...] = ("node",)
    places: tuple[Option, ...] = ()


# Options that several tables have.

PROXY = Option("proxy", "str", "A web proxy for the download.", default="", variable="winkube_http_proxy")


def build_unverified_option(*names: str) -> Option:
    """The option `allow_unverified`, for sources of these names."""
    return Option(
        "allow_unverified",
        "list",
        f"Components whose sources may come without a checksum, though not over http, such as {' and '.join(names)}.",
        default=[],
        elements="str",
        variable="winkube_allow_unverified",
    )


def checksum_option(name: str, variable: Variable, *, sums: str = "the publisher's sum file") -> Option:
    """The option `checksum` of a source that `allow_unverified` knows by this name."""
    return Option(
        "checksum",
        "str",
        (
            f"V(sha256:) and 64 hex digits, or the https address of {sums}, which the controller reads.",
            f"Without one the source is refused, unless O(allow_unverified) names C({name}).",
        ),
        default="",
        variable=variable,
    )


def service_seconds(
    text: str, start: int, stop: int, start_variable: Variable | str = "", stop_variable: Variable | str = ""
) -> tuple[Option, Option]:
    """The time limits of a service; `text` says what the start waits for."""
    stopping = "Seconds within which the service must stop."
    return (
        Option("start_timeout", "int", text, default=start, variable=start_variable),
        Option("stop_timeout", "int", stopping, default=stop, variable=stop_variable),
    )


KUBERNETES_VERSION = Option(
    "version",
    "str",
    "The release of Kubernetes, such as V(1.37.1). Refused if it does not go with the cluster's API server.",
    required=True,
    variable="winkube_kubernetes_version",
)

NODE_NAME = Option(
    "node_name",
    "str",
    "The name of the Node object, in lower case. The kubelet, kube-proxy and flanneld get the same one.",
    required=True,
    variable="winkube_node_name",
)

NODE_ADDRESS = (
    Option(
        "interface_name",
        "str",
        "The adapter that the node's address is on.",
        default="Ethernet",
        variable="winkube_interface_name",
    ),
    Option(
        "management_ip",
        "str",
        "The node's address. Empty for the first IPv4 address of O(interface_name). Refused if no adapter has it.",
        default="",
        variable="winkube_management_ip",
    ),
)


def kubernetes_source(program: str, *, needed: str = "") -> tuple[Option, Option]:
    """The options `source` of a Kubernetes program and `allow_unverified`. `needed` says when the source is needed,
    unless always."""
    prefix = f"winkube_{program.replace('-', '_')}"
    text = "The program (C(.exe)), fetched by the node; V(http), V(https), or V(file:///C:/...) on the node."
    base = Variable(
        f"{prefix}_url",
        f"{{{{ winkube_kubernetes_base_url }}}}/{program}.exe",
        shown="below C(winkube_kubernetes_base_url)",
    )
    beside = f"({prefix}_url ~ '.sha256') if {prefix}_url.startswith('https://') else ''"
    sums = Variable(
        f"{prefix}_checksum",
        f"{{{{ winkube_kubernetes_checksum or ({beside}) }}}}",
        shown="the publisher's sum file",
    )
    where = Option("url", "str", text, default="" if needed else None, required=not needed, variable=base)
    return (
        Option(
            "source",
            "dict",
            f"Where {program}.exe comes from.{f' {needed}' if needed else ''}",
            required=not needed,
            options=(where, checksum_option(program, sums), PROXY),
        ),
        build_unverified_option(program),
    )


def service_option(
    managers: tuple[str, ...],
    text: str | tuple[str, ...],
    *others: Option,
    manager: Variable | str = "",
    variable: Variable | str = "",
) -> Option:
    """The option `service`, with its `manager` (the first is the default); `text` describes the managers."""
    chosen = Option("manager", "str", text, default=managers[0], choices=managers, variable=manager)
    return Option(
        "service", "dict", "How the service is created and run.", options=(chosen, *others), variable=variable
    )


def extra_arguments(such: str, variable: str) -> Option:
    """Arguments of a program besides ours."""
    text = f"Further arguments, such as V({such}). They are checked like the others."
    return Option("extra_arguments", "list", text, default=[], elements="str", variable=Variable(variable))


def build_environment_option(variable: Variable | str = "", besides: str = "such as HTTPS_PROXY") -> Option:
    """The option `environment`: the service's own variables."""
    text = f"{SECRET}Variables of the service's own environment, {besides}. A change restarts it."
    return Option("environment", "dict", text, default={}, variable=variable)


def depends_on(such: str, variable: Variable) -> Option:
    """The option `depends_on`: services that Windows starts before this one."""
    text = (
        f"Services that Windows has to start before, such as V({such}), and whose stop also stops this one.",
        "None by default. If one of them does not come up at boot, this service stays down.",
    )
    return Option("depends_on", "list", text, default=[], elements="str", variable=variable)


SHARED: Mapping[str, Mapping[str, Any]] = {
    "nssm": {
        "nssm_source": {"url": "winkube_nssm_url", "checksum": "winkube_nssm_checksum"},
        "log": {"max_mb": "winkube_log_max_mb", "keep_days": "winkube_log_keep_days"},
    },
    "log_runner": {
        "log_runner_source": {
            "version": "winkube_log_runner_version",
            "url": "winkube_log_runner_url",
            "checksum": "winkube_log_runner_checksum",
        }
    },
    "inbound": {"firewall": {"enabled": "winkube_firewall", "sources": "winkube_firewall_sources"}},
    "cluster": {"cluster": "winkube_cluster"},
    "golden_image": {"golden_image": "winkube_golden_image"},
    "pushed_builds": {"keep_pushed_builds": "winkube_keep_pushed_builds"},
    "drain": {"drain": "winkube_node_drain"},
    "node": {
        "node": "winkube_node",
        "reading_max_age": "winkube_reading_max_age",
        "runner": "winkube_runner",
        "reconnect_timeout": "winkube_reconnect_timeout",
        "answer_timeout": "winkube_answer_timeout",
    },
}
"""The variables for the options of the shared fragments, in a task's order."""


def document(options: tuple[Option, ...]) -> dict[str, Any]:
    """Options by name, in the form of a module's documentation."""
    return {option.name: option.document() for option in options}


def arguments(interface: Interface) -> dict[str, Any]:
    """The module's options as templates of the collection's variables, as the role's task passes them. The caller
    has Ansible fill them in."""
    found = _templates(interface.options)
    for fragment, names in SHARED.items():
        if fragment in interface.shared:
            found |= _list_templates(names)
    return found


def _templates(options: tuple[Option, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for option in options:
        if option.variable:
            own = option.variable
            found[option.name] = "{{ " + (own.name if isinstance(own, Variable) else own) + " }}"
        elif inner := _templates(option.options):
            found[option.name] = inner
    return found


def _list_templates(names: Mapping[str, Any]) -> dict[str, Any]:
    return {
        option: "{{ " + name + " }}" if isinstance(name, str) else _list_templates(name)
        for option, name in names.items()
    }


@dataclass(frozen=True, slots=True)
class Given:
    """A variable of a role and the option it sets. `default` is the variable's; `text` is in Ansible's markup."""

    variable: Variable
    option: Option
    default: Any
    text: str


def role_variables(options: tuple[Option, ...]) -> tuple[Given, ...]:
    """The role's own variables, in the order of the table."""
    every = dict(_paths(options))
    names = {path: name for path, one in every.items() if (name := _variable_name(one))}
    found: list[Given] = []
    for option in every.values():
        if isinstance(option.variable, Variable):
            given = option.variable.default
            default = _default(option) if given is SAME else given
            found.append(Given(option.variable, option, default, option.variable.text or _describe(option, names)))
    return tuple(found)


def _paths(options: tuple[Option, ...], before: str = "") -> Iterator[tuple[str, Option]]:
    """Each option and suboption with its name as in `O()`."""
    for option in options:
        yield before + option.name, option
        yield from _paths(option.options, f"{before}{option.name}.")


def _variable_name(option: Option) -> str:
    """The variable that sets the option; empty for none."""
    if isinstance(option.variable, Variable):
        return option.variable.name
    return option.variable.partition(" ")[0]


def _default(option: Option) -> Any:
    """The option's default; for a dict without one, the defaults of its suboptions."""
    if option.default is None and option.options and option.type == "dict":
        return {one.name: _default(one) for one in option.options}
    return option.default


def _describe(option: Option, names: Mapping[str, str]) -> str:
    """The description for readers who know only variables: other options appear by their variables' names."""
    lines = (option.description,) if isinstance(option.description, str) else option.description
    text = " ".join(line.removeprefix(SECRET) for line in lines)
    return re.sub(r"\bO\(([\w.]+)", lambda found: f"C({names.get(found[1], found[1])}", text)
