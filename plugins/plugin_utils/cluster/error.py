# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one error of this package: client and stream both raise it."""

from __future__ import annotations


class ClusterError(Exception):
    """The cluster cannot be asked, or does not do what is asked of it. The text is a sentence for people.

    `status` is the HTTP status of the answer, 0 where there was none.
    """

    def __init__(self, sentence: str, status: int = 0) -> None:
        super().__init__(sentence)
        self.status = status
