# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""HNS's objects as models: networks, endpoints, namespaces, load balancers. The diagnosis judges them.

Pure: readings or pasted text in, models out. Nothing here talks to a node or changes one.

Private to the collection: playbooks use its modules.
"""
