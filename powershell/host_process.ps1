# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# What the connection plugin host_process runs in its pod (docs/protocol.md, section 8). The API server that it speaks
# with may be unable to close standard input: nothing here waits for its end. It is started with -InputFormat None,
# without which PowerShell itself would read all of it. Standard input begins with this text, since it is too long for a
# command line, which hcsshim hands to `cmd /c`.

Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'
# What is matched and sorted depends on no language.
[System.Threading.Thread]::CurrentThread.CurrentCulture = [System.Globalization.CultureInfo]::InvariantCulture
$ProgressPreference = 'SilentlyContinue'
try {
    # Windows PowerShell begins the input of every program it starts with the mark of this encoding, if that has one.
    [System.Console]::InputEncoding = New-Object System.Text.UTF8Encoding($false)
}
catch {
    # There is no console.
    $null = $_
}

function Read-NodeInput {
    <# .SYNOPSIS At most so many bytes of standard input into the buffer; how many came, 0 at its end. #>
    param([System.IO.Stream]$Source, [byte[]]$Buffer, [int]$Count)

    $reading = $Source.ReadAsync($Buffer, 0, $Count)
    try {
        $came = $reading.Wait(120000)
    }
    catch {
        # An input that breaks has ended.
        return 0
    }
    if (-not $came) {
        throw 'Standard input stayed open for 120 s and brought nothing.'
    }
    return [int]$reading.Result
}

function Read-NodeOrder {
    <# .SYNOPSIS The four fields of the line that standard input begins with: what to do, how many bytes follow, and two texts. #>
    param([System.IO.Stream]$Source)

    $line = New-Object 'System.Collections.Generic.List[byte]'
    [byte[]]$one = New-Object 'byte[]' 1
    while ($true) {
        if ((Read-NodeInput -Source $Source -Buffer $one -Count 1) -le 0) {
            throw 'Standard input ended before the line that says what to do.'
        }
        if ($one[0] -eq 10) {
            break
        }
        $null = $line.Add([byte]$one[0])
    }
    [string[]]$fields = [System.Text.Encoding]::UTF8.GetString($line.ToArray()).Split([char]9)
    if ($fields.Length -ne 4) {
        throw 'The line that says what to do has not four fields.'
    }
    return @{ verb = $fields[0]; bytes = [long]$fields[1]; path = $fields[2]; arguments = $fields[3] }
}

function Copy-NodeBytes {
    <# .SYNOPSIS So many bytes from one stream to another. #>
    param([System.IO.Stream]$Source, [System.IO.Stream]$Target, [long]$Count)

    [byte[]]$buffer = New-Object 'byte[]' 65536
    $left = $Count
    while ($left -gt 0) {
        # An IOException from here is the target's alone.
        $got = Read-NodeInput -Source $Source -Buffer $buffer -Count ([int][System.Math]::Min([long]$left, [long]$buffer.Length))
        if ($got -le 0) {
            throw "Standard input ended $left bytes too early."
        }
        $Target.Write($buffer, 0, $got)
        $left -= $got
    }
}

function Stop-NodeProgram {
    <# .SYNOPSIS Ends a program that still waits for its input, and so has begun nothing. #>
    param([System.Diagnostics.Process]$Process)

    try {
        $Process.Kill()
    }
    catch {
        # It has ended by itself.
        $null = $_
    }
}

function Invoke-NodeProgram {
    <# .SYNOPSIS A program that gets so many bytes on its standard input, and its end. Returns its exit code. #>
    param([string]$Program, [string]$Arguments, [System.IO.Stream]$Source, [long]$Count)

    # Not as New-Object's arguments, which are in the log of who logs modules: a command may have a secret.
    $start = New-Object System.Diagnostics.ProcessStartInfo
    $start.FileName = $Program
    $start.Arguments = $Arguments
    $start.UseShellExecute = $false
    $start.CreateNoWindow = $true
    $start.RedirectStandardInput = $true
    $start.RedirectStandardOutput = $true
    $start.RedirectStandardError = $true
    $process = [System.Diagnostics.Process]::Start($start)
    $said = $process.StandardOutput.BaseStream.CopyToAsync([System.Console]::OpenStandardOutput())
    $failed = $process.StandardError.BaseStream.CopyToAsync([System.Console]::OpenStandardError())
    try {
        Copy-NodeBytes -Source $Source -Target $process.StandardInput.BaseStream -Count $Count
        $process.StandardInput.Close()
    }
    catch {
        $failure = $_
        # A program may end, or close its input, without having read everything: its exit code says what became of it.
        if ((Get-NodeException -Record $failure) -isnot [System.IO.IOException]) {
            # Else it would take a part of its input for all of it as soon as this process ends.
            Stop-NodeProgram -Process $process
            throw $failure
        }
    }
    $null = $process.WaitForExit()
    # What it has started may hold the two streams open: what it has written itself is there at once.
    $null = [System.Threading.Tasks.Task]::WaitAll([System.Threading.Tasks.Task[]]@($said, $failed), 5000)
    return $process.ExitCode
}

function Write-NodeFileFrom {
    <# .SYNOPSIS So many bytes become the file: beside it first, so that an input which is cut leaves the old one. #>
    param([string]$Path, [System.IO.Stream]$Source, [long]$Count)

    $fresh = $Path + '.winkube-new'
    Remove-NodeFileQuietly -Path $fresh
    $file = New-Object System.IO.FileStream($fresh, [System.IO.FileMode]::Create, [System.IO.FileAccess]::Write,
        [System.IO.FileShare]::None)
    try {
        Copy-NodeBytes -Source $Source -Target $file -Count $Count
        $file.Flush($true)
        $file.Dispose()
        Move-NodeFileIn -Source $fresh -Path $Path
    }
    catch {
        $failure = $_
        Close-NodeFileQuietly -File $file
        Remove-NodeFileQuietly -Path $fresh
        throw $failure
    }
}

function Read-NodeFileTo {
    <# .SYNOPSIS A file's bytes, to standard output. #>
    param([string]$Path)

    $file = Open-NodeFile -Path $Path
    try {
        $target = [System.Console]::OpenStandardOutput()
        $file.CopyTo($target)
        $target.Flush()
    }
    finally {
        $file.Dispose()
    }
}

$code = 0
try {
    $source = [System.Console]::OpenStandardInput()
    $order = Read-NodeOrder -Source $source
    $verb = [string]$order['verb']
    $path = [string]$order['path']
    $count = [long]$order['bytes']
    if ($verb -ceq 'run') {
        $code = Invoke-NodeProgram -Program $path -Arguments $order['arguments'] -Source $source -Count $count
    }
    elseif ($verb -ceq 'put') {
        Write-NodeFileFrom -Path $path -Source $source -Count $count
        [System.Console]::Out.WriteLine((Get-NodeFileHash -Path $path))
    }
    elseif ($verb -ceq 'fetch') {
        Read-NodeFileTo -Path $path
    }
    else {
        throw "There is nothing called '$verb' here."
    }
}
catch {
    # In UTF-8: the console's own encoding is the machine's, which only the machine knows.
    [byte[]]$text = [System.Text.Encoding]::UTF8.GetBytes((Get-NodeErrorText -Record $_) + "`r`n")
    [System.Console]::OpenStandardError().Write($text, 0, $text.Length)
    $code = 1
}
$null = [System.Environment]::Exit($code)
