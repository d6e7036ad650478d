# The last step of a golden image, behind playbooks/image.yml: removes what belongs to this machine and is needed as long as
# somebody is connected, then runs sysprep, which switches the machine off. Run it elevated.
#
#   .\generalise.ps1 -Unattend C:\Windows\Temp\unattend.xml
#
# The answer file is what the nodes get at their first boot; without one Windows asks there for a password. It is moved to where Windows
# keeps it, and takes the passwords out of it when they are set. Cloudbase-Init brings one.
#Requires -Version 5.1
#Requires -RunAsAdministrator
[CmdletBinding()]
param(
    [string]$Unattend = ''
)

Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'

if ($Unattend -ne '') {
    if (-not (Test-Path -LiteralPath $Unattend -PathType Leaf)) {
        throw "There is no answer file $Unattend."
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

# Answer files of an earlier installation: Windows takes the first that it finds, also where sysprep was given none. Source:
# Microsoft, "Windows Setup Automation Overview", implicit answer file search order; kubernetes-sigs/image-builder.
$panther = Join-Path -Path $env:SystemRoot -ChildPath 'Panther'
$answers = Join-Path -Path $panther -ChildPath 'unattend.xml'
if ($Unattend -ne '' -and $Unattend -ne $answers) {
    Move-Item -LiteralPath $Unattend -Destination $answers -Force
}
$stale = @("$panther\Unattend\unattend.xml", "$panther\Unattend\autounattend.xml", "$sysprep\unattend.xml")
if ($Unattend -eq '') {
    $stale += $answers
}
foreach ($old in $stale) {
    if (Test-Path -LiteralPath $old) {
        Remove-Item -LiteralPath $old -Force
    }
}
Remove-ItemProperty -LiteralPath 'HKLM:\SYSTEM\Setup' -Name 'UnattendFile' -Force -ErrorAction SilentlyContinue

# WinRM's listeners with this machine's certificate, and that with its key, if the machine has signed it itself. Not by WSMan:, which is
# there only while WinRM runs.
$gone = @()
$listeners = [Microsoft.Win32.Registry]::LocalMachine.OpenSubKey('SOFTWARE\Microsoft\Windows\CurrentVersion\WSMAN\Listener', $true)
if ($null -ne $listeners) {
    foreach ($name in @($listeners.GetSubKeyNames())) {
        if ($name -notlike '*+HTTPS') {
            continue
        }
        $listener = $listeners.OpenSubKey($name)
        $thumbprint = ([string]$listener.GetValue('certThumbprint')) -replace '[^0-9A-Fa-f]', ''
        $listener.Dispose()
        $listeners.DeleteSubKeyTree($name)
        $gone += "WinRM's listener over HTTPS is gone; bootstrap-winrm.ps1 makes it again."
        $place = "Cert:\LocalMachine\My\$thumbprint"
        if ($thumbprint -eq '' -or -not (Test-Path -LiteralPath $place)) {
            continue
        }
        $certificate = Get-Item -LiteralPath $place
        if ($certificate.Issuer -eq $certificate.Subject) {
            Remove-Item -LiteralPath $place -DeleteKey
        }
        else {
            Write-Warning "The certificate $thumbprint of $($certificate.Issuer) stays, and its key is on every node of this image."
        }
    }
    $listeners.Dispose()
}

# sshd makes new ones at its next start. The session that is open goes on without them.
$folder = Join-Path -Path $env:ProgramData -ChildPath 'ssh'
if (Test-Path -LiteralPath $folder) {
    $keys = @(Get-ChildItem -LiteralPath $folder -Filter 'ssh_host_*_key*')
    foreach ($key in $keys) {
        Remove-Item -LiteralPath $key.FullName -Force
    }
    if ($keys.Count -gt 0) {
        $gone += 'The host keys of sshd are gone; Restart-Service sshd makes new ones.'
    }
}

# An exit code of 0 does not prove it; the mark does. Source: GoogleCloudPlatform/compute-image-windows, GCESysprep.
$mark = Join-Path -Path $sysprep -ChildPath 'Sysprep_succeeded.tag'
if (Test-Path -LiteralPath $mark) {
    Remove-Item -LiteralPath $mark -Force
}
$arguments = @('/generalize', '/oobe', '/shutdown', '/mode:vm', '/quiet')
if ($Unattend -ne '') {
    $arguments += "/unattend:`"$answers`""
    $gone += "The answer file is $answers now."
}
$process = Start-Process -FilePath $program -ArgumentList $arguments -Wait -PassThru
$watch = [System.Diagnostics.Stopwatch]::StartNew()
while ($process.ExitCode -eq 0 -and -not (Test-Path -LiteralPath $mark) -and $watch.Elapsed.TotalSeconds -lt 60) {
    Start-Sleep -Milliseconds 500
}
$problem = ''
if ($process.ExitCode -ne 0) {
    $problem = "sysprep ended with $($process.ExitCode)."
}
elseif (-not (Test-Path -LiteralPath $mark)) {
    $problem = "sysprep ended, but has not made $mark."
}
if ($problem -ne '') {
    $log = Join-Path -Path $sysprep -ChildPath 'Panther\setuperr.log'
    $said = @(Get-Content -LiteralPath $log -Tail 5 -ErrorAction SilentlyContinue)
    throw ((@($problem) + $said + $gone) -join ' | ')
}
