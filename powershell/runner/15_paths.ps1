# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Paths as Windows takes them, and what a file has from the folder it lies in.

function Get-NodeFullPath {
    <#
    .SYNOPSIS
    An absolute path as Windows writes it: C:/a\.\b\..\c\ is C:\a\c. Throws for any other.

    .NOTES
    C: alone, and C:a, are relative to a folder that nobody has chosen. With a \ at its end the path of a link would name what the link
    leads to.
    #>
    param([string]$Path)

    $isWhole = $Path.StartsWith('/', [System.StringComparison]::Ordinal)
    if (Test-NodeWindows) {
        $isWhole = $Path -match '^([A-Za-z]:[\\/]|[\\/][\\/][^\\/])'
    }
    if (-not $isWhole) {
        throw "'$Path' is no absolute path; write it with its drive, as C:\k\kubelet.exe."
    }
    $full = [System.IO.Path]::GetFullPath($Path)
    if (Test-NodeRoot -Path $full) {
        return [string]$full
    }
    return [string]$full.TrimEnd([char[]]@([char]47, [char]92))
}

function Update-NodeInheritance {
    <#
    .SYNOPSIS
    Gives a file or folder, and what is in it, what its folder hands on now; its own entries stay. A rename does not do that.

    .NOTES
    Windows takes the inherited entries of a DACL that is set anew from the folder, whatever the text says of them.
    Source: Microsoft, "Automatic Propagation of Inheritable ACEs"; a file that is moved on its volume keeps its list:
    learn.microsoft.com, "How permissions are handled when you copy and move files and folders".
    #>
    param([string]$Path)

    if (-not (Test-NodeWindows)) {
        return
    }
    $access = [System.Security.AccessControl.AccessControlSections]::Access
    $security = Get-NodeSecurity -Path $Path -Sections $access
    Write-NodeSecurity -Path $Path -Sddl ([string]$security.GetSecurityDescriptorSddlForm($access)) -Sections $access
}
