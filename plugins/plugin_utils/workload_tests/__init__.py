# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests that run in a cluster, on its Windows nodes: smoke test, density, CPU limits. Each is a `run`.

Private to the collection: playbooks use its modules.
"""
