# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# What a reading asks of HNS: behind call.ps1.

return Read-NodeHns -Objects (Get-NodeArgumentList -Map $Arguments -Name 'objects')
