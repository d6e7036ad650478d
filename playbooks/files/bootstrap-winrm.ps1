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
Set-Service -Name 'WinRM' -StartupType Automatic
Start-Service -Name 'WinRM'

# A certificate of your own authority is better: give it this subject, and put it into the same store before. It goes before one that
# this script has made, then the one that holds longest.
$store = 'Cert:\LocalMachine\My'
$now = Get-Date
$usable = @(Get-ChildItem -LiteralPath $store |
        Where-Object { $_.Subject -eq "CN=$Name" -and $_.HasPrivateKey -and $_.NotAfter -gt $now } |
        Sort-Object -Property @{ Expression = { $_.Issuer -eq $_.Subject } }, @{ Expression = { $_.NotAfter }; Descending = $true })
if ($usable.Count -gt 0) {
    $certificate = $usable[0]
}
else {
    # Read again: what PowerShell 7 gets from Windows PowerShell's module is a copy of its properties.
    $made = New-SelfSignedCertificate -DnsName $Name -CertStoreLocation $store -NotAfter $now.AddYears(3)
    $certificate = Get-Item -LiteralPath "$store\$($made.Thumbprint)"
}

foreach ($listener in @(Get-ChildItem -Path 'WSMan:\localhost\Listener')) {
    if (@($listener.Keys) -contains 'Transport=HTTPS') {
        Remove-Item -Path "WSMan:\localhost\Listener\$($listener.Name)" -Recurse -Force
    }
}
$null = New-Item -Path 'WSMan:\localhost\Listener' -Transport HTTPS -Address '*' -CertificateThumbPrint $certificate.Thumbprint -Force
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
