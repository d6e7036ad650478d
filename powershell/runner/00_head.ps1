# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The runner: executes the open batch of a state folder, or finishes or rolls back one that was interrupted (docs/protocol.md,
# section 3). Started by the scheduled task \winkube\runner, or by node_apply in its own process (mode `inline`).
# This is its first piece; `make generate` puts the functions of shared/ and the other pieces behind it.

param([string]$StateDir = '')

Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'
# What is matched and sorted depends on no language.
[System.Threading.Thread]::CurrentThread.CurrentCulture = [System.Globalization.CultureInfo]::InvariantCulture
$ProgressPreference = 'SilentlyContinue'
try {
    # Windows PowerShell begins the input of every program it starts with the mark of this encoding, if that has one.
    [System.Console]::InputEncoding = New-Object System.Text.UTF8Encoding($false)
}
catch {
    # There is no console.
    $null = $_
}
if ($StateDir -eq '') {
    $StateDir = [string][System.Environment]::GetEnvironmentVariable('WINKUBE_STATE_DIR')
}
