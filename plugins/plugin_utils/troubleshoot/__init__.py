# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The questions of Kubernetes' troubleshooting sections as checks: what was seen of a node, a verdict, a report.

Pure: evidence in, results out. The action plugins read nodes and cluster, and write the files.
"""
