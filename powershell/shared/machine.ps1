# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# What machine this is: the queries `system`, `volumes` and `encryption`.

function Read-NodeVolumeTable {
    <# .SYNOPSIS The query `volumes`: the fixed drives that can be used. #>
    $table = New-NodeMap
    foreach ($drive in [System.IO.DriveInfo]::GetDrives()) {
        if ([string]$drive.DriveType -ceq 'Fixed' -and $drive.IsReady) {
            # The getters as methods: PowerShell turns the exception of a property into null, which would be 0 bytes.
            $table[$drive.Name.TrimEnd('\')] = @{ free = [int64]$drive.get_AvailableFreeSpace(); size = [int64]$drive.get_TotalSize() }
        }
    }
    return $table
}

function Get-NodeFreeSpace {
    <# .SYNOPSIS Free bytes of the volume that holds a path, which need not exist; -1 where that cannot be told. #>
    param([string]$Path)

    try {
        $drive = New-Object System.IO.DriveInfo([System.IO.Path]::GetPathRoot([System.IO.Path]::GetFullPath($Path)))
        # The getter as a method: PowerShell turns the exception of a property into null, which would be 0 bytes.
        return [int64]$drive.get_AvailableFreeSpace()
    }
    catch {
        # A network path, or a volume that just went.
        return [int64]-1
    }
}

function Get-NodeBootId {
    <#
    .SYNOPSIS
    A text that differs after each boot; empty where nothing tells.

    .NOTES
    The boot loader's counter (KUSER_SHARED_DATA.BootId: incremented with each attempt to boot) and the start of process 4 (System);
    each is fixed during a boot, also when the clock is set. That the registry has the counter on every edition of Windows Server is
    unverified, hence both.
    #>
    if (-not (Test-NodeWindows)) {
        return [string](Read-NodeText -Path '/proc/sys/kernel/random/boot_id').Trim()
    }
    $prefetch = 'SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management\PrefetchParameters'
    $counter = [string](Get-NodeRegistryRaw -Key $prefetch -Name 'BootId' -Default '')
    $started = ''
    try {
        $process = [System.Diagnostics.Process]::GetProcessById(4)
        $started = Get-NodeProcessStart -Process $process
        $process.Dispose()
    }
    catch {
        $null = $_
    }
    if ($counter -eq '' -and $started -eq '') {
        # Equal on both sides of a restart, as Wine has it: that is no answer.
        return ''
    }
    return "$counter/$started"
}

function Test-NodeElevated {
    if (-not (Test-NodeWindows)) {
        return $true
    }
    $identity = [System.Security.Principal.WindowsIdentity]::GetCurrent()
    try {
        $principal = New-Object System.Security.Principal.WindowsPrincipal($identity)
        $administrators = New-Object System.Security.Principal.SecurityIdentifier('S-1-5-32-544')
        return [bool]$principal.IsInRole($administrators)
    }
    finally {
        $identity.Dispose()
    }
}

function Test-NodeRebootPending {
    <# .SYNOPSIS Whether Windows itself says that it wants a reboot. #>
    $servicing = 'SOFTWARE\Microsoft\Windows\CurrentVersion\Component Based Servicing\RebootPending'
    $update = 'SOFTWARE\Microsoft\Windows\CurrentVersion\WindowsUpdate\Auto Update\RebootRequired'
    if ((Test-NodeRegistryKey -Key $servicing) -or (Test-NodeRegistryKey -Key $update)) {
        return $true
    }
    $names = 'SYSTEM\CurrentControlSet\Control\ComputerName\'
    $active = [string](Get-NodeRegistryRaw -Key ($names + 'ActiveComputerName') -Name 'ComputerName' -Default '')
    $next = [string](Get-NodeRegistryRaw -Key ($names + 'ComputerName') -Name 'ComputerName' -Default '')
    return [bool]($active -ne $next)
}

function Read-NodeSystem {
    <# .SYNOPSIS The query `system`. #>
    $free = New-NodeMap
    $volumes = Read-NodeVolumeTable
    foreach ($entry in $volumes.GetEnumerator()) {
        $free[[string]$entry.Key] = $entry.Value['free']
    }
    $answer = @{
        machine = ''
        boot_id = (Get-NodeBootId)
        computer_name = [System.Environment]::MachineName
        os = @{ product = ''; build = 0; revision = 0; installation_type = ''; architecture = '' }
        elevated = (Test-NodeElevated)
        user_sid = ''
        clock = (Get-NodeTime)
        powershell = [string]$PSVersionTable.PSVersion
        reboot_pending = $false
        free_bytes = $free
        machine_path = [object[]]@()
    }
    if (-not (Test-NodeWindows)) {
        return $answer
    }
    $identity = [System.Security.Principal.WindowsIdentity]::GetCurrent()
    $answer['user_sid'] = [string]$identity.User.Value
    $identity.Dispose()
    $answer['machine'] = [string](Get-NodeRegistryRaw -Key 'SOFTWARE\Microsoft\Cryptography' -Name 'MachineGuid' -Default '')
    $answer['reboot_pending'] = Test-NodeRebootPending
    $version = 'SOFTWARE\Microsoft\Windows NT\CurrentVersion'
    $environment = 'SYSTEM\CurrentControlSet\Control\Session Manager\Environment'
    $architectures = @{ AMD64 = 'amd64'; ARM64 = 'arm64'; x86 = '386' }
    $answer['os'] = @{
        product = [string](Get-NodeRegistryRaw -Key $version -Name 'ProductName' -Default '')
        build = [int](Get-NodeRegistryRaw -Key $version -Name 'CurrentBuildNumber' -Default '0')
        revision = [int](Get-NodeRegistryRaw -Key $version -Name 'UBR' -Default 0)
        installation_type = [string](Get-NodeRegistryRaw -Key $version -Name 'InstallationType' -Default '')
        architecture = [string]$architectures[[string](Get-NodeRegistryRaw -Key $environment -Name 'PROCESSOR_ARCHITECTURE' -Default 'AMD64')]
    }
    $answer['machine_path'] = Get-NodeMachinePath
    return $answer
}

function Get-NodeMachinePath {
    <# .SYNOPSIS The entries of the machine's Path, unexpanded. #>
    $environment = 'SYSTEM\CurrentControlSet\Control\Session Manager\Environment'
    $folders = New-Object System.Collections.ArrayList
    foreach ($folder in ([string](Get-NodeRegistryRaw -Key $environment -Name 'Path' -Default '')).Split(';')) {
        if ($folder -ne '') {
            $null = $folders.Add($folder)
        }
    }
    return , $folders.ToArray()
}

function Find-NodeOnPath {
    <#
    .SYNOPSIS
    The files of this name in the folders of the machine's Path, in their order, each once. Only folders of a drive: a share that does not
    answer would hold everything up.
    #>
    param([string]$Name)

    $found = New-Object System.Collections.ArrayList
    $known = New-NodeMap
    $separators = [char[]]@([char]47, [char]92)
    foreach ($entry in (Get-NodeMachinePath)) {
        $folder = [System.Environment]::ExpandEnvironmentVariables(([string]$entry).Trim().Trim('"'))
        if ($folder -notmatch '^[A-Za-z]:[\\/][^<>:"|?*\x00-\x1f]*$') {
            continue
        }
        $path = $folder.TrimEnd($separators) + [string][char]92 + $Name
        try {
            $kind = Get-NodeFileKind -Path $path
        }
        catch {
            # Nobody starts a program from there: a drive without a disk, a folder that is closed.
            continue
        }
        if ($known.ContainsKey($path) -or $kind -cne 'file') {
            continue
        }
        $known[$path] = $true
        $null = $found.Add($path)
    }
    return , $found.ToArray()
}

function Read-NodeEncryption {
    <#
    .SYNOPSIS
    The query `encryption`: BitLocker's protection of a volume; unknown where it is not installed or will not say.

    .NOTES
    ProtectionStatus of Win32_EncryptableVolume: 0 off, 1 on, 2 unknown (the volume is locked). Source: Microsoft's reference of the class.
    #>
    param([string]$Volume)

    $words = @('off', 'on')
    try {
        $space = 'root/CIMV2/Security/MicrosoftVolumeEncryption'
        $query = 'SELECT DriveLetter, ProtectionStatus FROM Win32_EncryptableVolume'
        foreach ($row in @(Get-CimInstance -Namespace $space -Query $query -OperationTimeoutSec 10 -ErrorAction Stop)) {
            if ([string]$row.DriveLetter -eq $Volume.TrimEnd('\') -and $null -ne $row.ProtectionStatus -and [int]$row.ProtectionStatus -lt 2) {
                return @{ state = $words[[int]$row.ProtectionStatus] }
            }
        }
    }
    catch {
        $null = $_
    }
    return @{ state = 'unknown' }
}
