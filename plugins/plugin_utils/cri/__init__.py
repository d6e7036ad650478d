# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The container runtime as the controller sees it: a read-only CRI client, CPU readings from four sources, a verdict.

Nothing of Ansible is imported here; grpc and protobuf are, only where a call is made.

Private to the collection: playbooks use its modules.
"""
