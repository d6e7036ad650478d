<#
.SYNOPSIS
The last step of a golden image: removes what belongs to this machine and is needed as long as somebody is connected, then runs sysprep.

.DESCRIPTION
Behind playbooks/image.yml. Run it elevated. What can refuse comes first: answer files, a pending restart, BitLocker. Then the way in goes
(WinRM's listener over HTTPS, certificates that the machine made for itself, sshd's host keys), then sysprep switches the machine off.
It says what it did; -WhatIf says what it would do. Run again after a failure, it removes nothing twice and says so.

Exit code 0: sysprep has worked. 1: it failed, and the last words say what is gone by then. 2: sysprep has worked, but a warning has to be read.

.PARAMETER Unattend
The answer file that the nodes get at their first boot; without one Windows asks there for a password. It is moved to where Windows keeps
it, and should take the passwords out of it when they are set; one below Program Files, such as Cloudbase-Init's, is copied.

.PARAMETER ModeVm
Windows does not look for hardware again: only for nodes on the hypervisor, and with the virtual hardware, on which the image is made.

.EXAMPLE
.\generalise.ps1 -Unattend C:\Windows\Temp\unattend.xml -ModeVm
#>
#Requires -Version 5.1
#Requires -RunAsAdministrator
[CmdletBinding(SupportsShouldProcess = $true)]
param(
    [string]$Unattend = '',
    [switch]$ModeVm
)

Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'
$caller = $PSCmdlet
$done = New-Object System.Collections.ArrayList
$warned = New-Object System.Collections.ArrayList

function Test-Allowed {
    <# .SYNOPSIS Whether a change may be made; with -WhatIf it is only named. #>
    param([string]$Target, [string]$Action)

    return $caller.ShouldProcess($Target, $Action)
}

function Add-Done {
    <# .SYNOPSIS A change that was made, told at once. #>
    param([string]$Text)

    $null = $done.Add($Text)
    Write-Output "Done: $Text"
}

function Add-Warned {
    <# .SYNOPSIS What has to be looked at, told at once. #>
    param([string]$Text)

    $null = $warned.Add($Text)
    Write-Warning $Text
}

$panther = Join-Path -Path $env:SystemRoot -ChildPath 'Panther'
$answers = Join-Path -Path $panther -ChildPath 'unattend.xml'
if ($Unattend -ne '') {
    if (-not (Test-Path -LiteralPath $Unattend -PathType Leaf)) {
        throw "There is no answer file $Unattend. If an earlier run has moved it, it is $answers now."
    }
    $Unattend = (Get-Item -LiteralPath $Unattend -Force).FullName
}
$system = Join-Path -Path $env:SystemRoot -ChildPath 'System32'
$sysprep = Join-Path -Path $system -ChildPath 'Sysprep'
$program = Join-Path -Path $sysprep -ChildPath 'sysprep.exe'
if (-not (Test-Path -LiteralPath $program)) {
    # A 32-bit PowerShell sees another System32. Before anything is removed.
    throw "There is no sysprep.exe in $sysprep; run this with the 64-bit PowerShell."
}
$listeners = 'HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\WSMAN\Listener'

function Test-Sysprep {
    <#
    .SYNOPSIS
    Throws for what sysprep's own checks refuse, before anything is removed.

    .NOTES
    Source: learn.microsoft.com, Sysprep (Generalize) and its troubleshooting: a pending restart, BitLocker on the volume of Windows.
    #>
    $component = 'HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\Component Based Servicing\RebootPending'
    $update = 'HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\WindowsUpdate\Auto Update\RebootRequired'
    if ((Test-Path -LiteralPath $component) -or (Test-Path -LiteralPath $update)) {
        throw 'Windows waits for a restart, and sysprep refuses to run before it: restart Windows and run this again.'
    }
    $volumes = @()
    try {
        # Without the feature BitLocker the namespace is not there.
        $query = @{ Namespace = 'root\cimv2\Security\MicrosoftVolumeEncryption'; ClassName = 'Win32_EncryptableVolume' }
        $volumes = @(Get-CimInstance @query -ErrorAction Stop)
    }
    catch {
        Write-Verbose "BitLocker could not be asked: $_"
    }
    foreach ($volume in $volumes) {
        if ([string]$volume.DriveLetter -ne $env:SystemDrive) {
            continue
        }
        # Suspended, or never armed, it is encrypted all the same; 0 is decrypted. Source: Win32_EncryptableVolume, GetConversionStatus.
        # It only asks, but the cmdlet would heed -WhatIf.
        $found = Invoke-CimMethod -InputObject $volume -MethodName 'GetConversionStatus' -WhatIf:$false -ErrorAction Stop
        if ([int]$volume.ProtectionStatus -ne 0 -or [int]$found.ConversionStatus -ne 0) {
            $way = "decrypt it (manage-bde -off $($volume.DriveLetter)), wait for its end, and run this again"
            throw "BitLocker has encrypted $($volume.DriveLetter), and sysprep refuses to run, also while protection is suspended: $way."
        }
    }
}

function Remove-Answer {
    <# .SYNOPSIS An answer file that Windows could take: it has to go where it could be in the image; elsewhere a warning is enough. #>
    param([string]$Path)

    if (-not (Test-Path -LiteralPath $Path) -or -not (Test-Allowed -Target $Path -Action 'remove it')) {
        return
    }
    Remove-Item -LiteralPath $Path -Force -ErrorAction SilentlyContinue
    if (-not (Test-Path -LiteralPath $Path)) {
        Add-Done "$Path is gone."
        return
    }
    if ($Path.StartsWith("$env:SystemDrive\", [System.StringComparison]::OrdinalIgnoreCase)) {
        throw "$Path cannot be removed: Windows would take its answers, or its passwords would be on every node."
    }
    Add-Warned "$Path cannot be removed: take this medium out before a node of the image boots; Windows would take its answers."
}

function Set-Answer {
    <#
    .SYNOPSIS
    The given answer file in its place, or none, and none of an earlier installation, which Windows would take before or instead of it.

    .NOTES
    Source: Microsoft, "Windows Setup Automation Overview", implicit answer file search order; the ones that end in -original are copies
    of Setup's since Windows 11 24H2 (cschneegans/unattend-generator#28).
    #>
    $setup = 'HKLM:\SYSTEM\Setup'
    $named = (Get-Item -LiteralPath $setup).GetValue('UnattendFile')
    $stale = New-Object System.Collections.ArrayList
    foreach ($name in @('unattend.xml', 'autounattend.xml', 'unattend-original.xml', 'autounattend-original.xml')) {
        $null = $stale.AddRange(@("$panther\Unattend\$name", "$panther\$name", "$sysprep\$name", "$env:SystemDrive\$name"))
    }
    if ([string]$named -ne '') {
        $null = $stale.Add([string]$named)
        if (Test-Allowed -Target "$setup, UnattendFile" -Action 'remove it') {
            Remove-ItemProperty -LiteralPath $setup -Name 'UnattendFile' -Force
            Add-Done "Windows is not told of the answer file $named any more."
        }
    }
    if ($Unattend -ne '' -and $Unattend -ne $answers) {
        if (Test-Allowed -Target $Unattend -Action "make it $answers") {
            $null = New-Item -Path $panther -ItemType Directory -Force
            Copy-Item -LiteralPath $Unattend -Destination $answers -Force
            # A copy from a CD is read-only, and Windows could not take the passwords out of it.
            [System.IO.File]::SetAttributes($answers, [System.IO.FileAttributes]::Normal)
            Add-Done "the answer file is $answers now."
        }
        if (-not $Unattend.StartsWith("$env:ProgramFiles\", [System.StringComparison]::OrdinalIgnoreCase)) {
            Remove-Answer -Path $Unattend
        }
    }
    foreach ($old in $stale) {
        if ($old -ne $Unattend -and -not ($old -eq $answers -and $Unattend -ne '')) {
            Remove-Answer -Path $old
        }
    }
}

function Get-ListenerThumbprint {
    <# .SYNOPSIS The certificates of WinRM's listeners over HTTPS. From the registry: a session that logged in by key may not ask WSMan. #>
    foreach ($listener in @(Get-ChildItem -LiteralPath $listeners -ErrorAction SilentlyContinue)) {
        if ([string]$listener.PSChildName -like '*+HTTPS') {
            ([string]$listener.GetValue('certThumbprint') -replace '[^0-9A-Fa-f]', '').ToUpperInvariant()
        }
    }
}

function Remove-Listener {
    <# .SYNOPSIS WinRM's listeners over HTTPS: by WinRM, which frees the port as well, else their keys in the registry. #>
    foreach ($listener in @(Get-ChildItem -LiteralPath $listeners -ErrorAction SilentlyContinue)) {
        $name = [string]$listener.PSChildName
        if ($name -notlike '*+HTTPS' -or -not (Test-Allowed -Target "WinRM's listener $name" -Action 'remove it')) {
            continue
        }
        $address = $name.Substring(0, $name.Length - '+HTTPS'.Length)
        try {
            Remove-WSManInstance -ResourceURI 'winrm/config/Listener' -SelectorSet @{ Transport = 'HTTPS'; Address = $address }
        }
        catch {
            # WinRM does not run, or this session logged in by key, for which it does nothing.
            Write-Verbose "WinRM did not remove its listener ${name}: $_"
        }
        if (Test-Path -LiteralPath "$listeners\$name") {
            Remove-Item -LiteralPath "$listeners\$name" -Recurse -Force
        }
        Add-Done "WinRM's listener $name is gone; bootstrap-winrm.ps1 makes it again."
    }
}

function Remove-OwnCertificate {
    <# .SYNOPSIS What the machine made for itself, with the keys: under its own name, or the one of a listener. Others with a key are told. #>
    param([string[]]$Thumbprint)

    $own = [System.Environment]::MachineName
    foreach ($store in @('Cert:\LocalMachine\My', 'Cert:\LocalMachine\Remote Desktop')) {
        foreach ($certificate in @(Get-ChildItem -LiteralPath $store -ErrorAction SilentlyContinue)) {
            $print = [string]$certificate.Thumbprint
            $subject = [string]$certificate.Subject
            if (-not $certificate.HasPrivateKey) {
                continue
            }
            $itself = $subject -eq [string]$certificate.Issuer
            if (-not $itself -or -not ($subject -eq "CN=$own" -or $subject -like "CN=$own.*" -or $Thumbprint -contains $print)) {
                Add-Warned "The certificate $print ($subject, by $($certificate.Issuer)) stays, and its key is on every node of this image."
                continue
            }
            if (-not (Test-Allowed -Target "certificate $print of $subject" -Action 'remove it with its key')) {
                continue
            }
            try {
                Remove-Item -LiteralPath "$store\$print" -DeleteKey
                Add-Done "the certificate $print of $subject is gone."
            }
            catch {
                Add-Warned "The certificate $print of $subject, or its key, could not be removed, and is on every node of this image: $_"
            }
        }
    }
}

function Remove-HostKey {
    <# .SYNOPSIS Those of sshd, which makes new ones at its next start. The session that is open goes on without them. #>
    $folder = Join-Path -Path $env:ProgramData -ChildPath 'ssh'
    if (-not (Test-Path -LiteralPath $folder)) {
        return
    }
    $files = @(Get-ChildItem -LiteralPath $folder -Filter 'ssh_host_*_key*')
    if ($files.Count -eq 0 -or -not (Test-Allowed -Target $folder -Action 'remove the host keys of sshd')) {
        return
    }
    foreach ($file in $files) {
        Remove-Item -LiteralPath $file.FullName -Force
    }
    Add-Done 'the host keys of sshd are gone; Restart-Service sshd makes new ones.'
}

function Invoke-Sysprep {
    <#
    .SYNOPSIS
    Runs sysprep; throws a sentence where it has failed. An exit code of 0 does not prove it, its mark does.

    .NOTES
    Source: GoogleCloudPlatform/compute-image-windows, GCESysprep. What it cannot read on its command line, sysprep says in a window that
    nobody sees, and waits.
    #>
    if (-not (Test-Allowed -Target 'this machine' -Action 'run sysprep, which switches it off')) {
        return
    }
    $mark = Join-Path -Path $sysprep -ChildPath 'Sysprep_succeeded.tag'
    if (Test-Path -LiteralPath $mark) {
        Remove-Item -LiteralPath $mark -Force
    }
    $arguments = @('/generalize', '/oobe', '/shutdown', '/quiet')
    if ($ModeVm) {
        $arguments += '/mode:vm'
    }
    if ($Unattend -ne '') {
        $arguments += "/unattend:$answers"
    }
    $process = Start-Process -FilePath $program -ArgumentList $arguments -PassThru
    # Without it Windows PowerShell does not know the exit code afterwards.
    $null = $process.Handle
    if (-not $process.WaitForExit(1800000)) {
        throw "sysprep has not ended within 30 minutes and goes on (process $($process.Id)); look at it at the console."
    }
    $watch = [System.Diagnostics.Stopwatch]::StartNew()
    while ($process.ExitCode -eq 0 -and -not (Test-Path -LiteralPath $mark) -and $watch.Elapsed.TotalSeconds -lt 60) {
        Start-Sleep -Milliseconds 500
    }
    if ($process.ExitCode -eq 0 -and (Test-Path -LiteralPath $mark)) {
        return
    }
    $log = Join-Path -Path $sysprep -ChildPath 'Panther\setuperr.log'
    $said = @(Get-Content -LiteralPath $log -Tail 5 -ErrorAction SilentlyContinue) -join ' | '
    $found = Test-Path -LiteralPath $mark
    throw "sysprep has failed (exit code $($process.ExitCode), $mark is there: $found). $said"
}

try {
    Test-Sysprep
    Set-Answer
    $named = @(Get-ListenerThumbprint)
    Remove-Listener
    Remove-OwnCertificate -Thumbprint $named
    Remove-HostKey
    if ($done.Count -eq 0 -and -not $WhatIfPreference) {
        'Nothing of this machine was left to remove.'
    }
    Invoke-Sysprep
}
catch {
    # PowerShell 7 shows the line that throws: what stands in it is not to be taken for something that was done.
    $told = @([string]$_) + @($done.ToArray() | ForEach-Object { "Done: $_" })
    throw ($told -join ' ')
}
if ($warned.Count -gt 0) {
    exit 2
}
exit 0
