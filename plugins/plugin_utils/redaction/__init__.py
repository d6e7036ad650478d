# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Texts of others without the secrets in them: for a bundle of logs, and for what is quoted of a pasted file.

Private to the collection: playbooks use its modules.
"""
