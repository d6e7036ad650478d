<#
.SYNOPSIS
Makes a fresh Windows Server reachable over SSH with a key, and prints the host key's fingerprints.

.DESCRIPTION
Run it elevated: at the console, or as the provider's user data, which passes no arguments: there write them behind the equals signs of
`param`. It says what it did. Run again, it changes nothing and says so; -WhatIf says what it would do.

Exit code 0: the machine is as wanted. 1: it failed, and the last words say why. 2: the machine is reachable, but a warning has to be read.

.PARAMETER PublicKey
The one line of the file that ends in .pub: administrators log in with its key.

.PARAMETER AllowFrom
Addresses, ranges or LocalSubnet from which port 22 is open; one text with commas is fine, too.

.EXAMPLE
.\bootstrap-ssh.ps1 -PublicKey 'ssh-ed25519 AAAA... ops' -AllowFrom '10.0.0.0/24'
#>
#Requires -Version 5.1
#Requires -RunAsAdministrator
[CmdletBinding(SupportsShouldProcess = $true)]
param(
    [string]$PublicKey = '',
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

function Invoke-Program {
    <# .SYNOPSIS A program to its end; its exit code and what it said: {code, said}. #>
    param([string]$Path, [string[]]$Arguments)

    # Each that has blanks in quotes. None here has a quote or ends in a backslash.
    $start = New-Object System.Diagnostics.ProcessStartInfo
    $start.FileName = $Path
    $start.Arguments = @($Arguments | ForEach-Object { if ($_ -match '\s') { '"' + $_ + '"' } else { $_ } }) -join ' '
    $start.UseShellExecute = $false
    $start.CreateNoWindow = $true
    $start.RedirectStandardInput = $true
    $start.RedirectStandardOutput = $true
    $start.RedirectStandardError = $true
    $process = [System.Diagnostics.Process]::Start($start)
    try {
        $process.StandardInput.Close()
        $out = $process.StandardOutput.ReadToEndAsync()
        $complaint = $process.StandardError.ReadToEndAsync()
        if (-not $process.WaitForExit(60000)) {
            $process.Kill()
            throw "$Path has not ended within 60 s and was ended."
        }
        return @{ code = [int]$process.ExitCode; said = ($out.Result + $complaint.Result).Trim() }
    }
    finally {
        $process.Dispose()
    }
}

function Get-ProgramFolder {
    <# .SYNOPSIS The folder of the service's program: OpenSSH can lie in System32 or, from its archive, below Program Files. #>
    $image = [string](Get-ItemProperty -LiteralPath 'HKLM:\SYSTEM\CurrentControlSet\Services\sshd' -Name 'ImagePath').ImagePath
    if ($image -match '^\s*"([^"]+)"' -or $image -match '^\s*(.+?\.exe)(\s|$)') {
        return Split-Path -Path ([System.Environment]::ExpandEnvironmentVariables([string]$Matches[1])) -Parent
    }
    throw "The service sshd has the ImagePath '$image', which names no program."
}

function Wait-File {
    <# .SYNOPSIS Waits for files that sshd makes, for a minute at most. #>
    param([string[]]$Path)

    $watch = [System.Diagnostics.Stopwatch]::StartNew()
    while ($watch.Elapsed.TotalSeconds -lt 60) {
        if (@($Path | Where-Object { -not (Test-Path -LiteralPath $_) }).Count -eq 0) {
            return
        }
        Start-Sleep -Milliseconds 250
    }
}

function Test-OwnAccess {
    <# .SYNOPSIS Whether a file belongs to administrators, who have full control together with SYSTEM, and nobody inherits any. #>
    param([string]$Path)

    $sddl = [string](Get-Acl -LiteralPath $Path).Sddl
    if ($sddl -cnotmatch '^O:BA(?:G:[^:]+)?D:P[A-Z]*((?:\([^)]*\))+)(?:S:.*)?$') {
        return $false
    }
    return (@($Matches[1].Trim('(', ')') -split '\)\(' | Sort-Object) -join ' ') -ceq 'A;;FA;;;BA A;;FA;;;SY'
}

if ([System.Environment]::Is64BitOperatingSystem -and -not [System.Environment]::Is64BitProcess) {
    # It would write DefaultShell where sshd does not look, and find no System32\OpenSSH.
    throw 'This is a 32-bit PowerShell on a 64-bit Windows; start the one in the folder Windows\Sysnative\WindowsPowerShell\v1.0.'
}
$PublicKey = $PublicKey.Trim()
if ($PublicKey -cnotmatch '^(ssh-ed25519|ssh-rsa|ecdsa-sha2-[a-z0-9-]+) [A-Za-z0-9+/=]+( .*)?$') {
    throw 'PublicKey is not a public key of OpenSSH; give the one line of the file that ends in .pub.'
}
# Of an argument of `-File` PowerShell makes one text, with its commas.
$AllowFrom = @($AllowFrom | ForEach-Object { $_ -split ',' } | ForEach-Object { $_.Trim() } | Where-Object { $_ -ne '' })
if ($AllowFrom.Count -eq 0) {
    throw 'AllowFrom is empty: name the addresses that may reach this machine; without one every address could.'
}
$system = Join-Path -Path $env:SystemRoot -ChildPath 'System32'
$folder = Join-Path -Path $env:ProgramData -ChildPath 'ssh'
$config = Join-Path -Path $folder -ChildPath 'sshd_config'

# Any user may have made the folder before OpenSSH came, and its owner can give himself the keys of all administrators.
if (Test-Path -LiteralPath $folder) {
    $sddl = [string](Get-Acl -LiteralPath $folder).Sddl
    # Administrators, SYSTEM, TrustedInstaller.
    if ($sddl -cnotmatch '^O:(BA|SY|S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464)([GDS]:|$)') {
        $owner = ($sddl -replace '^O:', '') -replace '[GDS]:.*$', ''
        throw "$folder belongs to $owner, not to administrators or SYSTEM, who alone may own the keys in it: look who made it, and delete it."
    }
}

# Windows Server 2025 has it already; before, it comes from Windows Update or a features-on-demand source.
if ($null -eq (Get-Service -Name 'sshd' -ErrorAction SilentlyContinue)) {
    if (-not (Test-Allowed -Target 'Windows' -Action 'install OpenSSH.Server, and set it up')) {
        exit 0
    }
    $null = Add-WindowsCapability -Online -Name 'OpenSSH.Server~~~~0.0.1.0'
    if ($null -eq (Get-Service -Name 'sshd' -ErrorAction SilentlyContinue)) {
        throw 'OpenSSH.Server is installed, but there is no service sshd yet: restart Windows and run this again.'
    }
    Add-Done 'OpenSSH.Server is installed.'
}
# Before anything is changed: without it the fingerprints could not be printed.
$keygen = Join-Path -Path (Get-ProgramFolder) -ChildPath 'ssh-keygen.exe'
if (-not (Test-Path -LiteralPath $keygen)) {
    throw "There is no $keygen beside the program of the service sshd; repair OpenSSH's installation and run this again."
}

# Before sshd runs, since it takes passwords at first. Windows' own rule, where there is one, covers Private and Domain alone on Server
# 2025, and any address everywhere.
Set-Rule -Rule 'OpenSSH-Server-In-TCP' -DisplayName 'OpenSSH SSH Server (sshd)' -Port '22' -From $AllowFrom
Test-Policy

# Its first start makes the configuration and the host keys, the one of ed25519 last; it counts as running before that. Source:
# PowerShell/openssh-portable, contrib/win32/win32compat/wmain_sshd.c.
Set-ServiceStarted -Service 'sshd'
$last = Join-Path -Path $folder -ChildPath 'ssh_host_ed25519_key.pub'
if ($WhatIfPreference -and -not (Test-Path -LiteralPath $config)) {
    'sshd has not run yet; its keys and its configuration would be made and set next, and it would be restarted.'
    exit 0
}
Wait-File -Path @($config)
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
    if (Test-Allowed -Target $keys -Action 'add the public key') {
        # Without an encoding it writes UTF-8 that has no mark, which is what sshd reads.
        [System.IO.File]::WriteAllLines($keys, [string[]](@($lines) + $PublicKey))
        Add-Done "the public key is in $keys."
    }
}
# With -WhatIf the file may not be there yet.
$there = Test-Path -LiteralPath $keys
if (($there -and -not (Test-OwnAccess -Path $keys)) -or (-not $there -and $WhatIfPreference)) {
    if (Test-Allowed -Target $keys -Action 'give it to administrators and SYSTEM alone') {
        $icacls = Join-Path -Path $system -ChildPath 'icacls.exe'
        $whose = @(
            @('/setowner', '*S-1-5-32-544'),
            @('/reset'),
            @('/inheritance:r', '/grant:r', '*S-1-5-32-544:F', '/grant:r', '*S-1-5-18:F')
        )
        foreach ($arguments in $whose) {
            $ended = Invoke-Program -Path $icacls -Arguments (@($keys) + $arguments)
            if ($ended['code'] -ne 0) {
                throw "icacls.exe ended with $($ended['code']); $keys has to belong to administrators and SYSTEM alone. $($ended['said'])"
            }
        }
        Add-Done "$keys belongs to administrators and SYSTEM alone."
    }
}

# The first line of a name counts, and the file ends in a Match block: so it comes first.
$restart = $false
$lines = @([System.IO.File]::ReadAllLines($config))
if (@($lines | Where-Object { $_ -match '^\s*AuthorizedKeysFile\s.*administrators_authorized_keys' }).Count -eq 0) {
    throw "No line of $config names administrators_authorized_keys any more, so that the key would not be read: put it back."
}
$wanted = 'PasswordAuthentication no'
if ($lines.Count -eq 0 -or $lines[0] -ne $wanted) {
    # -WhatIf names the restart that would follow, too.
    $restart = [bool]$WhatIfPreference
    if (Test-Allowed -Target $config -Action "begin with '$wanted'") {
        [System.IO.File]::WriteAllLines($config, [string[]](@($wanted) + $lines))
        Add-Done 'sshd takes no passwords.'
        $restart = $true
    }
}

# What ansible_shell_type: powershell means.
$key = 'HKLM:\SOFTWARE\OpenSSH'
$shell = Join-Path -Path $system -ChildPath 'WindowsPowerShell\v1.0\powershell.exe'
$is = ''
if (Test-Path -LiteralPath $key) {
    $is = [string](Get-Item -LiteralPath $key).GetValue('DefaultShell')
}
if ($is -ne $shell) {
    $restart = $restart -or [bool]$WhatIfPreference
    if (Test-Allowed -Target "$key, DefaultShell" -Action "set it to $shell") {
        if (-not (Test-Path -LiteralPath $key)) {
            $null = New-Item -Path $key -Force
        }
        $null = New-ItemProperty -LiteralPath $key -Name 'DefaultShell' -Value $shell -PropertyType String -Force
        Add-Done 'a session gets Windows PowerShell.'
        $restart = $true
    }
}

# Where somebody has deleted the host keys, a start makes them.
if ($restart -or -not (Test-Path -LiteralPath $last)) {
    if (Test-Allowed -Target 'service sshd' -Action 'restart it') {
        Restart-Service -Name 'sshd'
        Add-Done 'the service sshd was restarted.'
        Wait-File -Path @($last)
    }
}
if ($done.Count -eq 0) {
    'Nothing was changed.'
}

# These belong into winkube_bootstrap_fingerprints: by them the controller knows that it speaks with this machine.
$publics = @(Get-ChildItem -LiteralPath $folder -Filter 'ssh_host_*_key.pub')
if ($publics.Count -eq 0 -and -not $WhatIfPreference) {
    throw "sshd has made no host keys in $folder within 60 s of its start; look into the event log OpenSSH/Operational."
}
foreach ($public in $publics) {
    $ended = Invoke-Program -Path $keygen -Arguments @('-l', '-f', $public.FullName)
    if ($ended['code'] -ne 0) {
        throw "ssh-keygen.exe ended with $($ended['code']) for $($public.FullName): $($ended['said'])"
    }
    $ended['said']
}
if ($warned.Count -gt 0) {
    exit 2
}
exit 0
