# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Logs of services that nobody else keeps small: logs.json of the state folder (docs/protocol.md, section 7).

function Remove-NodeOldLog {
    <# .SYNOPSIS Of one log the files that were put aside: those that are too old go, and all but the newest. #>
    param([object]$Log, [string]$Folder, [string]$Stem, [string]$Ending)

    $pattern = '^' + [regex]::Escape($Stem) + '-\d{8}T\d{6}(\.\d{3})?' + [regex]::Escape($Ending) + '$'
    $names = New-Object System.Collections.ArrayList
    foreach ($path in [System.IO.Directory]::GetFiles($Folder)) {
        $name = [System.IO.Path]::GetFileName($path)
        if ($name -match $pattern) {
            $null = $names.Add($name)
        }
    }
    # The names hold the time, so their order is that of time.
    [string[]]$sorted = $names.ToArray()
    [System.Array]::Sort($sorted, [System.StringComparer]::OrdinalIgnoreCase)
    $limit = [datetime]::UtcNow.AddDays(-[double]$Log['keep_days'])
    $over = $sorted.Length - [int]$Log['keep_files']
    for ($n = 0; $n -lt $sorted.Length; $n++) {
        $path = Join-NodePath -Folder $Folder -Name $sorted[$n]
        try {
            if ($n -lt $over -or [System.IO.File]::GetLastWriteTimeUtc($path) -lt $limit) {
                [System.IO.File]::Delete($path)
            }
        }
        catch {
            # Somebody reads it, or it is read-only: the others go all the same.
            $null = $_
        }
    }
}

function Copy-NodeLogEnd {
    <# .SYNOPSIS The last bytes of an open log as a new file. Without room on the disk there is none, and no error. #>
    param([System.IO.Stream]$Stream, [int64]$Count, [string]$Path)

    $made = $false
    try {
        $target = New-Object System.IO.FileStream($Path, 'CreateNew', 'Write')
        $made = $true
        try {
            $null = $Stream.Seek(-$Count, 'End')
            $Stream.CopyTo($target)
        }
        finally {
            $target.Dispose()
        }
    }
    catch {
        $failure = $_
        # Not one that was there before.
        if ($made) {
            [System.IO.File]::Delete($Path)
        }
        if ((Get-NodeErrorCode -Record $failure) -ne 112) {
            throw $failure
        }
    }
}

function Clear-NodeLog {
    <#
    .SYNOPSIS
    Empties a log that has grown too large, its end put aside before. The program keeps the file open, lets others write to it and
    not rename it, and goes on at its new end (Go's os.OpenFile with O_APPEND: FILE_SHARE_READ and FILE_SHARE_WRITE, FILE_APPEND_DATA).
    #>
    param([object]$Log, [string]$Folder, [string]$Stem, [string]$Ending)

    $path = [string]$Log['path']
    $most = [int64]$Log['max_bytes']
    if ((Get-NodeFileKind -Path $path) -cne 'file' -or (New-Object System.IO.FileInfo($path)).Length -le $most) {
        return
    }
    $culture = [System.Globalization.CultureInfo]::InvariantCulture
    $aside = Join-NodePath -Folder $Folder -Name ($Stem + '-' + [datetime]::UtcNow.ToString('yyyyMMddTHHmmss', $culture) + $Ending)
    $stream = New-Object System.IO.FileStream($path, 'Open', 'ReadWrite', 'ReadWrite')
    try {
        Copy-NodeLogEnd -Stream $stream -Count $most -Path $aside
        $null = $stream.SetLength(0)
    }
    finally {
        $stream.Dispose()
    }
}

function Invoke-NodeLogLimit {
    <# .SYNOPSIS Keeps each log of logs.json within its limits. What cannot be done now is done in an hour. #>
    param([string]$StateDir)

    $document = Read-NodeDocument -Path (Join-NodePath -Folder $StateDir -Name 'logs.json')
    if ($null -eq $document) {
        return
    }
    foreach ($log in (Get-NodeArgumentList -Map $document -Name 'logs')) {
        try {
            $path = [string]$log['path']
            $place = @{
                Log = $log
                Folder = [System.IO.Path]::GetDirectoryName($path)
                Stem = [System.IO.Path]::GetFileNameWithoutExtension($path)
                Ending = [System.IO.Path]::GetExtension($path)
            }
            if ((Get-NodeFileKind -Path $place['Folder']) -ceq 'directory') {
                if ([bool]$log['empty']) {
                    Clear-NodeLog @place
                }
                Remove-NodeOldLog @place
            }
        }
        catch {
            $null = $_
        }
    }
}
