# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Programs: one by its full path with a list of arguments, no shell, a time limit, both outputs.

function ConvertTo-NodeArgumentText {
    <# .SYNOPSIS One argument as CommandLineToArgvW reads it back. #>
    param([string]$Value)

    if ($Value -ne '' -and $Value -notmatch '[\s"]') {
        return $Value
    }
    $text = New-Object System.Text.StringBuilder
    $null = $text.Append('"')
    $slashes = 0
    foreach ($char in $Value.ToCharArray()) {
        if ($char -eq [char]92) {
            $slashes++
            continue
        }
        if ($char -eq [char]34) {
            $null = $text.Append('\' * (2 * $slashes + 1))
        }
        else {
            $null = $text.Append('\' * $slashes)
        }
        $null = $text.Append([string]$char)
        $slashes = 0
    }
    $null = $text.Append('\' * (2 * $slashes))
    $null = $text.Append('"')
    return $text.ToString()
}

function Get-NodeOemEncoding {
    <# .SYNOPSIS The encoding of sc, netsh, icacls: the OEM code page of the machine, not of the account. #>
    try {
        if ($PSVersionTable.PSVersion.Major -ge 6) {
            # .NET has no code pages but those of Unicode until this is done.
            [System.Text.Encoding]::RegisterProvider([System.Text.CodePagesEncodingProvider]::Instance)
        }
        $page = [string](Get-NodeRegistryRaw -Key 'SYSTEM\CurrentControlSet\Control\Nls\CodePage' -Name 'OEMCP' -Default '437')
        return [System.Text.Encoding]::GetEncoding([int]$page)
    }
    catch {
        return [System.Text.Encoding]::GetEncoding(28591)
    }
}

function Hide-NodeText {
    <# .SYNOPSIS A text with each of these secrets replaced. #>
    param([string]$Text, [object[]]$Secrets)

    foreach ($secret in $Secrets) {
        $Text = $Text.Replace([string]$secret, '********')
    }
    return $Text
}

function Test-NodeWideText {
    <#
    .SYNOPSIS
    Whether bytes are UTF-16 (little-endian): they begin with its mark, or more bytes of odd places are 0 than of even ones.

    .NOTES
    nssm 2.24 prints UTF-16 into a pipe, and no mark; builds after it print bytes. Letters, blanks and line ends have 0 as their second
    byte, few characters have it as their first one. Text of bytes has no 0; a hole in a file has as many at odd places as at even ones.
    #>
    param([byte[]]$Bytes)

    if ($Bytes.Length -ge 2 -and $Bytes[0] -eq 255 -and $Bytes[1] -eq 254) {
        return $true
    }
    $odd = 0
    $even = 0
    for ($index = 0; $index + 1 -lt $Bytes.Length -and $index -lt 4096; $index += 2) {
        if ($Bytes[$index] -eq 0) {
            $even++
        }
        if ($Bytes[$index + 1] -eq 0) {
            $odd++
        }
    }
    return [bool]($odd -gt $even)
}

function Get-NodeDecoder {
    <#
    .SYNOPSIS
    What makes text of bytes that a program printed, by the encoding that was named for it.

    .NOTES
    With `utf-16` bytes that are none are read as with `oem`; there bytes that are valid UTF-8 are read as that: plain ASCII is both, and
    programs that print UTF-8 are common.
    #>
    param([byte[]]$Bytes, [string]$Encoding)

    if (@('oem', 'utf-8', 'utf-16') -cnotcontains $Encoding) {
        throw "There is no encoding '$Encoding'; there are oem, utf-8 and utf-16."
    }
    if ($Encoding -ceq 'utf-16' -and (Test-NodeWideText -Bytes $Bytes)) {
        return [System.Text.Encoding]::Unicode
    }
    if ($Encoding -ceq 'utf-8') {
        return [System.Text.Encoding]::UTF8
    }
    $strict = New-Object System.Text.UTF8Encoding($false, $true)
    try {
        $null = $strict.GetCharCount($Bytes)
        return [System.Text.Encoding]::UTF8
    }
    catch {
        return Get-NodeOemEncoding
    }
}

function ConvertFrom-NodeOutput {
    <#
    .SYNOPSIS
    What a program printed, as text, without the secrets: at most 64 KB of it, the first and the last 32 KB.
    #>
    param([byte[]]$Bytes, [string]$Encoding, [object[]]$Secrets = @())

    if ($Bytes.Length -eq 0) {
        return ''
    }
    $decoder = Get-NodeDecoder -Bytes $Bytes -Encoding $Encoding
    $half = 32768
    if ($Bytes.Length -gt 2 * $half -and $Secrets.Length -gt 0) {
        # Before the middle goes: half a secret beside the cut would not be known any more.
        $Bytes = $decoder.GetBytes((Hide-NodeText -Text ($decoder.GetString($Bytes)) -Secrets $Secrets))
    }
    if ($Bytes.Length -gt 2 * $half) {
        $left = $Bytes.Length - 2 * $half
        $head = $decoder.GetString($Bytes, 0, $half)
        $tail = $decoder.GetString($Bytes, $Bytes.Length - $half, $half)
        $text = $head + "`n... $left bytes left out ...`n" + $tail
    }
    else {
        $text = $decoder.GetString($Bytes)
    }
    return Hide-NodeText -Text ($text.TrimStart([char]0xFEFF)) -Secrets $Secrets
}

function Merge-NodeTwinName {
    <#
    .SYNOPSIS
    Of names of this process's environment that differ in case alone, as Path and PATH may where a shell of Unix stands between, one stays,
    with the value that counts.

    .NOTES
    Windows looks names up in any case and takes the first. .NET Framework throws for the second when EnvironmentVariables of a
    ProcessStartInfo is asked for. Source: referencesource, System services/monitoring/system/diagnosticts/ProcessStartInfo.cs;
    mscorlib environment.cs, GetEnvironmentVariables, which lists both.
    #>
    if (-not (Test-NodeWindows)) {
        return
    }
    $known = New-NodeMap
    foreach ($entry in [System.Environment]::GetEnvironmentVariables().GetEnumerator()) {
        $name = [string]$entry.Key
        if ($known.ContainsKey($name)) {
            $value = [System.Environment]::GetEnvironmentVariable($name)
            # Each call takes one of them away.
            for ($count = 0; $count -lt 10 -and $null -ne [System.Environment]::GetEnvironmentVariable($name); $count++) {
                $null = [System.Environment]::SetEnvironmentVariable($name, [NullString]::Value)
            }
            $null = [System.Environment]::SetEnvironmentVariable($name, $value)
        }
        $known[$name] = $true
    }
}

function Stop-NodeProcessTree {
    <# .SYNOPSIS Ends a process and all that it has started; Kill() of Windows PowerShell spares the children. #>
    param([System.Diagnostics.Process]$Process)

    try {
        if ($PSVersionTable.PSVersion.Major -ge 6) {
            $Process.Kill($true)
        }
        elseif (Test-NodeWindows) {
            $killer = [System.Environment]::GetFolderPath('System') + '\taskkill.exe'
            $list = @('/T', '/F', '/PID', [string]$Process.Id)
            $null = Invoke-NodeProgram -Program $killer -Arguments $list -TimeoutMs 10000 -Tree $false
        }
        if (-not $Process.HasExited) {
            $Process.Kill()
        }
        $null = $Process.WaitForExit(5000)
    }
    catch {
        # It has ended meanwhile, or Windows refuses: either way the caller reports the time-out.
        $null = $_
    }
}

function Invoke-NodeProgram {
    <#
    .SYNOPSIS
    Runs a program to its end: {timed_out, exit_code, stdout, stderr}, the outputs as bytes.
    #>
    param(
        [string]$Program,
        [object[]]$Arguments = @(),
        [int]$TimeoutMs = 60000,
        [string]$InputText = '',
        [string]$Folder = '',
        [object]$Environment = $null,
        [bool]$Tree = $true
    )

    if (-not [System.IO.Path]::IsPathRooted($Program)) {
        throw "The program '$Program' is not named by its full path."
    }
    if (-not [System.IO.File]::Exists($Program)) {
        throw "The program $Program does not exist."
    }
    $words = New-Object System.Collections.ArrayList
    foreach ($argument in $Arguments) {
        $null = $words.Add((ConvertTo-NodeArgumentText -Value ([string]$argument)))
    }
    $info = New-Object System.Diagnostics.ProcessStartInfo
    $info.FileName = $Program
    $info.Arguments = $words.ToArray() -join ' '
    $info.UseShellExecute = $false
    $info.CreateNoWindow = $true
    $info.RedirectStandardInput = $true
    $info.RedirectStandardOutput = $true
    $info.RedirectStandardError = $true
    $info.WorkingDirectory = $Folder
    if ($Folder -eq '') {
        $info.WorkingDirectory = [System.IO.Path]::GetDirectoryName($Program)
        if (Test-NodeWindows) {
            $info.WorkingDirectory = [System.Environment]::GetFolderPath('System')
        }
    }
    if ($null -ne $Environment) {
        Merge-NodeTwinName
        $given = New-NodeMap
        foreach ($entry in $Environment.GetEnumerator()) {
            $name = [string]$entry.Key
            if ((Test-NodeWindows) -and $given.ContainsKey($name)) {
                throw "The environment names $name and $($given[$name]), which are one variable on Windows: name it once."
            }
            $given[$name] = $name
            $info.EnvironmentVariables[$name] = [string]$entry.Value
        }
    }
    $process = New-Object System.Diagnostics.Process
    $process.StartInfo = $info
    $out = New-Object System.IO.MemoryStream
    $err = New-Object System.IO.MemoryStream
    try {
        try {
            $null = $process.Start()
        }
        catch {
            throw "$Program could not be started: $(Get-NodeErrorText -Record $_)"
        }
        # Both outputs are read while it runs: a full pipe would stop it for ever.
        $readOut = $process.StandardOutput.BaseStream.CopyToAsync($out)
        $readErr = $process.StandardError.BaseStream.CopyToAsync($err)
        $stdin = $process.StandardInput.BaseStream
        $watch = [System.Diagnostics.Stopwatch]::StartNew()
        $fed = $true
        try {
            if ($InputText -ne '') {
                $encoding = New-Object System.Text.UTF8Encoding($false)
                [byte[]]$bytes = $encoding.GetBytes($InputText)
                # Not Write: a program that never reads would hold it, and the time limit with it, for ever.
                $feeding = $stdin.WriteAsync($bytes, 0, $bytes.Length)
                $fed = $feeding.Wait([System.Math]::Max(1, $TimeoutMs))
            }
            if ($fed) {
                $stdin.Close()
            }
        }
        catch {
            # It does not want its input, or has ended: its exit code tells.
            $null = $_
        }
        $left = [int]([int64]$TimeoutMs - $watch.ElapsedMilliseconds)
        $ended = $process.WaitForExit([System.Math]::Max(1, $left))
        if (-not $ended) {
            if ($Tree) {
                Stop-NodeProcessTree -Process $process
            }
            else {
                $process.Kill()
            }
        }
        try {
            # A child that was left behind may hold the pipes open: what is there after 5 s is all.
            $null = [System.Threading.Tasks.Task]::WaitAll([System.Threading.Tasks.Task[]]@($readOut, $readErr), 5000)
        }
        catch {
            $null = $_
        }
        $code = -1
        if ($ended) {
            $code = [int]$process.ExitCode
        }
        return @{ timed_out = (-not $ended); exit_code = $code; stdout = $out.ToArray(); stderr = $err.ToArray() }
    }
    finally {
        $process.Dispose()
    }
}
