<#
.SYNOPSIS
Makes a fresh Windows Server reachable by WinRM over HTTPS, and prints its certificate.

.DESCRIPTION
Run it elevated: at the console, or as the provider's user data, which passes no arguments: there write them behind the equals signs of
`param`. It says what it did. Run again, it changes nothing and says so; -WhatIf says what it would do.

Exit code 0: the machine is as wanted. 1: it failed, and the last words say why. 2: the machine is reachable, but a warning has to be read.

.PARAMETER Name
The name by which the controller reaches this machine.

.PARAMETER AllowFrom
Addresses, ranges or LocalSubnet from which port 5986 is open; one text with commas is fine, too.

.EXAMPLE
.\bootstrap-winrm.ps1 -Name win1.example.com -AllowFrom '10.0.0.0/24'
#>
#Requires -Version 5.1
#Requires -RunAsAdministrator
[CmdletBinding(SupportsShouldProcess = $true)]
param(
    [string]$Name = '',
    [string[]]$AllowFrom = @('LocalSubnet')
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

function Get-PlainAddress {
    <# .SYNOPSIS An address as it can be compared: Windows gives 10.0.0.0/24 back as 10.0.0.0/255.255.255.0 (unverified). #>
    param([string]$Text)

    $parts = @($Text.Trim() -split '/')
    $address = $null
    if ($parts.Count -gt 2 -or -not [System.Net.IPAddress]::TryParse($parts[0], [ref]$address)) {
        return $Text.Trim().ToLowerInvariant()
    }
    $plain = $address.ToString()
    if ($parts.Count -eq 1) {
        return $plain
    }
    $length = $parts[1]
    $mask = $null
    if ($length -notmatch '^\d+$' -and [System.Net.IPAddress]::TryParse($length, [ref]$mask)) {
        $bits = ''
        foreach ($byte in $mask.GetAddressBytes()) {
            $bits += [System.Convert]::ToString([int]$byte, 2)
        }
        $length = [string]$bits.Replace('0', '').Length
    }
    $whole = 32
    if ($address.AddressFamily -eq [System.Net.Sockets.AddressFamily]::InterNetworkV6) {
        $whole = 128
    }
    if ($length -eq [string]$whole) {
        return $plain
    }
    return "$plain/$length"
}

function Set-Rule {
    <# .SYNOPSIS The firewall's rule: the port is open from these addresses alone, whatever category a network has. #>
    param([string]$Rule, [string]$DisplayName, [string]$Port, [string[]]$From)

    # These are functions of a module, which do not see $ErrorActionPreference of a script.
    $found = Get-NetFirewallRule -Name $Rule -ErrorAction SilentlyContinue
    if ($null -eq $found) {
        if (Test-Allowed -Target "firewall rule $Rule" -Action "allow TCP $Port from $($From -join ', ')") {
            $new = @{ Name = $Rule; DisplayName = $DisplayName; Direction = 'Inbound'; Protocol = 'TCP'; LocalPort = $Port }
            $null = New-NetFirewallRule @new -Action Allow -Enabled True -Profile Any -RemoteAddress $From -ErrorAction Stop
            Add-Done "the firewall lets TCP $Port in from $($From -join ', ') (rule $Rule)."
        }
        return
    }
    $filter = Get-NetFirewallAddressFilter -AssociatedNetFirewallRule $found -ErrorAction Stop
    $is = @($filter.RemoteAddress | ForEach-Object { Get-PlainAddress -Text ([string]$_) } | Sort-Object -Unique) -join ' '
    $wanted = @($From | ForEach-Object { Get-PlainAddress -Text $_ } | Sort-Object -Unique) -join ' '
    $ports = Get-NetFirewallPortFilter -AssociatedNetFirewallRule $found -ErrorAction Stop
    $right = [string]$found.Enabled -eq 'True' -and [string]$found.Profile -eq 'Any' -and [string]$found.Action -eq 'Allow'
    $right = $right -and [string]$found.Direction -eq 'Inbound' -and [string]$ports.Protocol -eq 'TCP'
    if (-not $right -or (@($ports.LocalPort) -join ' ') -ne $Port -or $is -ne $wanted) {
        if (Test-Allowed -Target "firewall rule $Rule" -Action "allow TCP $Port from $($From -join ', ') alone, in every network category") {
            $set = @{ Name = $Rule; Direction = 'Inbound'; Protocol = 'TCP'; LocalPort = $Port }
            Set-NetFirewallRule @set -Action Allow -Enabled True -Profile Any -RemoteAddress $From -ErrorAction Stop
            Add-Done "the firewall's rule $Rule lets TCP $Port in from $($From -join ', ') alone, in every network category."
        }
    }
}

function Test-Policy {
    <# .SYNOPSIS Says where a policy makes the firewall ignore rules of this machine. Source: Get-NetFirewallProfile, active store. #>
    try {
        $profiles = @(Get-NetFirewallProfile -PolicyStore ActiveStore -ErrorAction Stop)
        $deaf = @($profiles | Where-Object { [string]$_.AllowLocalFirewallRules -eq 'False' } | ForEach-Object { [string]$_.Name })
        if ($deaf.Count -gt 0) {
            Add-Warned "A policy makes the firewall ignore this machine's own rules in: $($deaf -join ', '). The policy has to open the port."
        }
    }
    catch {
        Add-Warned "Whether a policy ignores this machine's own firewall rules could not be read: $_"
    }
}

function Set-ServiceStarted {
    <# .SYNOPSIS A service that starts with the machine and runs. #>
    param([string]$Service)

    $found = Get-Service -Name $Service
    if ([string]$found.StartType -ne 'Automatic') {
        if (Test-Allowed -Target "service $Service" -Action 'start it with the machine') {
            Set-Service -Name $Service -StartupType Automatic
            Add-Done "the service $Service starts with the machine."
        }
    }
    if ([string]$found.Status -ne 'Running') {
        if (Test-Allowed -Target "service $Service" -Action 'start it') {
            Start-Service -Name $Service
            Add-Done "the service $Service was started."
        }
    }
}

function Set-Refused {
    <# .SYNOPSIS Turns a setting of the service off. It can be refused: while a network is Public (2150859113), and by a policy. #>
    param([string]$Path)

    try {
        if ([string](Get-Item -Path $Path).Value -eq 'false') {
            return
        }
        if (Test-Allowed -Target $Path -Action 'set it to false') {
            Set-Item -Path $Path -Value $false -Force
            Add-Done "$Path is false."
        }
    }
    catch {
        Add-Warned "$Path could not be made false, which a policy or a network of category Public can forbid: $_"
    }
}

if ($Name -eq '') {
    throw 'Name is missing: the name by which the controller reaches this machine.'
}
$address = $null
if ([System.Net.IPAddress]::TryParse($Name, [ref]$address)) {
    throw "Name is the address ${Name}: the certificate needs a name, by which the inventory's ansible_host reaches this machine."
}
# Of an argument of `-File` PowerShell makes one text, with its commas.
$AllowFrom = @($AllowFrom | ForEach-Object { $_ -split ',' } | ForEach-Object { $_.Trim() } | Where-Object { $_ -ne '' })
if ($AllowFrom.Count -eq 0) {
    throw 'AllowFrom is empty: name the addresses that may reach this machine; without one every address could.'
}

Set-ServiceStarted -Service 'WinRM'
if ($WhatIfPreference -and [string](Get-Service -Name 'WinRM').Status -ne 'Running') {
    # Its drive would start it, and in a strict script fails at that. Source: PowerShell/PowerShell#11742.
    'WinRM does not run yet; its certificate, its listener, the firewall and its settings would be looked at next.'
    exit 0
}

# A certificate of your own authority is better: give it this subject, and put it into the same store before. It goes before one that
# this script has made, then the one that holds longest. Without a list of what it is for it is for servers, too.
$store = 'Cert:\LocalMachine\My'
$now = Get-Date
$usable = @(Get-ChildItem -LiteralPath $store |
        Where-Object { $_.Subject -eq "CN=$Name" -and $_.HasPrivateKey -and $_.NotAfter -gt $now } |
        Where-Object {
            $uses = @($_.EnhancedKeyUsageList | ForEach-Object { $_.ObjectId })
            $uses.Count -eq 0 -or $uses -contains '1.3.6.1.5.5.7.3.1'
        } |
        Sort-Object -Property @{ Expression = { $_.Issuer -eq $_.Subject } }, @{ Expression = { $_.NotAfter }; Descending = $true })
$certificate = $null
if ($usable.Count -gt 0) {
    $certificate = $usable[0]
}
elseif (Test-Allowed -Target $store -Action "make a certificate of CN=$Name") {
    # Read again: what PowerShell 7 gets from Windows PowerShell's module is a copy of its properties.
    $made = New-SelfSignedCertificate -DnsName $Name -CertStoreLocation $store -NotAfter $now.AddYears(3)
    $certificate = Get-Item -LiteralPath "$store\$($made.Thumbprint)"
    Add-Done "a certificate of CN=$Name was made; it holds for three years."
}

# The listener that one may have come by is not removed for another that may fail. Those at single addresses have other certificates.
$secure = @(Get-ChildItem -Path 'WSMan:\localhost\Listener' | Where-Object { @($_.Keys) -contains 'Transport=HTTPS' })
$everywhere = @($secure | Where-Object { @($_.Keys) -contains 'Address=*' })
$thumbprint = ''
if ($null -ne $certificate) {
    $thumbprint = [string]$certificate.Thumbprint
}
if ($everywhere.Count -eq 0) {
    if (Test-Allowed -Target 'WinRM' -Action 'listen over HTTPS at every address') {
        $new = @{ Transport = 'HTTPS'; Address = '*'; CertificateThumbPrint = $thumbprint }
        $null = New-Item -Path 'WSMan:\localhost\Listener' @new -Force
        Add-Done 'WinRM listens over HTTPS at every address.'
    }
}
elseif ((Get-Item -Path "WSMan:\localhost\Listener\$($everywhere[0].Name)\CertificateThumbprint").Value -ne $thumbprint) {
    if (Test-Allowed -Target "WinRM's listener over HTTPS" -Action "give it the certificate of CN=$Name") {
        $selected = @{ Transport = 'HTTPS'; Address = '*' }
        $values = @{ Hostname = $Name; CertificateThumbprint = $thumbprint }
        $null = Set-WSManInstance -ResourceURI 'winrm/config/Listener' -SelectorSet $selected -ValueSet $values
        Add-Done "WinRM's listener over HTTPS has the certificate of CN=$Name."
    }
}
foreach ($listener in $secure) {
    if (@($listener.Keys) -notcontains 'Address=*') {
        if (Test-Allowed -Target "WinRM's listener $($listener.Name)" -Action 'remove it') {
            Remove-Item -Path "WSMan:\localhost\Listener\$($listener.Name)" -Recurse -Force
            Add-Done "WinRM's listener $($listener.Name), at a single address, is gone."
        }
    }
}

Set-Rule -Rule 'WINRM-HTTPS-In-TCP' -DisplayName 'Windows Remote Management (HTTPS-In)' -Port '5986' -From $AllowFrom
Test-Policy
Set-Refused -Path 'WSMan:\localhost\Service\AllowUnencrypted'
Set-Refused -Path 'WSMan:\localhost\Service\Auth\Basic'

if ($done.Count -eq 0) {
    'Nothing was changed.'
}
if ($null -ne $certificate) {
    # This text belongs into a file on the controller that ansible_winrm_ca_trust_path names.
    '-----BEGIN CERTIFICATE-----'
    [System.Convert]::ToBase64String([byte[]]$certificate.RawData, [System.Base64FormattingOptions]::InsertLineBreaks)
    '-----END CERTIFICATE-----'
    "Thumbprint: $thumbprint"
}
if ($warned.Count -gt 0) {
    exit 2
}
exit 0
