# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A fingerprint of what a host's variables want of its node: what a run has made true is compared with it later, from
the Node object alone.

It is made of the arguments of the roles that take part, with the defaults of this release of the collection. Left out
is what does not concern the machine (how it is reached, how it is drained), what the cluster says of its networks, and
every secret: a short password could be guessed from its fingerprint.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from ansible.errors import AnsibleActionFail, AnsibleError
from ansible.template import trust_as_template

from ..components.options import NETWORK
from .argument_spec import check_arguments, load_spec, plain
from .node_plan import list_parts
from .rendering import Rendering

NOT_OF_THE_NODE = frozenset(
    {
        *("answer_timeout", "cluster", "drain", "golden_image", "keep_pushed_builds", "reading_max_age"),
        *("reconnect_timeout", "refresh", "runner"),
    }
)
TYPED = {
    name: trust_as_template("{{ winkube_" + name + " }}")
    for name in ("cluster_cidr", "service_cidr", "dns_service_ip", "cluster_domain", "api_server")
}
"""What is set of the cluster's networks; what is not is asked of the cluster by each run, and compared there."""
LENGTH = 16


def make_fingerprint(templar: Any, variables: Mapping[str, Any]) -> str:
    """Hexadecimal digits; empty where the variables cannot be rendered without the node.

    Args:
        templar: The task's.
        variables: The host's, with the defaults of all roles.
    """
    wanted = write_wanted(templar, variables)
    return hashlib.sha256(wanted.encode()).hexdigest()[:LENGTH] if wanted else ""


def write_wanted(templar: Any, variables: Mapping[str, Any]) -> str:
    """What the fingerprint is made of, as JSON; empty where it cannot be rendered. See `make_fingerprint`."""
    known = dict(variables)
    known[NETWORK] = TYPED
    engine = templar.copy_with_new_env(available_variables=known)
    rendering = Rendering(known, lambda value: plain(engine.template(value)))
    found: dict[str, Any] = {}
    try:
        for part in list_parts():
            for condition in part.conditions:
                rendering.settle(condition)
            if all(engine.evaluate_conditional(condition) for condition in part.conditions):
                module = part.component.module
                options = check_arguments(module, rendering.render(part.arguments))
                found[part.component.role] = _without_secrets(options, load_spec(module))
    except (AnsibleError, AnsibleActionFail):
        return ""
    return json.dumps(found, sort_keys=True, default=str)


def _without_secrets(options: Mapping[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _value(value, spec.get(name) or {})
        for name, value in options.items()
        if name not in NOT_OF_THE_NODE and not (spec.get(name) or {}).get("no_log")
    }


def _value(value: Any, spec: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        return [_value(each, spec) for each in value]
    if isinstance(value, Mapping) and "options" in spec:
        return _without_secrets(value, spec["options"])
    return value
