# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of k8s_windows_bundle; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: k8s_windows_bundle
short_description: Collects on the controller what Windows nodes download, for nodes without access to the internet
version_added: 0.1.0
author: The winkube.node authors (@winkube)
description:
  - Downloads files into a folder, verifies each, and writes C(SHA256SUMS) there. C(playbooks/bundle.yml) says which
    files nodes need, and docs/air-gapped.md how they are used.
  - The rules for checksums are those for a node. All checksums are known before the first file is downloaded.
  - Certificates are checked, and an https address, also of a sum file, is never redirected to another scheme.
attributes:
  check_mode:
    support: full
    description: Reads the sum files and says what would be downloaded.
  diff_mode:
    support: none
    description: It lists what it downloads.
  idempotent:
    support: full
    description: A file that is there and has its checksum, or needs none, is not fetched again.
  async:
    support: none
    description: It runs on the controller.
  platform:
    support: full
    platforms: all
    description: It runs on the controller, whatever the host of the task is.
options:
  directory:
    description: The folder. It is created if missing.
    type: path
    required: true
  files:
    description: What to download.
    type: list
    elements: dict
    required: true
    suboptions:
      path:
        description: The file's place below O(directory), with V(/).
        type: str
        required: true
      component:
        description: The component that it belongs to, such as V(containerd), for messages and O(allow_unverified).
        type: str
        required: true
      url:
        description: The address. A password or a signature in it is not printed.
        type: str
        required: true
      checksum:
        description:
          - V(sha256:) and 64 hex digits, or the https address of a sum file. If it is empty, or a sum file on the
            file's own server, the checksum that comes with the collection is used, if there is one.
        type: str
        default: ''
  allow_unverified:
    description: Components whose files may be downloaded over https without a checksum.
    type: list
    elements: str
    default: []
  timeout:
    description: Seconds for the whole download of one file.
    type: int
    default: 3600
"""

EXAMPLES = r"""
- name: Collect containerd for nodes without a way to the internet
  winkube.node.k8s_windows_bundle:
    directory: /srv/bundle
    files:
      - path: github.com/containerd/containerd/releases/download/v2.3.7/containerd-2.3.7-windows-amd64.tar.gz
        component: containerd
        url: https://github.com/containerd/containerd/releases/download/v2.3.7/containerd-2.3.7-windows-amd64.tar.gz
  run_once: true
"""

RETURN = r"""
msg:
  description: How many files there are, and how many were downloaded.
  returned: always
  type: str
files:
  description: The paths of all files.
  returned: always
  type: list
  elements: str
downloaded:
  description: The paths of those that were missing.
  returned: always
  type: list
  elements: str
"""
