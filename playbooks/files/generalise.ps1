# The last step of a golden image, behind playbooks/image.yml: removes what belongs to this machine and is needed as long as
# somebody is connected, then runs sysprep, which switches the machine off. Run it elevated.
#
#   .\generalise.ps1 -Unattend C:\Windows\Temp\unattend.xml
#
# The answer file is what the nodes get at their first boot; without one Windows asks there for a password. It is moved to where Windows
# keeps it, and should take the passwords out of it when they are set; one below Program Files, such as Cloudbase-Init's, is copied.
#Requires -Version 5.1
#Requires -RunAsAdministrator
[CmdletBinding()]
param(
    [string]$Unattend = ''
)

Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'

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
$gone = New-Object System.Collections.ArrayList

function Remove-Listener {
    <# .SYNOPSIS WinRM's listeners over HTTPS; by the service where it runs, since that has them in its memory, too. #>
    $path = 'SOFTWARE\Microsoft\Windows\CurrentVersion\WSMAN\Listener'
    $key = [Microsoft.Win32.Registry]::LocalMachine.OpenSubKey($path, $true)
    if ($null -eq $key) {
        return
    }
    $names = @($key.GetSubKeyNames() | Where-Object { $_ -like '*+HTTPS' })
    foreach ($name in $names) {
        $listener = $key.OpenSubKey($name)
        $thumbprint = ([string]$listener.GetValue('certThumbprint')) -replace '[^0-9A-Fa-f]', ''
        $listener.Dispose()
        $certificate = Get-Item -LiteralPath "Cert:\LocalMachine\My\$thumbprint" -ErrorAction SilentlyContinue
        if ($thumbprint -ne '' -and $null -ne $certificate -and $certificate.Issuer -ne $certificate.Subject) {
            Write-Warning "The certificate $thumbprint of $($certificate.Issuer) stays, and its key is on every node of this image."
        }
    }
    if ($names.Count -gt 0) {
        $null = $gone.Add("WinRM's listener over HTTPS is gone; bootstrap-winrm.ps1 makes it again.")
    }
    if ((Get-Service -Name 'WinRM').Status -eq 'Running') {
        foreach ($listener in @(Get-ChildItem -Path 'WSMan:\localhost\Listener')) {
            if (@($listener.Keys) -contains 'Transport=HTTPS') {
                Remove-Item -Path "WSMan:\localhost\Listener\$($listener.Name)" -Recurse -Force
            }
        }
    }
    else {
        foreach ($name in $names) {
            $key.DeleteSubKeyTree($name)
        }
    }
    $key.Dispose()
}

function Remove-OwnCertificate {
    <# .SYNOPSIS What the machine has signed itself, with the keys: WinRM's, also of a name that it had before, and Remote Desktop's. #>
    foreach ($store in @('Cert:\LocalMachine\My', 'Cert:\LocalMachine\Remote Desktop')) {
        foreach ($certificate in @(Get-ChildItem -LiteralPath $store -ErrorAction SilentlyContinue)) {
            if ($certificate.Issuer -eq $certificate.Subject -and $certificate.HasPrivateKey) {
                Remove-Item -LiteralPath "$store\$($certificate.Thumbprint)" -DeleteKey
                $null = $gone.Add("The certificate $($certificate.Thumbprint) of $($certificate.Subject) is gone.")
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
    foreach ($file in @(Get-ChildItem -LiteralPath $folder -Filter 'ssh_host_*_key*')) {
        Remove-Item -LiteralPath $file.FullName -Force
        if ($gone -notcontains 'The host keys of sshd are gone; Restart-Service sshd makes new ones.') {
            $null = $gone.Add('The host keys of sshd are gone; Restart-Service sshd makes new ones.')
        }
    }
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
    if ($null -ne $named) {
        $null = $stale.Add([string]$named)
        Remove-ItemProperty -LiteralPath $setup -Name 'UnattendFile' -Force
    }
    if ($Unattend -ne '' -and $Unattend -ne $answers) {
        $null = New-Item -Path $panther -ItemType Directory -Force
        Copy-Item -LiteralPath $Unattend -Destination $answers -Force
        $null = $gone.Add("The answer file is $answers now.")
        if (-not $Unattend.StartsWith("$env:ProgramFiles\", [System.StringComparison]::OrdinalIgnoreCase)) {
            Remove-Item -LiteralPath $Unattend -Force
        }
    }
    foreach ($old in $stale) {
        if ($old -eq $Unattend -or ($old -eq $answers -and $Unattend -ne '')) {
            continue
        }
        Remove-Item -LiteralPath $old -Force -ErrorAction SilentlyContinue
        if (Test-Path -LiteralPath $old) {
            throw "$old cannot be removed: Windows would take its answers, or its passwords would be on every node."
        }
    }
}

function Invoke-Sysprep {
    <#
    .SYNOPSIS
    Runs sysprep; throws a sentence where it has failed. An exit code of 0 does not prove it, its mark does.

    .NOTES
    Source: GoogleCloudPlatform/compute-image-windows, GCESysprep. What it cannot read on its command line, sysprep says in a window that
    nobody sees, and waits.
    #>
    $mark = Join-Path -Path $sysprep -ChildPath 'Sysprep_succeeded.tag'
    if (Test-Path -LiteralPath $mark) {
        Remove-Item -LiteralPath $mark -Force
    }
    $arguments = @('/generalize', '/oobe', '/shutdown', '/mode:vm', '/quiet')
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
    Remove-Listener
    Remove-OwnCertificate
    Remove-HostKey
    Set-Answer
    Invoke-Sysprep
}
catch {
    throw (@([string]$_) + $gone.ToArray()) -join ' '
}
