# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Labels that a kubelet puts on its Node.

Source: k8s.io/api v0.29 core/v1/well_known_labels.go
"""

from __future__ import annotations

OS_LABEL = "kubernetes.io/os"
ARCH_LABEL = "kubernetes.io/arch"
HOSTNAME_LABEL = "kubernetes.io/hostname"
BUILD_LABEL = "node.kubernetes.io/windows-build"
