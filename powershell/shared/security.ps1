# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Owners and access lists of files and folders, as SDDL.

function Test-NodeWindows {
    <# .SYNOPSIS False on Linux, where a part of the operations works for tests; $IsWindows does not exist on 5.1. #>
    return [bool]([System.IO.Path]::DirectorySeparatorChar -eq '\')
}

function Get-NodeSection {
    <# .SYNOPSIS Which parts (owner, group, DACL) an SDDL text speaks of. #>
    param([string]$Sddl)

    $descriptor = New-Object System.Security.AccessControl.RawSecurityDescriptor($Sddl)
    $sections = [System.Security.AccessControl.AccessControlSections]::None
    if ($null -ne $descriptor.Owner) {
        $sections = $sections -bor [System.Security.AccessControl.AccessControlSections]::Owner
    }
    if ($null -ne $descriptor.Group) {
        $sections = $sections -bor [System.Security.AccessControl.AccessControlSections]::Group
    }
    if ($null -ne $descriptor.DiscretionaryAcl) {
        $sections = $sections -bor [System.Security.AccessControl.AccessControlSections]::Access
    }
    return [System.Security.AccessControl.AccessControlSections]$sections
}

function Get-NodeSectionButOwner {
    <# .SYNOPSIS Which parts an SDDL text speaks of, the owner left out. #>
    param([string]$Sddl)

    $owner = [System.Security.AccessControl.AccessControlSections]::Owner
    return [System.Security.AccessControl.AccessControlSections]((Get-NodeSection -Sddl $Sddl) -band (-bnot $owner))
}

function Get-NodeSecurity {
    <# .SYNOPSIS The security of a file or folder as an object: the parts named in Sections. #>
    param([string]$Path, [System.Security.AccessControl.AccessControlSections]$Sections)

    if ([System.IO.Directory]::Exists($Path)) {
        return New-Object System.Security.AccessControl.DirectorySecurity($Path, $Sections)
    }
    return New-Object System.Security.AccessControl.FileSecurity($Path, $Sections)
}

function Get-NodeSddl {
    <# .SYNOPSIS Owner and DACL of a file or folder as SDDL; null where there is no such thing (not Windows). #>
    param([string]$Path)

    if (-not (Test-NodeWindows)) {
        return $null
    }
    $sections = [System.Security.AccessControl.AccessControlSections]'Owner, Access'
    $security = Get-NodeSecurity -Path $Path -Sections $sections
    return [string]$security.GetSecurityDescriptorSddlForm($sections)
}

function Get-NodeOwner {
    <# .SYNOPSIS The SID of a path's owner, as text. #>
    param([string]$Path)

    $security = Get-NodeSecurity -Path $Path -Sections ([System.Security.AccessControl.AccessControlSections]::Owner)
    return [string]$security.GetOwner([System.Security.Principal.SecurityIdentifier]).Value
}

function ConvertTo-NodeSecurity {
    <# .SYNOPSIS The parts of an SDDL text (all that it names, or those in Sections) as the security object of a file or of a folder. #>
    param([string]$Sddl, [bool]$IsFolder, [System.Security.AccessControl.AccessControlSections]$Sections = (Get-NodeSection -Sddl $Sddl))

    if ($IsFolder) {
        $security = New-Object System.Security.AccessControl.DirectorySecurity
    }
    else {
        $security = New-Object System.Security.AccessControl.FileSecurity
    }
    $security.SetSecurityDescriptorSddlForm($Sddl, $Sections)
    return $security
}

function ConvertTo-NodePlainSddl {
    <#
    .SYNOPSIS
    An SDDL text without what Windows adds by itself: the marks AI and AR of a DACL, and the entries that were inherited.

    .NOTES
    A DACL that is set comes back with AI, and without P with what the folder hands on as well: compared as they are, the list would be
    written again at each run. Source: Microsoft, "Automatic Propagation of Inheritable ACEs", "Security Descriptor String Format".
    #>
    param([string]$Sddl)

    $plain = $Sddl -creplace '^((?:O:[^:]*?)?(?:G:[^:]*?)?D:P?)(?:AI|AR)+', '$1'
    return [string]($plain -creplace '\([^;()]*;(?:[A-Z]{2})*ID(?:[A-Z]{2})*;[^()]*\)', '')
}

function Test-NodeSddl {
    <# .SYNOPSIS Whether a file or folder has the owner, group and DACL that an SDDL text names. Both as .NET writes them. #>
    param([string]$Path, [string]$Sddl)

    if (-not (Test-NodeWindows)) {
        return $true
    }
    $sections = Get-NodeSection -Sddl $Sddl
    $wanted = ConvertTo-NodeSecurity -Sddl $Sddl -IsFolder ([System.IO.Directory]::Exists($Path))
    $present = Get-NodeSecurity -Path $Path -Sections $sections
    $is = ConvertTo-NodePlainSddl -Sddl ($present.GetSecurityDescriptorSddlForm($sections))
    return [bool]($is -ceq (ConvertTo-NodePlainSddl -Sddl ($wanted.GetSecurityDescriptorSddlForm($sections))))
}

function Set-NodeOwner {
    <#
    .SYNOPSIS
    Makes a SID the owner of a file or folder, by icacls.exe.

    .NOTES
    A caller may make himself or a group of his the owner. Everybody else needs SeRestorePrivilege, which administrators and SYSTEM
    have, but disabled, and .NET does not enable it; icacls.exe does. Source: Microsoft, SetSecurityInfo (ERROR_INVALID_OWNER); icacls,
    /setowner.
    #>
    param([string]$Path, [string]$Sid)

    $quoted = $Path
    if ($Path.EndsWith('\')) {
        # It would take the quotation mark behind it for its own.
        $quoted = $Path + '\'
    }
    $info = New-Object System.Diagnostics.ProcessStartInfo
    $info.FileName = [System.Environment]::GetFolderPath('System') + '\icacls.exe'
    $info.Arguments = '"' + $quoted + '" /setowner *' + $Sid + ' /L /Q'
    $info.UseShellExecute = $false
    $info.CreateNoWindow = $true
    $info.RedirectStandardInput = $true
    $info.RedirectStandardOutput = $true
    $info.RedirectStandardError = $true
    $process = New-Object System.Diagnostics.Process
    $process.StartInfo = $info
    try {
        $null = $process.Start()
        $process.StandardInput.Close()
        # Both are read while it runs: a full pipe would stop it.
        $null = $process.StandardOutput.ReadToEndAsync()
        $null = $process.StandardError.ReadToEndAsync()
        if (-not $process.WaitForExit(60000)) {
            $process.Kill()
            throw "icacls.exe has not made $Sid the owner of $Path within 60 s."
        }
        if ($process.ExitCode -ne 0) {
            throw "icacls.exe could not make $Sid the owner of ${Path}: exit code $($process.ExitCode)."
        }
    }
    finally {
        $process.Dispose()
    }
}

function Write-NodeSecurity {
    <# .SYNOPSIS Sets the parts of an SDDL text that Sections names. #>
    param([string]$Path, [string]$Sddl, [System.Security.AccessControl.AccessControlSections]$Sections)

    $isFolder = [System.IO.Directory]::Exists($Path)
    $item = New-Object System.IO.FileInfo($Path)
    if ($isFolder) {
        $item = New-Object System.IO.DirectoryInfo($Path)
    }
    $wanted = ConvertTo-NodeSecurity -Sddl $Sddl -IsFolder $isFolder -Sections $Sections
    if ($PSVersionTable.PSVersion.Major -ge 6) {
        # On .NET (Core) these are extension methods, which PowerShell does not find on the object.
        [System.IO.FileSystemAclExtensions]::SetAccessControl($item, $wanted)
    }
    else {
        $item.SetAccessControl($wanted)
    }
}

function Set-NodeSddl {
    <# .SYNOPSIS Gives a file or folder the owner and DACL of an SDDL text; nothing is written if it has them. #>
    param([string]$Path, [string]$Sddl)

    if (Test-NodeSddl -Path $Path -Sddl $Sddl) {
        return
    }
    $owner = (New-Object System.Security.AccessControl.RawSecurityDescriptor($Sddl)).Owner
    try {
        Write-NodeSecurity -Path $Path -Sddl $Sddl -Sections (Get-NodeSection -Sddl $Sddl)
        return
    }
    catch {
        $failure = $_
        $exception = Get-NodeException -Record $failure
        # .NET's words for an owner whom this caller may not name (ERROR_INVALID_OWNER), and for one whom the privilege alone allows.
        if ($null -eq $owner -or ($exception -isnot [System.InvalidOperationException] -and $exception -isnot [System.UnauthorizedAccessException])) {
            throw $failure
        }
    }
    # The DACL first: as long as the caller is the owner, he may write it.
    $rest = Get-NodeSectionButOwner -Sddl $Sddl
    if ($rest -ne [System.Security.AccessControl.AccessControlSections]::None) {
        Write-NodeSecurity -Path $Path -Sddl $Sddl -Sections $rest
    }
    Set-NodeOwner -Path $Path -Sid ([string]$owner.Value)
}
