# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What HNS holds, read into models: networks, endpoints, namespaces, load balancers. What is wrong, diagnosis says.

Pure: what was read or pasted goes in, models come out. Nothing here speaks with a node or changes one.

Private to the collection: playbooks use its modules.
"""
