# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of the modules whose component is one program and its service, from its declaration.

`winkube.node.components.csi_proxy` is the fragment of the component whose role is csi_proxy; `winkube.node.components`
the option that names such roles.
"""

from __future__ import annotations

from typing import Any

import yaml

from ..plugin_utils.components.program_service import ProgramService
from ..plugin_utils.components.registry import COMPONENTS, PROGRAM_SERVICES

OPTIONAL = [component.role for component in COMPONENTS if component.optional]


NAMES: dict[str, Any] = {
    "optional_components": {
        "description": "The roles that this node has and others have not.",
        "type": "list",
        "elements": "str",
        "choices": OPTIONAL,
        "default": [],
    }
}


class ModuleDocFragment:
    """Its attributes are set below: ansible-test reads those that are assigned here as plain text."""


def _options(made: ProgramService) -> dict[str, Any]:
    name, recipe, managers = made.component.name, made.recipe, made.daemon.kind.managers
    published = recipe.no_url.partition(";")[0] + "." if recipe.no_url else ""
    found: dict[str, Any] = {
        "version": _text(f"The release of {name}, such as V({recipe.version}).", required=True),
        "source": {
            "description": f"Where {name} comes from.",
            "type": "dict",
            "suboptions": {
                "url": _text(f"A release archive or the program, fetched by the node. {published}".strip(), default=""),
                "checksum": _text(
                    "V(sha256:) and 64 hex digits, or the https address of a sum file. Without one the source is "
                    f"refused, unless O(allow_unverified) names C({name}).",
                    default="",
                ),
                "proxy": _text("A web proxy for the download.", default=""),
            },
        },
        "allow_unverified": {
            "description": f"Sources that may come without a checksum, such as C({name}).",
            "type": "list",
            "elements": "str",
            "default": [],
        },
        "service": {
            "description": "How the service is made and run.",
            "type": "dict",
            "suboptions": {
                "manager": _text(
                    "V(sc) for sc.exe and the program's own way to be a service, or V(nssm).",
                    choices=list(managers),
                    default=managers[0],
                ),
                "start_timeout": _seconds("Seconds in which it has to work.", recipe.start_timeout_s),
                "stop_timeout": _seconds("Seconds in which the service has to stop.", recipe.stop_timeout_s),
            },
        },
    }
    found |= {option.name: option.documented() for option in recipe.options}
    if recipe.port is not None:
        found |= {
            "interface_name": _text("The adapter of the node's address.", default="Ethernet"),
            "management_ip": _text("That address; empty for the adapter's first one.", default=""),
            "cluster_cidr": _text("The pods' network, whose pods may come in by the firewall rule.", default=""),
        }
    return found


def _text(description: str, **more: Any) -> dict[str, Any]:
    return {"description": description, "type": "str", **more}


def _seconds(description: str, default: int) -> dict[str, Any]:
    return {"description": description, "type": "int", "default": default}


for _variable, _documented in {
    "DOCUMENTATION": NAMES,
    **{made.component.role.upper(): _options(made) for made in PROGRAM_SERVICES},
}.items():
    setattr(ModuleDocFragment, _variable, yaml.safe_dump({"options": _documented}))
