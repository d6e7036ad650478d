# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Running a program as an op, and waiting until something is so.

function Get-NodeTimeLeft {
    <# .SYNOPSIS Seconds that an op may take: what it wants, or what the batch's deadline leaves. Undo ops have no deadline. #>
    param([hashtable]$Run, [double]$Wanted)

    if ($Run['deadline_s'] -le 0) {
        return $Wanted
    }
    $left = [double]$Run['deadline_s'] - [double]$Run['spent_s'] - $Run['watch'].Elapsed.TotalSeconds
    if ($left -le 0) {
        throw "The batch's deadline of $($Run['deadline_s']) s is up."
    }
    return [System.Math]::Min($Wanted, $left)
}

function Get-NodeExitList {
    <# .SYNOPSIS The exit codes that an op accepts, numbers or the word any; 0 if it names none. #>
    param([object]$Arguments)

    $codes = Get-NodeArgumentList -Map $Arguments -Name 'ok_exit'
    if ($codes.Length -eq 0) {
        return , [object[]]@(0)
    }
    return , $codes
}

function Test-NodeExit {
    <# .SYNOPSIS Whether an exit code is among those accepted; 0xC0000005 may be written signed or unsigned. #>
    param([int]$Code, [object[]]$Accepted)

    $unsigned = ConvertTo-NodeUnsigned -Value $Code
    foreach ($item in $Accepted) {
        if ([string]$item -ceq 'any') {
            return $true
        }
        if ([int64]$item -eq [int64]$Code -or [int64]$item -eq $unsigned) {
            return $true
        }
    }
    return $false
}

function Get-NodeSaid {
    <# .SYNOPSIS What a program said, for a sentence: stderr, else stdout, its last 2000 characters. #>
    param([hashtable]$Done)

    $said = ([string]$Done['stderr']).Trim()
    if ($said -eq '') {
        $said = ([string]$Done['stdout']).Trim()
    }
    if ($said.Length -gt 2000) {
        $said = $said.Substring($said.Length - 2000)
    }
    return $said
}

function Get-NodeCommandText {
    <# .SYNOPSIS The program and the arguments that an op names, for a sentence: at most 400 characters, without the secrets. #>
    param([object]$Arguments, [hashtable]$Run)

    $words = New-Object System.Collections.ArrayList
    $null = $words.Add([string]$Arguments['program'])
    foreach ($word in (Get-NodeArgumentList -Map $Arguments -Name 'args')) {
        $null = $words.Add((ConvertTo-NodeArgumentText -Value (Hide-NodeSecret -Run $Run -Text ([string]$word))))
    }
    $text = $words.ToArray() -join ' '
    if ($text.Length -gt 400) {
        $text = $text.Substring(0, 400) + '...'
    }
    return $text
}

function Get-NodeEndText {
    <# .SYNOPSIS How a program ended and what it said, as the middle of a sentence. #>
    param([object]$Done)

    $said = Get-NodeSaid -Done $Done
    if ($said -eq '') {
        return "ended with exit code $($Done['exit_code']) and printed nothing"
    }
    return "ended with exit code $($Done['exit_code']): $said"
}

function Invoke-NodeRunArgument {
    <# .SYNOPSIS Runs the program that an op names: {exit_code, stdout, stderr} as text. #>
    param([object]$Arguments, [hashtable]$Run, [double]$TimeoutS)

    $program = [string]$Arguments['program']
    $call = @{
        Program = $program
        Arguments = (Get-NodeArgumentList -Map $Arguments -Name 'args')
        TimeoutMs = [int][System.Math]::Min([double]2000000000, $TimeoutS * 1000)
        InputText = [string](Get-NodeArgument -Map $Arguments -Name 'stdin' -Default '')
        Folder = [string](Get-NodeArgument -Map $Arguments -Name 'cwd' -Default '')
        Environment = (Get-NodeArgument -Map $Arguments -Name 'env')
    }
    $done = Invoke-NodeProgram @call
    $encoding = [string](Get-NodeArgument -Map $Arguments -Name 'encoding' -Default 'oem')
    $text = @{
        exit_code = $done['exit_code']
        stdout = ConvertFrom-NodeOutput -Bytes $done['stdout'] -Encoding $encoding -Secrets $Run['secrets']
        stderr = ConvertFrom-NodeOutput -Bytes $done['stderr'] -Encoding $encoding -Secrets $Run['secrets']
    }
    if ($done['timed_out']) {
        $Run['data'] = $text
        throw "$(Get-NodeCommandText -Arguments $Arguments -Run $Run) did not end within $([System.Math]::Round($TimeoutS, 1)) s and was ended."
    }
    return $text
}

function Invoke-NodeOpRun {
    param([object]$Arguments, [hashtable]$Run)

    $timeout = [double](Get-NodeTimeLeft -Run $Run -Wanted ([double](Get-NodeArgument -Map $Arguments -Name 'timeout_s' -Default 60)))
    $done = Invoke-NodeRunArgument -Arguments $Arguments -Run $Run -TimeoutS $timeout
    $accepted = Get-NodeExitList -Arguments $Arguments
    if (-not (Test-NodeExit -Code $done['exit_code'] -Accepted $accepted)) {
        $Run['data'] = $done
        $command = Get-NodeCommandText -Arguments $Arguments -Run $Run
        throw "$command was to end with exit code $($accepted -join ' or '), but $(Get-NodeEndText -Done $done)"
    }
    $done['changed'] = $true
    return $done
}

function Test-NodeFileFree {
    <# .SYNOPSIS {so, seen}: whether a file can be opened for writing, or does not exist. #>
    param([string]$Path)

    if ((Get-NodeFileKind -Path $Path) -ceq 'absent') {
        return @{ so = $true; seen = 'it does not exist' }
    }
    try {
        $stream = New-Object System.IO.FileStream($Path, [System.IO.FileMode]::Open, [System.IO.FileAccess]::ReadWrite,
            [System.IO.FileShare]::None)
        $stream.Dispose()
        return @{ so = $true; seen = 'it is free' }
    }
    catch {
        return @{ so = $false; seen = "it is held: $(Get-NodeErrorText -Record $_)" }
    }
}

function Test-NodeFileFilled {
    <# .SYNOPSIS {so, seen}: whether a file is there and not empty; a link is followed. #>
    param([string]$Path)

    try {
        # Opened rather than looked up: of a link only that tells the size of the file behind it.
        $stream = Open-NodeFile -Path $Path
        $size = [int64]$stream.Length
        $stream.Dispose()
    }
    catch {
        $failure = $_
        if (@(2, 3) -contains (Get-NodeErrorCode -Record $failure)) {
            return @{ so = $false; seen = 'it is not there' }
        }
        if ([System.IO.Directory]::Exists($Path)) {
            return @{ so = $false; seen = 'it is a directory' }
        }
        return @{ so = $false; seen = "it cannot be read: $(Get-NodeErrorText -Record $failure)" }
    }
    return @{ so = [bool]($size -gt 0); seen = "it has $size bytes" }
}

function Test-NodeFileVersion {
    <# .SYNOPSIS {so, seen}: whether the version resource of a file is a version or a build of it; a file without one may be. #>
    param([string]$Path, [string]$Wanted)

    $version = ([string][System.Diagnostics.FileVersionInfo]::GetVersionInfo($Path).FileVersion).Trim()
    $so = $version -eq '' -or $version -match ('^' + [regex]::Escape($Wanted) + '(?![0-9])')
    return @{ so = [bool]$so; seen = "it is of version $version" }
}

function Test-NodeTcp {
    <#
    .SYNOPSIS
    {so, seen, unresolved}: whether a port takes a connection, at any address of the computer; it is closed at once. Unresolved is
    true where no address was found to ask.

    .NOTES
    A TcpClient that is told no family speaks IPv4 only on .NET Framework: one for each address. Source: referencesource, System
    Net/Sockets/TCPClient.cs: TcpClient() is TcpClient(AddressFamily.InterNetwork).
    #>
    param([string]$Computer, [int]$Port, [int]$TimeoutMs)

    $watch = [System.Diagnostics.Stopwatch]::StartNew()
    $seen = "there is no connection: $Computer has no address"
    try {
        # Without the brackets of a URL.
        $looking = [System.Net.Dns]::GetHostAddressesAsync($Computer.Trim([char[]]@([char]91, [char]93)))
        if (-not $looking.Wait($TimeoutMs)) {
            return @{ so = $false; seen = "there is no connection: no address of $Computer was found within $TimeoutMs ms"; unresolved = $true }
        }
        $addresses = @($looking.Result)
    }
    catch {
        return @{ so = $false; seen = "there is no connection: $(Get-NodeErrorText -Record $_)"; unresolved = $true }
    }
    $left = $addresses.Length
    foreach ($address in $addresses) {
        $client = $null
        # A slow first address leaves time for the others.
        $patience = [int][System.Math]::Max([double]200, [double](($TimeoutMs - $watch.ElapsedMilliseconds) / $left))
        $left = $left - 1
        try {
            $client = New-Object System.Net.Sockets.TcpClient($address.AddressFamily)
            $connecting = $client.ConnectAsync($address, $Port)
            if ($connecting.Wait($patience)) {
                return @{ so = $true; seen = 'it takes connections'; unresolved = $false }
            }
            $seen = "there is no connection within $TimeoutMs ms"
        }
        catch {
            $seen = "there is no connection: $(Get-NodeErrorText -Record $_)"
        }
        finally {
            if ($null -ne $client) {
                $client.Close()
            }
        }
    }
    return @{ so = $false; seen = $seen; unresolved = [bool]($addresses.Length -eq 0) }
}

function Test-NodeWaited {
    <# .SYNOPSIS {so, seen}: whether what an op waits for is so now, and what was seen. #>
    param([object]$Arguments, [hashtable]$Run, [double]$LeftS)

    $kind = [string]$Arguments['for']
    switch -CaseSensitive ($kind) {
        'service' {
            $state = Get-NodeServiceState -Name ([string]$Arguments['name'])
            return @{ so = [bool]($state -ceq [string]$Arguments['state']); seen = "it is $state" }
        }
        'pipe' {
            if (Test-NodePipe -Name ([string]$Arguments['name'])) {
                return @{ so = $true; seen = 'it is there' }
            }
            return @{ so = $false; seen = 'it is not there' }
        }
        'http' {
            $wanted = [int](Get-NodeArgument -Map $Arguments -Name 'status' -Default 200)
            $patience = [int][System.Math]::Max([double]500, [System.Math]::Min([double]2000, $LeftS * 1000))
            $answer = Read-NodeHttp -Url ([string]$Arguments['url']) -TimeoutMs $patience
            if ($answer['status'] -eq 0) {
                return @{ so = $false; seen = "there is no answer: $($answer['error'])" }
            }
            return @{ so = [bool]($answer['status'] -eq $wanted); seen = "it answers $($answer['status'])" }
        }
        'run' {
            try {
                $done = Invoke-NodeRunArgument -Arguments $Arguments -Run $Run -TimeoutS ([System.Math]::Max([double]1, $LeftS))
            }
            catch {
                return @{ so = $false; seen = (Get-NodeErrorText -Record $_) }
            }
            $Run['data'] = $done
            $so = Test-NodeExit -Code $done['exit_code'] -Accepted (Get-NodeExitList -Arguments $Arguments)
            return @{ so = $so; seen = "it $(Get-NodeEndText -Done $done)"; done = $done }
        }
        'file_free' { return Test-NodeFileFree -Path ([string]$Arguments['path']) }
        'process_gone' {
            # Windows names a module without the mark of a long path.
            $ids = Get-NodeHolder -Path (([string]$Arguments['path']).Replace('\\?\', ''))
            return @{ so = [bool]($ids.Length -eq 0); seen = "there are the processes $($ids -join ', ')" }
        }
        'file' {
            $found = Test-NodeFileFilled -Path ([string]$Arguments['path'])
            $version = [string](Get-NodeArgument -Map $Arguments -Name 'version' -Default '')
            if ($found['so'] -and $version -ne '') {
                return Test-NodeFileVersion -Path ([string]$Arguments['path']) -Wanted $version
            }
            return $found
        }
        'tcp' {
            $patience = [int][System.Math]::Max([double]500, [System.Math]::Min([double]3000, $LeftS * 1000))
            return Test-NodeTcp -Computer ([string]$Arguments['host']) -Port ([int]$Arguments['port']) -TimeoutMs $patience
        }
        'tcp_closed' {
            $found = Test-NodeTcp -Computer ([string]$Arguments['host']) -Port ([int]$Arguments['port']) -TimeoutMs 3000
            return @{ so = [bool](-not $found['so'] -and -not $found['unresolved']); seen = $found['seen'] }
        }
        'adapter' { return Test-NodeAdapter -Arguments $Arguments }
        'hns_network' { return Invoke-NodeHns -Block $Run['hns'] -What 'wait' -Arguments $Arguments -Run $Run }
        default {
            $kinds = 'service, pipe, http, run, file_free, process_gone, file, tcp, tcp_closed, adapter and hns_network'
            throw "There is nothing called '$kind' to wait for; there are $kinds."
        }
    }
}

function Get-NodeWaitSubject {
    <# .SYNOPSIS What an op waits for, as the beginning of a sentence. #>
    param([object]$Arguments, [hashtable]$Run)

    switch -CaseSensitive ([string]$Arguments['for']) {
        'service' {
            $stable = Get-NodeArgument -Map $Arguments -Name 'stable_s' -Default 0
            if ([double]$stable -gt 0) {
                return "The service $($Arguments['name']) did not stay $($Arguments['state']) for $stable s"
            }
            return "The service $($Arguments['name']) did not become $($Arguments['state'])"
        }
        'pipe' { return "The pipe $($Arguments['name']) did not appear" }
        'http' { return "$($Arguments['url']) did not answer $(Get-NodeArgument -Map $Arguments -Name 'status' -Default 200)" }
        'run' {
            $codes = (Get-NodeExitList -Arguments $Arguments) -join ' or '
            return "$(Get-NodeCommandText -Arguments $Arguments -Run $Run) did not end with exit code $codes"
        }
        'file_free' { return "$($Arguments['path']) did not become free for writing" }
        'file' {
            $version = [string](Get-NodeArgument -Map $Arguments -Name 'version' -Default '')
            if ($version -ne '') {
                return "The file $($Arguments['path']) did not have version $version"
            }
            return "The file $($Arguments['path']) did not appear, or stayed empty,"
        }
        'tcp' { return "$($Arguments['host']) did not take connections on TCP port $($Arguments['port'])" }
        'tcp_closed' { return "$($Arguments['host']) did not stop taking connections on TCP port $($Arguments['port'])" }
        'adapter' {
            $wanted = [string](Get-NodeArgument -Map $Arguments -Name 'address' -Default 'an IPv4 address')
            return "The adapter $($Arguments['name']) did not come up with $wanted"
        }
        'hns_network' {
            if ([bool](Get-NodeArgument -Map $Arguments -Name 'management_ip' -Default $false)) {
                return "The HNS network $($Arguments['name']) did not appear with a management address"
            }
            return "The HNS network $($Arguments['name']) did not appear"
        }
        default { return "The processes of $($Arguments['path']) did not end" }
    }
}

function Invoke-NodeOpWait {
    param([object]$Arguments, [hashtable]$Run)

    $timeout = [double](Get-NodeTimeLeft -Run $Run -Wanted ([double]$Arguments['timeout_s']))
    $interval = [int](Get-NodeArgument -Map $Arguments -Name 'interval_ms' -Default 500)
    $stable = [double]0
    if ([string]$Arguments['for'] -ceq 'service') {
        $stable = [double](Get-NodeArgument -Map $Arguments -Name 'stable_s' -Default 0)
    }
    $ends = [string](Get-NodeArgument -Map $Arguments -Name 'ends_with' -Default '')
    $program = [string](Get-NodeArgument -Map $Arguments -Name 'ends_with_program' -Default '')
    # Stopwatches, not clocks: a clock jumps when time synchronisation starts.
    $watch = [System.Diagnostics.Stopwatch]::StartNew()
    $since = $null
    $before = @{ since = $null; times = 0; processes = (New-Object System.Collections.ArrayList) }
    try {
        while ($true) {
            $found = Test-NodeWaited -Arguments $Arguments -Run $Run -LeftS ($timeout - $watch.Elapsed.TotalSeconds)
            # What a service was to do it will not do any more when it has ended.
            $end = $null
            $over = $false
            $told = ''
            if ($ends -ne '' -and ($program -ne '' -or -not $found['so'])) {
                $is_told = [string]$Arguments['for'] -ceq 'service'
                $end = Get-NodeServiceEnd -Name $ends -Told $is_told -Seen $before -Program $program
            }
            if ($null -ne $end) {
                $over = [bool]$end['over']
                $told = [string]$end['text']
            }
            if ($found['so'] -and -not $over) {
                if ($null -eq $since) {
                    $since = [System.Diagnostics.Stopwatch]::StartNew()
                }
                if ($since.Elapsed.TotalSeconds -ge $stable) {
                    $Run['data'] = $null
                    $result = @{ changed = $false }
                    if ($found.ContainsKey('done')) {
                        foreach ($field in @('exit_code', 'stdout', 'stderr')) {
                            $result[$field] = $found['done'][$field]
                        }
                    }
                    return $result
                }
            }
            else {
                $since = $null
            }
            $left = $timeout - $watch.Elapsed.TotalSeconds
            if ($left -le 0 -or $over) {
                $seconds = [System.Math]::Round([System.Math]::Min($timeout, $watch.Elapsed.TotalSeconds), 1)
                $log = Get-NodeLogEnd -Path ([string](Get-NodeArgument -Map $Arguments -Name 'log' -Default '')) -Run $Run
                throw "$(Get-NodeWaitSubject -Arguments $Arguments -Run $Run) within $seconds s: $($found['seen'])$told.$log"
            }
            $pause = [double]$interval
            if ($program -ne '' -and $before['processes'].Count -eq 0) {
                # One that ends at once is seen while it lives, so that its exit code can be told.
                $pause = [System.Math]::Min([double]100, $pause)
            }
            [System.Threading.Thread]::Sleep([int][System.Math]::Max([double]1, [System.Math]::Min($pause, $left * 1000)))
        }
    }
    finally {
        foreach ($process in $before['processes']) {
            $process.Dispose()
        }
    }
}
