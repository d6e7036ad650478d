# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node that joins anew, whose network is stuck, that was made by scripts, or that shall be a plain machine again.

What is removed is ours: what the layout names, what the receipts list, HNS networks of our own names and in our own
ranges. The rest is left, and said.
"""
