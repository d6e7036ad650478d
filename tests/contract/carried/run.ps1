# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The cases as they were made on Linux, each a list of steps with what is wanted of it. Above stand the shared functions of the collection.

function Write-NodeLine {
    <# .SYNOPSIS One line for who looks on. #>
    param([string]$Text)

    $null = [System.Console]::Out.WriteLine($Text)
}

function Add-NodeReport {
    <# .SYNOPSIS One line of the report, on the disk before anything else is done. #>
    param([System.IO.StreamWriter]$Writer, [object]$Entry)

    $null = $Writer.WriteLine([string](ConvertTo-NodeJson -Value $Entry))
    $Writer.Flush()
}

function Read-NodeBeside {
    <# .SYNOPSIS A file that lies beside the script. #>
    param([string]$Folder, [string]$Name)

    return [System.IO.File]::ReadAllText([System.IO.Path]::Combine($Folder, $Name))
}

function Compress-NodeText {
    <# .SYNOPSIS base64 of gzip of a text: the option of node_apply. #>
    param([string]$Text)

    $encoding = New-Object System.Text.UTF8Encoding($false)
    [byte[]]$bytes = $encoding.GetBytes($Text)
    $memory = New-Object System.IO.MemoryStream
    $packer = New-Object System.IO.Compression.GZipStream($memory, [System.IO.Compression.CompressionMode]::Compress, $true)
    try {
        $packer.Write($bytes, 0, $bytes.Length)
    }
    finally {
        $packer.Dispose()
    }
    return [Convert]::ToBase64String($memory.ToArray())
}

function Invoke-NodePlace {
    <# .SYNOPSIS Makes or looks at the files and keys of a case; the answer as JSON text. #>
    param([object]$Run, [string]$Request)

    $text = Expand-NodeWord -Text $Request -Run $Run -Json $true
    $lines = $Run['place'].Invoke($text)
    return [string]($lines -join "`n")
}

function Invoke-NodeCarried {
    <# .SYNOPSIS One module, started as Ansible starts it: {stdout, stderr, exit_code, timed_out, ms}. #>
    param([object]$Run, [object]$Step)

    $module = [string]$Step['module']
    $sent = Expand-NodeWord -Text ([string]$Step['sent']) -Run $Run -Json $true
    if ($module -ceq 'node_apply') {
        $sent = $sent.Replace('"@RUNNER@"', [string]$Run['runner'])
        $sent = Compress-NodeText -Text $sent
    }
    $argument = $sent.Replace('\', '\\').Replace('"', '\"')
    $payload = [string]$Run['payloads'][[string]$Step['payload']]
    $call = @{
        Program = [string]$Run['program']
        Arguments = @('-NoProfile', '-NonInteractive', '-ExecutionPolicy', 'Unrestricted', '-EncodedCommand', [string]$Run['bootstrap'])
        TimeoutMs = 300000
        InputText = $payload.Replace('@ARGUMENT@', $argument)
        # That of this process is PowerShell 7's where that runs this script; Windows PowerShell cannot load what is there.
        Environment = @{ PSModulePath = [string][System.Environment]::GetEnvironmentVariable('PSModulePath', 'Machine') }
    }
    $watch = [System.Diagnostics.Stopwatch]::StartNew()
    $done = Invoke-NodeProgram @call
    return @{
        stdout = [System.Text.Encoding]::UTF8.GetString([byte[]]$done['stdout'])
        stderr = [System.Text.Encoding]::UTF8.GetString([byte[]]$done['stderr'])
        exit_code = [int]$done['exit_code']
        timed_out = [bool]$done['timed_out']
        ms = [int]$watch.ElapsedMilliseconds
    }
}

function Get-NodeAnswerText {
    <# .SYNOPSIS The JSON object in what a module printed; throws a sentence if there is none. #>
    param([object]$Done)

    $printed = [string]$Done['stdout']
    $start = $printed.IndexOf([char]'{')
    $end = $printed.LastIndexOf([char]'}')
    if ([bool]$Done['timed_out']) {
        throw 'it was ended after 300 s'
    }
    if ($start -lt 0 -or $end -lt $start) {
        $said = $printed + [string]$Done['stderr']
        if ($said.Length -gt 1500) {
            $said = $said.Substring($said.Length - 1500)
        }
        throw "no JSON in the output (exit code $($Done['exit_code'])): $said"
    }
    return $printed.Substring($start, $end - $start + 1)
}

function Get-NodeWorld {
    <# .SYNOPSIS The machine of stand-ins as a look has found it: the text of world.tsv. #>
    param([string]$Look)

    foreach ($file in (Get-NodeArgumentList -Map (ConvertFrom-NodeJson -Text $Look) -Name 'files')) {
        if ($file['path'] -ceq 'world.tsv') {
            return [string][System.Text.Encoding]::UTF8.GetString([Convert]::FromBase64String([string]$file['data']))
        }
    }
    return ''
}

function Invoke-NodePeople {
    <# .SYNOPSIS A script for people, run twice on stand-ins: what it said goes to Found, what is not as wanted to Wrong. #>
    param([object]$Run, [object]$Step, [System.Collections.ArrayList]$Found, [System.Collections.ArrayList]$Wrong)

    $root = [string]$Step['root']
    $harness = [System.IO.Path]::Combine([string]$Run['folder'], 'people.ps1')
    $script = [System.IO.Path]::Combine([string]$Run['folder'], [string]$Step['script'])
    $named = @('-Script', $script, '-World', "$root\world.tsv", '-Root', "$root\machine", '-Arguments', [string]$Step['arguments'])
    $call = @{
        Program = [string]$Run['program']
        Arguments = @('-NoProfile', '-NonInteractive', '-ExecutionPolicy', 'Bypass', '-File', $harness) + $named
        TimeoutMs = 300000
        Environment = @{ PSModulePath = [string][System.Environment]::GetEnvironmentVariable('PSModulePath', 'Machine') }
    }
    $runs = New-Object System.Collections.ArrayList
    foreach ($count in @(1, 2)) {
        $done = Invoke-NodeProgram @call
        [byte[]]$printed = [byte[]]$done['stdout'] + [byte[]]$done['stderr']
        $look = Invoke-NodePlace -Run $Run -Request ([string]$Step['request'])
        $null = $runs.Add(@{
                exit_code = [int]$done['exit_code']
                said = [System.Text.Encoding]::UTF8.GetString($printed)
                look = $look
                world = (Get-NodeWorld -Look $look)
            })
    }
    $null = $Found.Add(@{ runs = $runs.ToArray() })
    Add-NodePeopleDifference -Step $Step -Runs ($runs.ToArray()) -Wrong $Wrong
}

function Invoke-NodeStep {
    <# .SYNOPSIS Takes one step: what was found goes to Found as it came, what is not as wanted to Wrong. #>
    param(
        [object]$Run,
        [object]$Step,
        [System.Collections.ArrayList]$Found,
        [System.Collections.ArrayList]$Wrong
    )

    if ($Step['do'] -ceq 'run') {
        $done = Invoke-NodeCarried -Run $Run -Step $Step
        $null = $Found.Add($done)
        $Run['printed'] = ''
        $Run['printed'] = Get-NodeAnswerText -Done $done
        $answer = ConvertFrom-NodeJson -Text ([string]$Run['printed'])
        Add-NodeAnswerDifference -Run $Run -Step $Step -Answer $answer -Wrong $Wrong
        return
    }
    if ($Step['do'] -ceq 'people') {
        Invoke-NodePeople -Run $Run -Step $Step -Found $Found -Wrong $Wrong
        return
    }
    $text = Invoke-NodePlace -Run $Run -Request ([string]$Step['request'])
    $null = $Found.Add(@{ stdout = $text })
    if ($Step['do'] -ceq 'place') {
        return
    }
    $look = ConvertFrom-NodeJson -Text $text
    if ($Step['do'] -ceq 'look') {
        Add-NodeTreeDifference -Run $Run -Step $Step -Look $look -Wrong $Wrong
    }
    else {
        Add-NodeStateDifference -Run $Run -Step $Step -Printed ([string]$Run['printed']) -Look $look -Wrong $Wrong
    }
}

function Invoke-NodeCase {
    <# .SYNOPSIS All steps of a case; its entry for the report. A step that cannot be taken ends it, but for the last ones, which clean up. #>
    param([object]$Run, [object]$Case)

    $found = New-Object System.Collections.ArrayList
    $wrong = New-Object System.Collections.ArrayList
    $watch = [System.Diagnostics.Stopwatch]::StartNew()
    $Run['printed'] = ''
    foreach ($part in @('main', 'last')) {
        try {
            foreach ($step in (Get-NodeArgumentList -Map $Case -Name $part)) {
                Invoke-NodeStep -Run $Run -Step $step -Found $found -Wrong $wrong
            }
        }
        catch {
            $null = $wrong.Add("a step could not be taken: $(Get-NodeErrorText -Record $_)")
        }
        # What the checker replays: the steps that were taken before the clean-up began.
        $null = $found.Add(@{ part = $part })
    }
    $verdict = 'passed'
    if ($wrong.Count -gt 0) {
        $verdict = 'failed'
    }
    return @{
        kind = 'case'; shell = [string]$Run['name']; id = [string]$Case['id']; verdict = $verdict; why = $wrong.ToArray()
        ms = [int]$watch.ElapsedMilliseconds; found = $found.ToArray()
        program = [string]$Run['program']
    }
}

function Find-NodeShell {
    <# .SYNOPSIS The PowerShells to run modules with: {name, program}. Only the one that was asked for, if it is there. #>
    param([string]$Asked)

    $list = New-Object System.Collections.ArrayList
    $system = [System.Environment]::GetFolderPath('System')
    $programs = [System.Environment]::GetFolderPath('ProgramFiles')
    $candidates = @(
        @{ short = '5.1'; name = 'Windows PowerShell 5.1'; program = "$system\WindowsPowerShell\v1.0\powershell.exe" },
        @{ short = '7'; name = 'PowerShell 7'; program = "$programs\PowerShell\7\pwsh.exe" }
    )
    foreach ($candidate in $candidates) {
        if ($Asked -cne 'all' -and $Asked -cne $candidate['short']) {
            continue
        }
        if ([System.IO.File]::Exists([string]$candidate['program'])) {
            $null = $list.Add($candidate)
        }
        else {
            Write-NodeLine -Text "There is no $($candidate['program']): $($candidate['name']) is left out."
        }
    }
    return , $list.ToArray()
}

function Get-NodeMachineText {
    <# .SYNOPSIS What the machine is, for the first line of the report. #>
    $version = Get-NodeRegistryRaw -Key 'SOFTWARE\Microsoft\Windows NT\CurrentVersion' -Name 'ProductName' -Default 'unknown'
    $build = Get-NodeRegistryRaw -Key 'SOFTWARE\Microsoft\Windows NT\CurrentVersion' -Name 'CurrentBuild' -Default '0'
    $revision = Get-NodeRegistryRaw -Key 'SOFTWARE\Microsoft\Windows NT\CurrentVersion' -Name 'UBR' -Default '0'
    $culture = [System.Globalization.CultureInfo]::CurrentUICulture.Name
    return "$version, build $build.$revision, script on PowerShell $($PSVersionTable.PSVersion), culture $culture"
}

function Get-NodeDefenderText {
    <#
    .SYNOPSIS
    What Defender is here, for the first line of the report: it decides what AMSI and the attack-surface rules do with the scripts.

    .NOTES
    The service's state, and of the class behind Get-MpComputerStatus what it says. Source: Microsoft, MSFT_MpComputerStatus.
    #>
    $service = [string](Get-NodeServiceState -Name 'WinDefend')
    if ($service -cne 'running') {
        return "Defender: its service is $service"
    }
    try {
        $status = @(Get-CimInstance -Namespace 'root/Microsoft/Windows/Defender' -ClassName 'MSFT_MpComputerStatus' -OperationTimeoutSec 10 -ErrorAction Stop)[0]
        $said = New-Object System.Collections.ArrayList
        foreach ($name in @('AMRunningMode', 'RealTimeProtectionEnabled', 'IsTamperProtected', 'AntivirusSignatureVersion')) {
            if ($null -ne $status.PSObject.Properties[$name]) {
                $null = $said.Add("$name $($status.PSObject.Properties[$name].Value)")
            }
        }
        return "Defender: $($said.ToArray() -join ', ')"
    }
    catch {
        return "Defender: its service runs, and says nothing of itself: $(Get-NodeErrorText -Record $_)"
    }
}

function Get-NodeLackList {
    <# .SYNOPSIS What of the cases' needs this Windows cannot show: on Wine, and where the task scheduler is off. #>
    $list = New-Object System.Collections.ArrayList
    if (Test-NodeRegistryKey -Key 'SOFTWARE\Wine') {
        $null = $list.AddRange(@('services', 'task', 'links', 'not-on-wine', 'letter-case'))
    }
    elseif ([int](Get-NodeRegistryRaw -Key 'SYSTEM\CurrentControlSet\Services\Schedule' -Name 'Start' -Default 4) -eq 4) {
        $null = $list.Add('task')
    }
    return , $list.ToArray()
}

function Get-NodeStageList {
    <# .SYNOPSIS The stages that were asked for; throws a sentence about a word that is none. #>
    param([string]$Asked)

    $known = @('look', 'contract', 'people', 'containerd')
    $list = New-Object System.Collections.ArrayList
    foreach ($word in @($Asked -split '[,\s]+')) {
        $name = $word.ToLowerInvariant()
        if ($name -ceq 'all') {
            return , $known
        }
        if ($known -cnotcontains $name) {
            throw "There is no stage '$name'; there are look, contract, people, containerd and all."
        }
        $null = $list.Add($name)
    }
    return , $list.ToArray()
}

function Start-NodeDrive {
    <# .SYNOPSIS A second drive for the cases that move between two: a folder by subst.exe, named as `X:`; empty where there is none. #>
    param([string]$Folder)

    $used = New-NodeMap
    foreach ($each in [System.IO.DriveInfo]::GetDrives()) {
        $used[([string]$each.Name).Substring(0, 1).ToUpperInvariant()] = $true
    }
    $drive = ''
    foreach ($letter in @('T', 'U', 'V', 'W', 'X', 'Y')) {
        if (-not $used.ContainsKey($letter)) {
            $drive = $letter + ':'
        }
    }
    if ($drive -eq '') {
        return ''
    }
    try {
        $null = [System.IO.Directory]::CreateDirectory($Folder)
        $done = Invoke-NodeProgram -Program ([System.Environment]::GetFolderPath('System') + '\subst.exe') -Arguments @($drive, $Folder)
        if ([int]$done['exit_code'] -eq 0) {
            return $drive
        }
    }
    catch {
        # There is no such program: then there is no such drive.
        $null = $_
    }
    return ''
}

function Stop-NodeDrive {
    <# .SYNOPSIS Takes the drive away, and its folder. #>
    param([string]$Drive, [string]$Folder)

    if ($Drive -ne '') {
        $null = Invoke-NodeProgram -Program ([System.Environment]::GetFolderPath('System') + '\subst.exe') -Arguments @($Drive, '/D')
        try {
            [System.IO.Directory]::Delete($Folder, $true)
        }
        catch {
            # Somebody looks into it: it is emptied by the next run.
            $null = $_
        }
    }
}

function Start-NodeWeb {
    <#
    .SYNOPSIS
    The web server of the cases on a free port of 127.0.0.1, in a runspace of its own: {listener, shell, port}.
    #>
    param([string]$Folder)

    $listener = New-Object System.Net.Sockets.TcpListener([System.Net.IPAddress]::Loopback, 0)
    $null = $listener.Start()
    $rows = New-Object System.Collections.ArrayList
    foreach ($row in (ConvertFrom-NodeJson -Text (Read-NodeBeside -Folder $Folder -Name 'web.json'))) {
        $null = $rows.Add(@{
                start = [string]$row['start']
                header = [string]$row['header']
                lacks = [string]$row['lacks']
                pause_ms = [int]$row['pause_ms']
                data = [byte[]][Convert]::FromBase64String([string]$row['data'])
            })
    }
    $shell = [System.Management.Automation.PowerShell]::Create()
    $null = $shell.AddScript((Read-NodeBeside -Folder $Folder -Name 'web.ps1'))
    $null = $shell.AddArgument($listener)
    $null = $shell.AddArgument($rows.ToArray())
    $null = $shell.BeginInvoke()
    return @{ listener = $listener; shell = $shell; port = [int]$listener.LocalEndpoint.Port }
}

function Invoke-NodeStageList {
    <# .SYNOPSIS Every case of the stages with one PowerShell; how many passed, failed and were skipped. #>
    param([object]$Run, [string[]]$Stages, [string]$Fits, [System.IO.StreamWriter]$Writer)

    $count = @{ passed = 0; failed = 0; skipped = 0 }
    foreach ($line in (Read-NodeBeside -Folder ([string]$Run['folder']) -Name 'cases.jsonl').Split([char]10)) {
        if ($line.Trim() -eq '') {
            continue
        }
        $case = ConvertFrom-NodeJson -Text $line
        $id = [string]$case['id']
        if ($Stages -cnotcontains [string]$case['stage'] -or ($Fits -ne '' -and $id -notmatch $Fits)) {
            continue
        }
        $skip = [string]$case['skip']
        if ($case['once'] -and -not [bool]$Run['first']) {
            $skip = 'it runs once only'
        }
        $missing = @((Get-NodeArgumentList -Map $case -Name 'needs') | Where-Object { $Run['lacks'] -ccontains [string]$_ })
        if ($skip -eq '' -and $missing.Length -gt 0) {
            $skip = "this Windows does not show $($missing -join ', ')"
        }
        if ($skip -ne '') {
            $count['skipped']++
            Add-NodeReport -Writer $Writer -Entry @{ kind = 'case'; shell = [string]$Run['name']; id = $id; verdict = 'skipped'; why = @($skip) }
            continue
        }
        $entry = Invoke-NodeCase -Run $Run -Case $case
        $count[[string]$entry['verdict']]++
        Add-NodeReport -Writer $Writer -Entry $entry
        Write-NodeLine -Text "$($entry['verdict'])  $id  ($($entry['ms']) ms)"
        foreach ($sentence in @($entry['why'])) {
            Write-NodeLine -Text "        $sentence"
        }
    }
    return $count
}

$folder = [string]$PSScriptRoot
if ([System.Environment]::Is64BitOperatingSystem -and -not [System.Environment]::Is64BitProcess) {
    throw 'This is a 32-bit PowerShell on a 64-bit Windows, which sees another System32 and another registry; use the 64-bit one.'
}
$identity = [System.Security.Principal.WindowsIdentity]::GetCurrent()
$principal = New-Object System.Security.Principal.WindowsPrincipal($identity)
if (-not $principal.IsInRole([System.Security.Principal.WindowsBuiltInRole]::Administrator)) {
    throw 'This needs an administrator: open PowerShell by "Run as administrator" and start it again.'
}
$stages = Get-NodeStageList -Asked $Stage
$shells = Find-NodeShell -Asked $Shell
if ($shells.Length -eq 0) {
    throw "No PowerShell was found for -Shell $Shell; there are all, 5.1 and 7."
}
try {
    if ([System.Console]::InputEncoding.CodePage -eq 65001) {
        # .NET Framework would write a byte order mark in front of what the modules read.
        [System.Console]::InputEncoding = New-Object System.Text.UTF8Encoding($false)
    }
}
catch {
    # There is no console, and so none with UTF-8.
    $null = $_
}
if ($ReportPath -eq '') {
    $ReportPath = [System.IO.Path]::Combine([System.IO.Path]::GetDirectoryName($folder), "winkube-report-$([System.Environment]::MachineName).jsonl")
}
$ReportPath = [System.IO.Path]::GetFullPath($ReportPath)
$writer = New-Object System.IO.StreamWriter($ReportPath, $false, (New-Object System.Text.UTF8Encoding($false)))
$web = Start-NodeWeb -Folder $folder
$total = @{ passed = 0; failed = 0; skipped = 0 }
$lacks = Get-NodeLackList
$second = 'C:\winkube-contract\drive'
$drive = Start-NodeDrive -Folder $second
if ($drive -eq '') {
    $lacks = [object[]]@($lacks + 'drive')
}
try {
    $about = ConvertFrom-NodeJson -Text (Read-NodeBeside -Folder $folder -Name 'about.json')
    Add-NodeReport -Writer $writer -Entry @{
        kind = 'start'; at = (Get-NodeTime); about = $about; machine = (Get-NodeMachineText); web_port = $web['port']; lacks = $lacks
        defender = (Get-NodeDefenderText); drive = $drive
    }
    Write-NodeLine -Text (Get-NodeMachineText)
    Write-NodeLine -Text (Get-NodeDefenderText)
    if ($lacks.Length -gt 0) {
        Write-NodeLine -Text "This Windows does not show $($lacks -join ', '): cases that need these are skipped."
    }
    $payloads = New-NodeMap
    foreach ($name in @('node_probe', 'node_apply', 'node_apply-check')) {
        $payloads[$name] = Read-NodeBeside -Folder $folder -Name "$name.payload"
    }
    $first = $true
    foreach ($found in $shells) {
        $run = @{
            name = $found['name']; program = $found['program']; folder = $folder; web_port = $web['port']; payloads = $payloads; first = $first
            lacks = $lacks; drive = $drive
            bootstrap = (Read-NodeBeside -Folder $folder -Name 'bootstrap.txt').Trim()
            runner = (Read-NodeBeside -Folder $folder -Name 'runner.json').Trim()
            place = [ScriptBlock]::Create((Read-NodeBeside -Folder $folder -Name 'place.ps1'))
            printed = ''
        }
        $first = $false
        Write-NodeLine -Text "== $($found['name'])"
        $count = Invoke-NodeStageList -Run $run -Stages $stages -Fits $Only -Writer $writer
        foreach ($verdict in @('passed', 'failed', 'skipped')) {
            $total[$verdict] = [int]$total[$verdict] + [int]$count[$verdict]
        }
        Write-NodeLine -Text "$($found['name']): $($count['passed']) passed, $($count['failed']) failed, $($count['skipped']) skipped"
    }
    Add-NodeReport -Writer $writer -Entry @{ kind = 'end'; at = (Get-NodeTime); count = $total }
}
finally {
    $writer.Dispose()
    $null = $web['listener'].Stop()
    Stop-NodeDrive -Drive $drive -Folder $second
}
Write-NodeLine -Text "Report: $ReportPath"
Write-NodeLine -Text "$($total['passed']) passed, $($total['failed']) failed, $($total['skipped']) skipped"
if ([int]$total['failed'] -gt 0) {
    exit 1
}
exit 0
