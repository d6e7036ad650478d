# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Runs the cases that lie beside it and writes one report (docs/first-hour.md). Windows PowerShell 5.1 or PowerShell 7, as administrator:
#   powershell -NoProfile -ExecutionPolicy Bypass -File run.ps1

param(
    # Where the report is written; empty: winkube-report-<machine>.jsonl in the folder that the archive lies in.
    [string]$ReportPath = '',
    # What runs the modules: all (that are installed), 5.1 or 7.
    [string]$Shell = 'all',
    # look (reads only), contract, people (our scripts on stand-ins), containerd (installs it and takes it away again), all; with commas.
    [string]$Stage = 'look,contract,people',
    # A regular expression: only cases whose id fits.
    [string]$Only = ''
)

Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'
