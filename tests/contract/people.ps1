# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# One of playbooks/files/*.ps1 with stand-ins for what only Windows has, so that PowerShell on any system runs it. The machine is a file
# of lines `key TAB value`, written again after each change; its folders lie below Root. Called by test_scripts_for_people.py:
#   people.ps1 -Script x.ps1 -World world.tsv -Root folder -Arguments base64-of-JSON
param([string]$Script, [string]$World, [string]$Root, [string]$Arguments)

Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'
$standIn = @{}
foreach ($line in [System.IO.File]::ReadAllLines($World)) {
    $pair = $line.Split([char]9)
    $standIn[$pair[0]] = $pair[1]
}
$env:SystemRoot = [System.IO.Path]::Combine($Root, 'windows')
$env:ProgramData = [System.IO.Path]::Combine($Root, 'data')
$env:ProgramFiles = [System.IO.Path]::Combine($Root, 'programs')
$env:SystemDrive = $env:SystemRoot

function Save-StandIn {
    $lines = @($standIn.Keys | Sort-Object | ForEach-Object { $_ + [char]9 + $standIn[$_] })
    [System.IO.File]::WriteAllLines($World, [string[]]$lines)
}
function Set-StandIn([string]$Key, [string]$Value) {
    if ($standIn.ContainsKey("refused $Key")) { throw $standIn["refused $Key"] }
    $standIn[$Key] = $Value
    Save-StandIn
}
function Remove-StandIn([string]$Key) {
    if ($standIn.ContainsKey("refused $Key")) { throw $standIn["refused $Key"] }
    foreach ($each in @($standIn.Keys | Where-Object { $_ -eq $Key -or $_.StartsWith("$Key|") })) { $standIn.Remove($each) }
    Save-StandIn
}
function Get-StandInNames([string]$Prefix) {
    @($standIn.Keys | Where-Object { $_.StartsWith($Prefix) } | ForEach-Object { $_.Substring($Prefix.Length).Split('|')[0] } | Sort-Object -Unique)
}
function New-StandInKey([string]$Path, [string]$Name) {
    $made = New-Object PSObject -Property @{ PSChildName = $Name; Path = $Path }
    $made | Add-Member -MemberType ScriptMethod -Name GetValue -Value { param($name) $standIn["$($this.Path)|$name"] } -PassThru
}
function New-StandInCertificate([string]$Store, [string]$Print) {
    $of = "$Store\$Print"
    New-Object PSObject -Property @{
        Thumbprint = $Print; Subject = $standIn["$of|subject"]; Issuer = $standIn["$of|issuer"]; HasPrivateKey = $standIn["$of|key"] -eq 'yes'
        NotAfter = [DateTime]::Now.AddYears(1); RawData = [System.Text.Encoding]::ASCII.GetBytes($Print)
        EnhancedKeyUsageList = @($standIn["$of|uses"] -split ' ' | Where-Object { $_ } | ForEach-Object {
                New-Object PSObject -Property @{ ObjectId = $_ }
            })
    }
}
function Assert-StandInRuns([string]$Path) {
    # The drive starts the service with `$_`, which a strict script does not have.
    if ($Path -like 'WSMan:*' -and $standIn['service WinRM|status'] -ne 'Running') { throw "The variable '`$_' has not been set." }
}
function Test-StandIn([string]$Path) { $Path -match '^(HKLM|WSMan|Cert):' }

function Get-Service {
    [CmdletBinding()]
    param([string]$Name)
    if ($standIn.ContainsKey("service $Name|status")) {
        New-Object PSObject -Property @{ Status = $standIn["service $Name|status"]; StartType = $standIn["service $Name|type"] }
    }
}
function Set-Service {
    [CmdletBinding()]
    param([string]$Name, [string]$StartupType)

    Set-StandIn "service $Name|type" $StartupType
}
function Start-Service {
    [CmdletBinding()]
    param([string]$Name)

    Set-StandIn "service $Name|status" 'Running'
    Add-StandInSshd $Name
}
function Restart-Service {
    [CmdletBinding()]
    param([string]$Name)

    # One that brings nothing is tried again by the next run, which is no change of the machine.
    if ($standIn['sshd makes'] -ne 'no host keys') { Set-StandIn "restarts $Name" ([string](1 + [int]$standIn["restarts $Name"])) }
    Add-StandInSshd $Name
}
function Add-StandInSshd([string]$Name) {
    # What sshd makes at a start where it is not there.
    if ($Name -ne 'sshd' -or $standIn['sshd makes'] -eq 'nothing') { return }
    $ssh = "$env:ProgramData/ssh"
    $null = [System.IO.Directory]::CreateDirectory($ssh)
    if (-not [System.IO.File]::Exists("$ssh/sshd_config")) {
        $text = "Port 22`nMatch Group administrators`n  AuthorizedKeysFile __PROGRAMDATA__/ssh/administrators_authorized_keys`n"
        $kind = [string]$standIn['sshd_config']
        if ($kind -eq 'without a line for administrators') { $text = "Port 22`n" }
        if ($kind -eq 'from Notepad') { $text = $text.Replace("`n", "`r`n") }
        $encoding = New-Object System.Text.UTF8Encoding ($kind -eq 'from Notepad')
        [System.IO.File]::WriteAllText("$ssh/sshd_config", $text, $encoding)
    }
    if ($standIn['sshd makes'] -eq 'no host keys') { return }
    [System.IO.File]::WriteAllText("$ssh/ssh_host_ed25519_key", 'private')
    [System.IO.File]::WriteAllText("$ssh/ssh_host_ed25519_key.pub", 'ssh-ed25519 AAAA')
}
function Add-WindowsCapability {
    [CmdletBinding()]
    param([switch]$Online, [string]$Name)
    if ($standIn.ContainsKey('capability waits for a restart')) { return }
    Set-StandIn 'service sshd|status' 'Stopped'
    Set-StandIn 'service sshd|type' 'Manual'
}
function Get-NetFirewallRule {
    [CmdletBinding()]
    param([string]$Name)
    if ($standIn.ContainsKey("rule $Name|from")) {
        $of = "rule $Name"
        New-Object PSObject -Property @{
            Name = $Name; Enabled = $standIn["$of|enabled"]; Profile = $standIn["$of|profile"]; Action = $standIn["$of|action"]
            Direction = $standIn["$of|direction"]
        }
    }
}
function Get-NetFirewallAddressFilter {
    [CmdletBinding()]
    param($AssociatedNetFirewallRule)
    $found = @($standIn["rule $($AssociatedNetFirewallRule.Name)|from"] -split ',' | ForEach-Object { $_ -replace '/24$', '/255.255.255.0' })
    New-Object PSObject -Property @{ RemoteAddress = $found }
}
function Get-NetFirewallPortFilter {
    [CmdletBinding()]
    param($AssociatedNetFirewallRule)
    $of = "rule $($AssociatedNetFirewallRule.Name)"
    New-Object PSObject -Property @{ Protocol = $standIn["$of|protocol"]; LocalPort = $standIn["$of|port"] }
}
function Set-NetFirewallRule {
    [CmdletBinding()]
    param([string]$Name, [string]$Direction, [string]$Protocol, [string]$LocalPort, [string]$Action, [string]$Enabled, [string]$Profile,
        [string[]]$RemoteAddress)
    if ($RemoteAddress.Length -eq 0) { throw 'RemoteAddress has no elements' }
    Set-StandIn "rule $Name|from" ($RemoteAddress -join ',')
    Set-StandIn "rule $Name|enabled" $Enabled
    Set-StandIn "rule $Name|profile" $Profile
    Set-StandIn "rule $Name|action" $Action
    Set-StandIn "rule $Name|direction" $Direction
    Set-StandIn "rule $Name|protocol" $Protocol
    Set-StandIn "rule $Name|port" $LocalPort
}
function New-NetFirewallRule {
    [CmdletBinding()]
    param([string]$Name, [string]$DisplayName, [string]$Direction, [string]$Protocol, [string]$LocalPort, [string]$Action, [string]$Enabled,
        [string]$Profile, [string[]]$RemoteAddress)
    $same = @{ Name = $Name; Direction = $Direction; Protocol = $Protocol; LocalPort = $LocalPort; Action = $Action; Enabled = $Enabled }
    Set-NetFirewallRule @same -Profile $Profile -RemoteAddress $RemoteAddress
}
function Get-NetFirewallProfile {
    [CmdletBinding()]
    param([string]$PolicyStore)
    if ($standIn.ContainsKey('refused profiles')) { throw $standIn['refused profiles'] }
    foreach ($name in (Get-StandInNames 'profile ')) {
        New-Object PSObject -Property @{ Name = $name; AllowLocalFirewallRules = $standIn["profile $name"] }
    }
}
function New-SelfSignedCertificate {
    [CmdletBinding()]
    param([string]$DnsName, [string]$CertStoreLocation, $NotAfter)
    Set-StandIn "$CertStoreLocation\ABCD|subject" "CN=$DnsName"
    Set-StandIn "$CertStoreLocation\ABCD|issuer" "CN=$DnsName"
    Set-StandIn "$CertStoreLocation\ABCD|key" 'yes'
    New-Object PSObject -Property @{ Thumbprint = 'ABCD' }
}
function Set-WSManInstance {
    [CmdletBinding()]
    param([string]$ResourceURI, $SelectorSet, $ValueSet)
    Set-StandIn "listener $($SelectorSet['Address'])" $ValueSet['CertificateThumbprint']
}
function Remove-WSManInstance {
    [CmdletBinding()]
    param([string]$ResourceURI, $SelectorSet)
    if ($standIn.ContainsKey('refused WSMan')) { throw $standIn['refused WSMan'] }
    Remove-StandIn "HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\WSMAN\Listener\$($SelectorSet['Address'])+HTTPS"
}
function Get-CimInstance {
    [CmdletBinding()]
    param([string]$Namespace, [string]$ClassName)
    if (-not $standIn.ContainsKey('bitlocker')) { throw 'Invalid namespace' }
    New-Object PSObject -Property @{ DriveLetter = 'D:'; ProtectionStatus = 1 }
    New-Object PSObject -Property @{ DriveLetter = $env:SystemDrive; ProtectionStatus = $standIn['bitlocker'].Split(' ')[0] }
}
function Invoke-CimMethod {
    [CmdletBinding(SupportsShouldProcess = $true)]
    param($InputObject, [string]$MethodName)
    if (-not $PSCmdlet.ShouldProcess($MethodName)) { return }
    New-Object PSObject -Property @{ ReturnValue = 0; ConversionStatus = $standIn['bitlocker'].Split(' ')[1] }
}
function Get-Acl {
    [CmdletBinding()]
    param([string]$LiteralPath)
    $sddl = 'O:BAG:SYD:AI(A;ID;FA;;;SY)'
    if ($standIn.ContainsKey('sddl')) { $sddl = $standIn['sddl'] }
    if ($LiteralPath -match '[\\/]ssh$' -and $standIn.ContainsKey('sddl of ssh')) { $sddl = $standIn['sddl of ssh'] }
    New-Object PSObject -Property @{ Sddl = $sddl }
}
function Get-ChildItem {
    [CmdletBinding()]
    param([string]$Path, [string]$LiteralPath, [string]$Filter)
    $at = $Path + $LiteralPath
    Assert-StandInRuns $at
    if ($at -like 'WSMan:*') {
        foreach ($name in (Get-StandInNames 'listener ')) {
            New-Object PSObject -Property @{ Name = "Listener_$name"; Keys = @('Transport=HTTPS', "Address=$name") }
        }
    }
    elseif ($at -like 'Cert:*') { foreach ($print in (Get-StandInNames "$at\")) { New-StandInCertificate $at $print } }
    elseif ($at -like 'HKLM:*') { foreach ($name in (Get-StandInNames "$at\")) { New-StandInKey "$at\$name" $name } }
    else { Microsoft.PowerShell.Management\Get-ChildItem -LiteralPath $at -Filter $Filter }
}
function Get-Item {
    [CmdletBinding()]
    param([string]$Path, [string]$LiteralPath, [switch]$Force)
    $at = $Path + $LiteralPath
    Assert-StandInRuns $at
    if ($at -match '^WSMan:\\localhost\\Listener\\Listener_(.+)\\CertificateThumbprint$') {
        New-Object PSObject -Property @{ Value = $standIn["listener $($Matches[1])"] }
    }
    elseif ($at -like 'WSMan:*') { New-Object PSObject -Property @{ Value = $standIn[$at] } }
    elseif ($at -match '^(Cert:.+)\\([0-9A-F]+)$') { New-StandInCertificate $Matches[1] $Matches[2] }
    elseif ($at -like 'HKLM:*') { New-StandInKey $at '' }
    else { Microsoft.PowerShell.Management\Get-Item -LiteralPath $at -Force }
}
function Get-ItemProperty {
    [CmdletBinding()]
    param([string]$LiteralPath, [string]$Name)
    New-Object PSObject -Property @{ $Name = $standIn["$LiteralPath|$Name"] }
}
function Test-Path {
    [CmdletBinding()]
    param([string]$LiteralPath, [string]$PathType = 'Any')
    if (Test-StandIn $LiteralPath) {
        return @($standIn.Keys | Where-Object { $_ -eq $LiteralPath -or $_.StartsWith("$LiteralPath|") }).Count -gt 0
    }
    Microsoft.PowerShell.Management\Test-Path -LiteralPath $LiteralPath -PathType $PathType
}
function Set-Item {
    [CmdletBinding()]
    param([string]$Path, $Value, [switch]$Force)

    Set-StandIn $Path ([string]$Value).ToLowerInvariant()
}
function New-Item {
    [CmdletBinding()]
    param([string]$Path, [string]$ItemType, [switch]$Force, [string]$Transport, [string]$Address, [string]$CertificateThumbPrint)
    if ($Path -like 'WSMan:*') { Set-StandIn "listener $Address" $CertificateThumbPrint }
    elseif (Test-StandIn $Path) { Set-StandIn $Path '' }
    else { Microsoft.PowerShell.Management\New-Item -Path $Path -ItemType $ItemType -Force }
}
function New-ItemProperty {
    [CmdletBinding()]
    param([string]$LiteralPath, [string]$Name, [string]$Value, [string]$PropertyType, [switch]$Force)
    Set-StandIn "$LiteralPath|$Name" $Value
}
function Remove-ItemProperty {
    [CmdletBinding()]
    param([string]$LiteralPath, [string]$Name, [switch]$Force)
    Remove-StandIn "$LiteralPath|$Name"
}
function Remove-Item {
    [CmdletBinding()]
    param([string]$Path, [string]$LiteralPath, [switch]$Recurse, [switch]$Force, [switch]$DeleteKey)
    $at = $Path + $LiteralPath
    if ($at -match '^WSMan:\\localhost\\Listener\\Listener_(.+)$') { Remove-StandIn "listener $($Matches[1])" }
    elseif (Test-StandIn $at) { Remove-StandIn $at }
    elseif ($standIn.ContainsKey("read-only $([System.IO.Path]::GetFileName($at))")) { return }
    else { Microsoft.PowerShell.Management\Remove-Item -LiteralPath $at -Force -ErrorAction $ErrorActionPreference }
}
function Start-Process {
    [CmdletBinding()]
    param([string]$FilePath, [string[]]$ArgumentList, [switch]$PassThru)
    Set-StandIn 'sysprep' ($ArgumentList -join ' ')
    if (-not $standIn.ContainsKey('sysprep leaves no mark')) {
        [System.IO.File]::WriteAllText("$env:SystemRoot/System32/Sysprep/Sysprep_succeeded.tag", '')
    }
    $made = New-Object PSObject -Property @{ Id = 1; Handle = 1; ExitCode = [int]$standIn['sysprep ends with'] }
    $made | Add-Member -MemberType ScriptMethod -Name WaitForExit -Value { param($ms) -not $standIn.ContainsKey('sysprep goes on') } -PassThru
}
function Invoke-Program {
    param([string]$Path, [string[]]$Arguments)
    $name = [System.IO.Path]::GetFileName($Path)
    if ($standIn.ContainsKey("$name runs")) {
        $own = [System.Diagnostics.Process]::GetCurrentProcess().MainModule.FileName
        return Invoke-RealProgram -Path $own -Arguments @('-NoProfile', '-NonInteractive', '-Command', $standIn["$name runs"])
    }
    if ($name -eq 'icacls.exe' -and $Arguments -contains '/inheritance:r') { Set-StandIn 'sddl' 'O:BAG:SYD:PAI(A;;FA;;;SY)(A;;FA;;;BA)' }
    return @{ code = [int]$standIn["$name ends with"]; said = "$name $($Arguments -join ' ')" }
}

if ($standIn.ContainsKey('sshd has run')) {
    Add-StandInSshd 'sshd'
    if ($standIn['sshd has run'] -eq 'and its keys are gone') {
        foreach ($file in [System.IO.Directory]::GetFiles("$env:ProgramData/ssh", 'ssh_host_*')) { [System.IO.File]::Delete($file) }
        Remove-StandIn 'sshd has run'
    }
}
$text = [System.IO.File]::ReadAllText($Script)
$text = $text.Replace('function Invoke-Program {', 'function Invoke-RealProgram {') -replace '(?m)^#Requires.*$', ''
# The names of files are put together as Windows writes them.
foreach ($above in @('$panther', '$sysprep', '$env:SystemDrive', '$env:ProgramFiles')) {
    $text = $text.Replace($above + '\', $above + [System.IO.Path]::DirectorySeparatorChar)
}
# Nobody waits for a minute.
$text = $text.Replace('TotalSeconds -lt 60', 'TotalSeconds -lt 1')
if ($standIn.ContainsKey('a program may take')) { $text = $text.Replace('WaitForExit(60000)', "WaitForExit($($standIn['a program may take']))") }
if ($standIn.ContainsKey('32-bit')) { $text = $text.Replace('[System.Environment]::Is64BitProcess', '$false') }
$given = ConvertFrom-Json -InputObject ([System.Text.Encoding]::UTF8.GetString([System.Convert]::FromBase64String($Arguments)))
$named = @{}
foreach ($property in $given.PSObject.Properties) { $named[$property.Name] = $property.Value }
& ([ScriptBlock]::Create($text)) @named
