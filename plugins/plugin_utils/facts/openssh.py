# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""OpenSSH for Windows: where it is, and which of its releases end on open folders."""

from __future__ import annotations

SERVICE = "sshd"
PROGRAMS = (r"C:\Windows\System32\OpenSSH\sshd.exe", r"C:\Program Files\OpenSSH\sshd.exe")
"""Windows' own, and that of the MSI. Source: Win32-OpenSSH wiki, Install Win32 OpenSSH."""
FOLDERS = (r"C:\ProgramData\ssh", r"C:\ProgramData\ssh\logs")
"""Whose access lists sshd looks at when it starts."""

ENDS_SINCE = (9, 4)
"""The first release that ends (1067) where anybody but SYSTEM and Administrators may write to one of FOLDERS. Windows'
own is 9.5 since the updates of October 2024. Source: PowerShell/Win32-OpenSSH#2282, #2287, #2299;
PowerShell/openssh-portable#686."""

LOGS_SINCE = (10, 0)
"""The first release that is known to log it instead. Source: PowerShell/openssh-portable#761, merged after 9.8.1 for
Win32-OpenSSH#2282 and #2335. Unverified: 9.8.2 and 9.8.3 may have it as well, and count as those that end."""
