# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Files and folders: what is at a path, its hash, and replacing it in one step.

function Join-NodePath {
    param([string]$Folder, [string]$Name)

    return [string][System.IO.Path]::Combine($Folder, $Name)
}

function Test-NodeRoot {
    <# .SYNOPSIS Whether a path names a drive's root, however it is written: C:\, C:/, C:\., C:\a\.. #>
    param([string]$Path)

    $separators = [char[]]@([char]47, [char]92)
    $full = [System.IO.Path]::GetFullPath($Path)
    return [bool]($full.TrimEnd($separators) -eq [System.IO.Path]::GetPathRoot($full).TrimEnd($separators))
}

function Get-NodeLongPath {
    <#
    .SYNOPSIS
    A whole path as Windows takes it whatever its length: \\?\ in front, from 240 characters on. Length is that of the longer one where two
    have to be written alike: .NET moves a folder only between paths of one root, to which the mark belongs.

    .NOTES
    Windows ends names without that mark at 260 characters, 248 for a folder, unless the machine allows more, and says of a longer one
    that it does not exist. .NET puts the mark there by itself, .NET Framework (Windows PowerShell 5.1) does not.
    Source: Microsoft, "Maximum Path Length Limitation"; dotnet/runtime PathInternal.Windows.cs, EnsureExtendedPrefixIfNeeded; that
    Windows PowerShell takes the mark: PowerShell/PowerShell#13168.
    #>
    param([string]$Path, [int]$Length = 0)

    # Behind the mark Windows takes each letter as it is: no / and no dots.
    $isShort = $Path.Length -lt 240 -and $Length -lt 240
    if (-not (Test-NodeWindows) -or $isShort -or $Path -notmatch '^[A-Za-z]:\\' -or $Path -match '/|\\\.{1,2}(\\|$)') {
        return $Path
    }
    return '\\?\' + $Path
}

function Get-NodeFileKind {
    <# .SYNOPSIS 'absent', 'file', 'directory' or 'link' (any reparse point; what it points to is not looked at). #>
    param([string]$Path)

    try {
        $attributes = [System.IO.File]::GetAttributes($Path)
    }
    catch {
        $failure = $_
        $exception = Get-NodeException -Record $failure
        if ($exception -is [System.IO.FileNotFoundException] -or $exception -is [System.IO.DirectoryNotFoundException]) {
            return 'absent'
        }
        throw $failure
    }
    if (($attributes -band [System.IO.FileAttributes]::ReparsePoint) -ne 0) {
        return 'link'
    }
    if (($attributes -band [System.IO.FileAttributes]::Directory) -ne 0) {
        return 'directory'
    }
    return 'file'
}

function Get-NodeStreamHash {
    <# .SYNOPSIS The sha256 of what a stream holds from here on, lower-case hex. #>
    param([System.IO.Stream]$Stream)

    # Windows Server with the FIPS policy refuses the managed class that SHA256.Create gives on .NET Framework.
    if ($PSVersionTable.PSVersion.Major -ge 6) {
        $sha = [System.Security.Cryptography.SHA256]::Create()
    }
    else {
        $sha = New-Object System.Security.Cryptography.SHA256CryptoServiceProvider
    }
    try {
        [byte[]]$digest = $sha.ComputeHash($Stream)
        return [string][System.BitConverter]::ToString($digest).Replace('-', '').ToLowerInvariant()
    }
    finally {
        $sha.Dispose()
    }
}

function Get-NodeTextHash {
    <# .SYNOPSIS The sha256 of a text as UTF-8, lower-case hex. #>
    param([string]$Text)

    $encoding = New-Object System.Text.UTF8Encoding($false)
    $source = New-Object System.IO.MemoryStream(, $encoding.GetBytes($Text))
    try {
        return Get-NodeStreamHash -Stream $source
    }
    finally {
        $source.Dispose()
    }
}

function Open-NodeFile {
    <# .SYNOPSIS A stream that reads a file, also while others write, rename or delete it. #>
    param([string]$Path, [int]$Buffer = 4096)

    return New-Object System.IO.FileStream($Path, [System.IO.FileMode]::Open, [System.IO.FileAccess]::Read,
        [System.IO.FileShare]'ReadWrite, Delete', $Buffer)
}

function Get-NodeFileHash {
    <# .SYNOPSIS The sha256 of a file, lower-case hex. #>
    param([string]$Path)

    # Hashing reads 4096 bytes at a time.
    $stream = Open-NodeFile -Path $Path -Buffer 1048576
    try {
        return Get-NodeStreamHash -Stream $stream
    }
    finally {
        $stream.Dispose()
    }
}

function New-NodeFolder {
    <#
    .SYNOPSIS
    Makes a folder and its missing parents; never through a file or a reparse point. The SDDL is for the folder itself.
    #>
    param([string]$Path, [string]$Sddl = '')

    $full = [System.IO.Path]::GetFullPath($Path)
    if ($full.Length -gt 3) {
        $full = $full.TrimEnd([System.IO.Path]::DirectorySeparatorChar)
    }
    $chain = New-Object System.Collections.ArrayList
    $current = $full
    while (-not [string]::IsNullOrEmpty($current)) {
        $chain.Insert(0, $current)
        $current = [System.IO.Path]::GetDirectoryName($current)
    }
    foreach ($folder in $chain.ToArray()) {
        $kind = Get-NodeFileKind -Path $folder
        # The root of a drive is a folder, also where it carries the reparse attribute: a volume that is mounted, drive Z: of Wine.
        if ($kind -ceq 'link' -and (Test-NodeRoot -Path $folder)) {
            continue
        }
        if ($kind -ceq 'link') {
            throw "$folder is a link or another reparse point; folders are not made through one. Remove it or choose another path."
        }
        if ($kind -ceq 'file') {
            throw "$folder is a file, a folder is wanted there. Remove it or choose another path."
        }
        if ($kind -ceq 'absent') {
            if ($folder -ceq $full -and $Sddl -match 'D:' -and (Test-NodeWindows)) {
                # Made with its DACL, so that nobody can put anything into it before; the owner follows below.
                $security = ConvertTo-NodeSecurity -Sddl $Sddl -IsFolder $true -Sections (Get-NodeSectionButOwner -Sddl $Sddl)
                if ($PSVersionTable.PSVersion.Major -ge 6) {
                    $null = [System.IO.FileSystemAclExtensions]::CreateDirectory($security, $folder)
                }
                else {
                    $null = [System.IO.Directory]::CreateDirectory([string]$folder, [System.Security.AccessControl.DirectorySecurity]$security)
                }
            }
            else {
                $null = [System.IO.Directory]::CreateDirectory($folder)
            }
        }
    }
    if ($Sddl -ne '') {
        Set-NodeSddl -Path $full -Sddl $Sddl
    }
}

function Invoke-NodeRetry {
    <#
    .SYNOPSIS
    Runs a block; what virus scanners and others hold for a moment is tried again for 5 s or WaitMs, a full disk never.

    .NOTES
    32, 33: sharing. 5: access denied. 145: a folder whose files are deleted but still open somewhere. 1175, 1176, 1177: ReplaceFile
    could not remove or rename what is held. After 1177 nothing is at the destination; Move-NodeFileIn then moves.
    #>
    param([scriptblock]$Block, [int]$WaitMs = 5000)

    $watch = [System.Diagnostics.Stopwatch]::StartNew()
    while ($true) {
        try {
            $null = $Block.Invoke()
            return
        }
        catch {
            $failure = Get-NodeException -Record $_
            $code = Get-NodeErrorCode -Record $failure
            if (@(5, 32, 33, 145, 1175, 1176, 1177) -notcontains $code -or $watch.ElapsedMilliseconds -ge $WaitMs) {
                throw $failure
            }
        }
        [System.Threading.Thread]::Sleep(200)
    }
}

function Clear-NodeReadOnly {
    <# .SYNOPSIS Takes the attribute away that keeps a file from being replaced and anything from being deleted (error 5). #>
    param([string]$Path)

    $attributes = [System.IO.File]::GetAttributes($Path)
    if (($attributes -band [System.IO.FileAttributes]::ReadOnly) -ne 0) {
        [System.IO.File]::SetAttributes($Path, ($attributes -bxor [System.IO.FileAttributes]::ReadOnly))
    }
}

function Remove-NodeFileQuietly {
    <# .SYNOPSIS Deletes a leftover of our own (.winkube-new, .part) if it can; a failure is no error. #>
    param([string]$Path)

    try {
        if ([System.IO.File]::Exists($Path)) {
            [System.IO.File]::Delete($Path)
        }
    }
    catch {
        $null = $_
    }
}

function Clear-NodeReplaced {
    <#
    .SYNOPSIS
    What replacing a file may have left: the old content gets its name back if nothing has it, else it goes.
    #>
    param([string]$Path)

    $old = $Path + '.winkube-old'
    if (-not [System.IO.File]::Exists($old)) {
        return
    }
    if ([System.IO.File]::Exists($Path)) {
        Remove-NodeFileQuietly -Path $old
    }
    else {
        $back = { [System.IO.File]::Move($old, $Path) }
        Invoke-NodeRetry -Block $back
    }
}

function Move-NodeFileIn {
    <#
    .SYNOPSIS
    Renames a finished file to its real name, replacing what is there (which hands its ACL on), read-only or not.

    .NOTES
    ReplaceFile that is given no name for the old file can fail half-way and leave nothing under the real name. With one, the old content
    is always there, under one of the two. Source: Microsoft, ReplaceFile, ERROR_UNABLE_TO_MOVE_REPLACEMENT and _2.
    #>
    param([string]$Source, [string]$Path)

    Clear-NodeReplaced -Path $Path
    $old = $Path + '.winkube-old'
    $block = {
        if ([System.IO.File]::Exists($Path)) {
            Clear-NodeReadOnly -Path $Path
            [System.IO.File]::Replace($Source, $Path, $old)
        }
        else {
            [System.IO.File]::Move($Source, $Path)
        }
    }
    try {
        Invoke-NodeRetry -Block $block
    }
    catch {
        $failure = $_
        try {
            Clear-NodeReplaced -Path $Path
        }
        catch {
            # The failure before it is the one to be told; the undo and the next replacement clear up again.
            $null = $_
        }
        throw $failure
    }
    Clear-NodeReplaced -Path $Path
}

function Close-NodeFileQuietly {
    <# .SYNOPSIS Closes a file that is given up: what a full disk did not take is written again by Dispose, which throws then. #>
    param([System.IO.FileStream]$File)

    try {
        $File.Dispose()
    }
    catch {
        $null = $_
    }
}

function Write-NodeFile {
    <# .SYNOPSIS Bytes to a file in one step: a new file beside it, flushed to the disk, renamed in. #>
    param([string]$Path, [byte[]]$Bytes, [string]$Sddl = '')

    $fresh = $Path + '.winkube-new'
    Remove-NodeFileQuietly -Path $fresh
    $replaces = [System.IO.File]::Exists($Path)
    $stream = $null
    try {
        if ($Sddl -ne '') {
            [System.IO.File]::Create($fresh).Dispose()
            Set-NodeSddl -Path $fresh -Sddl $Sddl
            if ($replaces) {
                # Replacing keeps the ACL of the old file: it must be right before the new content is under its name.
                Set-NodeSddl -Path $Path -Sddl $Sddl
            }
        }
        # An empty file that is there keeps its ACL.
        $stream = New-Object System.IO.FileStream($fresh, [System.IO.FileMode]::Create, [System.IO.FileAccess]::Write,
            [System.IO.FileShare]::None)
        $stream.Write($Bytes, 0, $Bytes.Length)
        $stream.Flush($true)
        $stream.Dispose()
        $stream = $null
        Move-NodeFileIn -Source $fresh -Path $Path
        if ($Sddl -ne '') {
            Set-NodeSddl -Path $Path -Sddl $Sddl
        }
    }
    catch {
        $failure = $_
        if ($null -ne $stream) {
            Close-NodeFileQuietly -File $stream
        }
        Remove-NodeFileQuietly -Path $fresh
        throw $failure
    }
}

function Read-NodeText {
    <# .SYNOPSIS The text of a UTF-8 file that others may be writing to. #>
    param([string]$Path)

    $stream = Open-NodeFile -Path $Path
    try {
        $reader = New-Object System.IO.StreamReader($stream, (New-Object System.Text.UTF8Encoding($false)))
        return [string]$reader.ReadToEnd()
    }
    finally {
        $stream.Dispose()
    }
}

function Read-NodeBytes {
    <# .SYNOPSIS The bytes of a file, also while others have it open. #>
    param([string]$Path)

    $stream = Open-NodeFile -Path $Path
    $memory = New-Object System.IO.MemoryStream
    try {
        $stream.CopyTo($memory)
        return , $memory.ToArray()
    }
    finally {
        $stream.Dispose()
        $memory.Dispose()
    }
}

function Read-NodePart {
    <# .SYNOPSIS At most so many bytes of a file, the first or the last ones, also while others have it open. #>
    param([string]$Path, [int]$Count, [bool]$FromEnd = $false)

    $stream = Open-NodeFile -Path $Path
    try {
        $wanted = [int][System.Math]::Min([int64]$Count, [int64]$stream.Length)
        if ($FromEnd) {
            $null = $stream.Seek($stream.Length - $wanted, [System.IO.SeekOrigin]::Begin)
        }
        # Reads until it has them all or the file ends, and returns no more than it has read.
        $reader = New-Object System.IO.BinaryReader($stream)
        return , $reader.ReadBytes($wanted)
    }
    finally {
        $stream.Dispose()
    }
}

function Set-NodeTls {
    <# .SYNOPSIS TLS 1.2 for Windows PowerShell, whose .NET may still offer no more than TLS 1.0. #>
    if ($PSVersionTable.PSVersion.Major -lt 6) {
        $present = [int][System.Net.ServicePointManager]::SecurityProtocol
        # 0 leaves the choice to Windows, which is right on every supported Server.
        if ($present -ne 0) {
            [System.Net.ServicePointManager]::SecurityProtocol = $present -bor 3072
        }
    }
}

function Write-NodeJsonFile {
    param([string]$Path, [object]$Value)

    $encoding = New-Object System.Text.UTF8Encoding($false)
    [byte[]]$bytes = $encoding.GetBytes((ConvertTo-NodeJson -Value $Value))
    Write-NodeFile -Path $Path -Bytes $bytes
}
