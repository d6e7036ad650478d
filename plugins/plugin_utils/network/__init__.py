# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Looks at what HNS holds and at what a node, its files and its cluster say of the same things: findings, as data.

Pure: a reading and objects of the cluster go in, findings come out. Nothing here speaks with a node or changes one.
"""
