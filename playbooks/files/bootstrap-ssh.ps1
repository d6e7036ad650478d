# Makes a fresh Windows Server reachable over SSH with a key, and prints the host key's fingerprints.
# Run it elevated: at the console, or as the provider's user data, which passes no arguments: there write them behind the equals signs
# of `param`. It can be run again.
#
#   .\bootstrap-ssh.ps1 -PublicKey 'ssh-ed25519 AAAA... ops' -AllowFrom '10.0.0.0/24'
#Requires -Version 5.1
#Requires -RunAsAdministrator
[CmdletBinding()]
param(
    [string]$PublicKey = '',
    [string[]]$AllowFrom = @('LocalSubnet')
)

Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'

if ([System.Environment]::Is64BitOperatingSystem -and -not [System.Environment]::Is64BitProcess) {
    # It would write DefaultShell where sshd does not look, and find no System32\OpenSSH.
    throw 'This is a 32-bit PowerShell on a 64-bit Windows; start the one in the folder Windows\Sysnative\WindowsPowerShell\v1.0.'
}
$PublicKey = $PublicKey.Trim()
if ($PublicKey -cnotmatch '^(ssh-ed25519|ssh-rsa|ecdsa-sha2-[a-z0-9-]+) [A-Za-z0-9+/=]+( .*)?$') {
    throw 'PublicKey is no public key of OpenSSH; give the one line of the file that ends in .pub.'
}
# Of an argument of `-File` PowerShell makes one text, with its commas.
$AllowFrom = @($AllowFrom | ForEach-Object { $_ -split ',' } | ForEach-Object { $_.Trim() } | Where-Object { $_ -ne '' })
$system = Join-Path -Path $env:SystemRoot -ChildPath 'System32'
$folder = Join-Path -Path $env:ProgramData -ChildPath 'ssh'
$config = Join-Path -Path $folder -ChildPath 'sshd_config'

# Windows Server 2025 has it already; before, it comes from Windows Update or a features-on-demand source.
if ($null -eq (Get-Service -Name 'sshd' -ErrorAction SilentlyContinue)) {
    $null = Add-WindowsCapability -Online -Name 'OpenSSH.Server~~~~0.0.1.0'
    if ($null -eq (Get-Service -Name 'sshd' -ErrorAction SilentlyContinue)) {
        throw 'OpenSSH.Server is installed, but there is no service sshd yet: restart Windows and run this again.'
    }
}

# Before sshd runs, since it takes passwords at first. Windows' own rule, where there is one, covers Private and Domain alone on Server
# 2025, and any address everywhere. These are functions of a module, which do not see $ErrorActionPreference of a script.
$rule = 'OpenSSH-Server-In-TCP'
if ($null -eq (Get-NetFirewallRule -Name $rule -ErrorAction SilentlyContinue)) {
    $new = @{ Name = $rule; DisplayName = 'OpenSSH SSH Server (sshd)'; Direction = 'Inbound'; Protocol = 'TCP'; LocalPort = 22 }
    $null = New-NetFirewallRule @new -Action Allow -Enabled False -ErrorAction Stop
}
Set-NetFirewallRule -Name $rule -Enabled True -Profile Any -RemoteAddress $AllowFrom -ErrorAction Stop

# Its first start makes the configuration and the host keys, the one of ed25519 last; it counts as running before that. Source:
# PowerShell/openssh-portable, contrib/win32/win32compat/wmain_sshd.c.
Set-Service -Name 'sshd' -StartupType Automatic
Start-Service -Name 'sshd'
$last = Join-Path -Path $folder -ChildPath 'ssh_host_ed25519_key.pub'
$watch = [System.Diagnostics.Stopwatch]::StartNew()
while (-not ((Test-Path -LiteralPath $config) -and (Test-Path -LiteralPath $last)) -and $watch.Elapsed.TotalSeconds -lt 60) {
    Start-Sleep -Milliseconds 250
}
if (-not (Test-Path -LiteralPath $config)) {
    throw "sshd has not made $config within 60 s of its start; look into the event log OpenSSH/Operational, or restart Windows and run this again."
}

# The keys of all administrators; sshd refuses the file if anybody else may write it. The groups by their SIDs, since
# their names are translated.
$keys = Join-Path -Path $folder -ChildPath 'administrators_authorized_keys'
$lines = @()
if (Test-Path -LiteralPath $keys) {
    $lines = @([System.IO.File]::ReadAllLines($keys))
}
if ($lines -cnotcontains $PublicKey) {
    # Without an encoding it writes UTF-8 that has no mark, which is what sshd reads.
    [System.IO.File]::WriteAllLines($keys, [string[]](@($lines) + $PublicKey))
}
$icacls = Join-Path -Path $system -ChildPath 'icacls.exe'
$whose = @(
    @('/setowner', '*S-1-5-32-544'),
    @('/reset'),
    @('/inheritance:r', '/grant:r', '*S-1-5-32-544:F', '/grant:r', '*S-1-5-18:F')
)
foreach ($arguments in $whose) {
    & $icacls $keys $arguments | Out-Null
    if ($LASTEXITCODE -ne 0) {
        throw "icacls.exe ended with $LASTEXITCODE; $keys has to belong to administrators and SYSTEM alone."
    }
}

# The first line of a name counts, and the file ends in a Match block: so it comes first.
$lines = @([System.IO.File]::ReadAllLines($config))
if (@($lines | Where-Object { $_ -match '^\s*AuthorizedKeysFile\s.*administrators_authorized_keys' }).Count -eq 0) {
    throw "No line of $config names administrators_authorized_keys any more, so that the key would not be read: put it back."
}
$wanted = 'PasswordAuthentication no'
if ($lines.Count -eq 0 -or $lines[0] -ne $wanted) {
    [System.IO.File]::WriteAllLines($config, [string[]](@($wanted) + $lines))
}

# What ansible_shell_type: powershell means.
$key = 'HKLM:\SOFTWARE\OpenSSH'
if (-not (Test-Path -LiteralPath $key)) {
    $null = New-Item -Path $key -Force
}
$shell = Join-Path -Path $system -ChildPath 'WindowsPowerShell\v1.0\powershell.exe'
$null = New-ItemProperty -LiteralPath $key -Name 'DefaultShell' -Value $shell -PropertyType String -Force

Restart-Service -Name 'sshd'

# These belong into winkube_bootstrap_fingerprints: by them the controller knows that it speaks with this machine. Where somebody has
# deleted the keys, this start has made them.
$watch = [System.Diagnostics.Stopwatch]::StartNew()
while (-not (Test-Path -LiteralPath $last) -and $watch.Elapsed.TotalSeconds -lt 60) {
    Start-Sleep -Milliseconds 250
}
$publics = @(Get-ChildItem -LiteralPath $folder -Filter 'ssh_host_*_key.pub')
if ($publics.Count -eq 0) {
    throw "sshd has made no host keys in $folder within 60 s of its start; look into the event log OpenSSH/Operational."
}
$keygen = Join-Path -Path $system -ChildPath 'OpenSSH\ssh-keygen.exe'
foreach ($public in $publics) {
    & $keygen '-l' '-f' $public.FullName
}
