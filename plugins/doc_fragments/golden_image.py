# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How modules of components are told that the machine becomes an image, not a node."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  golden_image:
    description:
      - Installs only what may be cloned, since the machine will become an image for many nodes (playbook C(image.yml)).
        It installs programs, but writes nothing that contains the machine's name, its addresses, a key or anything
        about a cluster. The cluster is not asked.
      - A stopped service stays stopped, unless something that it uses changes.
    type: bool
    default: false
"""
