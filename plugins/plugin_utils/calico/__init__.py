# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Calico in the cluster, by its operator or by manifests: its state, what keeps Windows nodes out, what to write.

Private to the collection: playbooks use its modules.
"""
