# Makes a fresh Windows Server reachable by WinRM over HTTPS, and prints its certificate.
# Run it elevated: at the console, or as the provider's user data, which passes no arguments: there write them behind the equals signs
# of `param`. It can be run again.
#
#   .\bootstrap-winrm.ps1 -Name win1.example.com -AllowFrom '10.0.0.0/24'
#Requires -Version 5.1
#Requires -RunAsAdministrator
[CmdletBinding()]
param(
    [string]$Name = '',
    [string[]]$AllowFrom = @('LocalSubnet')
)

Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'

if ($Name -eq '') {
    throw 'Name is missing: the name by which the controller reaches this machine.'
}
$address = $null
if ([System.Net.IPAddress]::TryParse($Name, [ref]$address)) {
    throw "Name is the address ${Name}: the certificate needs a name, by which the inventory's ansible_host reaches this machine."
}
# Of an argument of `-File` PowerShell makes one text, with its commas.
$AllowFrom = @($AllowFrom | ForEach-Object { $_ -split ',' } | ForEach-Object { $_.Trim() } | Where-Object { $_ -ne '' })
Set-Service -Name 'WinRM' -StartupType Automatic
Start-Service -Name 'WinRM'

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
if ($usable.Count -gt 0) {
    $certificate = $usable[0]
}
else {
    # Read again: what PowerShell 7 gets from Windows PowerShell's module is a copy of its properties.
    $made = New-SelfSignedCertificate -DnsName $Name -CertStoreLocation $store -NotAfter $now.AddYears(3)
    $certificate = Get-Item -LiteralPath "$store\$($made.Thumbprint)"
}

# The listener that one may have come by is not removed for another that may fail. Those at single addresses have other certificates.
$secure = @(Get-ChildItem -Path 'WSMan:\localhost\Listener' | Where-Object { @($_.Keys) -contains 'Transport=HTTPS' })
$everywhere = @($secure | Where-Object { @($_.Keys) -contains 'Address=*' })
if ($everywhere.Count -eq 0) {
    $new = @{ Transport = 'HTTPS'; Address = '*'; CertificateThumbPrint = $certificate.Thumbprint }
    $null = New-Item -Path 'WSMan:\localhost\Listener' @new -Force
}
elseif ((Get-Item -Path "WSMan:\localhost\Listener\$($everywhere[0].Name)\CertificateThumbprint").Value -ne
    $certificate.Thumbprint) {
    $selected = @{ Transport = 'HTTPS'; Address = '*' }
    $values = @{ Hostname = $Name; CertificateThumbprint = $certificate.Thumbprint }
    $null = Set-WSManInstance -ResourceURI 'winrm/config/Listener' -SelectorSet $selected -ValueSet $values
}
foreach ($listener in $secure) {
    if (@($listener.Keys) -notcontains 'Address=*') {
        Remove-Item -Path "WSMan:\localhost\Listener\$($listener.Name)" -Recurse -Force
    }
}
Set-Item -Path 'WSMan:\localhost\Service\AllowUnencrypted' -Value $false -Force
Set-Item -Path 'WSMan:\localhost\Service\Auth\Basic' -Value $false -Force

# These are functions of a module, which do not see $ErrorActionPreference of a script.
$rule = 'WINRM-HTTPS-In-TCP'
if ($null -eq (Get-NetFirewallRule -Name $rule -ErrorAction SilentlyContinue)) {
    $new = @{ Name = $rule; DisplayName = 'Windows Remote Management (HTTPS-In)'; Direction = 'Inbound'; Protocol = 'TCP'; LocalPort = 5986 }
    $null = New-NetFirewallRule @new -Action Allow -Enabled False -ErrorAction Stop
}
Set-NetFirewallRule -Name $rule -Enabled True -Profile Any -RemoteAddress $AllowFrom -ErrorAction Stop

# This text belongs into a file on the controller that ansible_winrm_ca_trust_path names.
'-----BEGIN CERTIFICATE-----'
[System.Convert]::ToBase64String($certificate.RawData, [System.Base64FormattingOptions]::InsertLineBreaks)
'-----END CERTIFICATE-----'
"Thumbprint: $($certificate.Thumbprint)"
