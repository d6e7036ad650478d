# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of the modules that converge a component, from its declaration.

`winkube.node.components.kubelet` is the fragment of the component whose role is kubelet; `winkube.node.components`
the option that names the roles which only some nodes have.
"""

from __future__ import annotations

from typing import Any

import yaml

from ..plugin_utils.components.options import document
from ..plugin_utils.components.registry import COMPONENTS

OPTIONAL = [component.role for component in COMPONENTS if component.optional]


# libyaml's, where PyYAML was built with it: each run of Ansible loads this file.
DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
NAMES: dict[str, Any] = {
    "optional_components": {
        "description": "The optional roles that this node gets.",
        "type": "list",
        "elements": "str",
        "choices": OPTIONAL,
        "default": [],
    }
}


class ModuleDocFragment:
    """Its attributes are set below: ansible-test reads those that are assigned here as plain text."""


for _variable, _documented in {
    "DOCUMENTATION": NAMES,
    **{component.role.upper(): document(component.interface.rows) for component in COMPONENTS},
}.items():
    setattr(ModuleDocFragment, _variable, yaml.dump({"options": _documented}, Dumper=DUMPER))
