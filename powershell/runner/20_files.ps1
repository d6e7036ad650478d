# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Files and folders. Each of these looks at what is there first: run a second time it does nothing and succeeds.

function Copy-NodeFile {
    <# .SYNOPSIS Copies the content of a file, flushed to the disk. Not its ACL, not its attributes. #>
    param([string]$Source, [string]$Path)

    $reader = $null
    $writer = $null
    try {
        $reader = Open-NodeFile -Path $Source
        $writer = New-Object System.IO.FileStream($Path, [System.IO.FileMode]::Create, [System.IO.FileAccess]::Write,
            [System.IO.FileShare]::None)
        $reader.CopyTo($writer, 1048576)
        $writer.Flush($true)
    }
    finally {
        if ($null -ne $reader) {
            $reader.Dispose()
        }
        if ($null -ne $writer) {
            $writer.Dispose()
        }
    }
}

function Copy-NodeAccess {
    <#
    .SYNOPSIS
    Gives a file the DACL of another one; what that has inherited is inherited anew at the new place. Not the owner: to set another
    one than oneself takes a privilege that is off.
    #>
    param([string]$Source, [string]$Path)

    if (-not (Test-NodeWindows)) {
        return
    }
    $access = [System.Security.AccessControl.AccessControlSections]::Access
    $security = Get-NodeSecurity -Path $Source -Sections $access
    Set-NodeSddl -Path $Path -Sddl ([string]$security.GetSecurityDescriptorSddlForm($access))
}

function Copy-NodeClosed {
    <# .SYNOPSIS Copies the content of a file into one that only administrators may read: who else may is set when it is whole. #>
    param([string]$Source, [string]$Path)

    # Closed before anything is in it: nobody is to read the content who may not read the source.
    [System.IO.File]::WriteAllBytes($Path, [byte[]]@())
    Set-NodeSddl -Path $Path -Sddl 'D:PAI(A;;FA;;;SY)(A;;FA;;;BA)'
    Copy-NodeFile -Source $Source -Path $Path
}

function Copy-NodeBackup {
    <# .SYNOPSIS Keeps a file under another name, which appears only when the copy is whole. #>
    param([string]$Path, [string]$Backup)

    New-NodeFolder -Path ([System.IO.Path]::GetDirectoryName($Backup))
    $fresh = $Backup + '.winkube-new'
    $block = {
        Copy-NodeFile -Source $Path -Path $fresh
    }
    Invoke-NodeRetry -Block $block
    Copy-NodeAccess -Source $Path -Path $fresh
    Move-NodeFileIn -Source $fresh -Path $Backup
}

function Test-NodeSameContent {
    param([string]$Path, [byte[]]$Bytes)

    $item = New-Object System.IO.FileInfo($Path)
    if ($item.Length -ne $Bytes.Length) {
        return $false
    }
    $box = @{ text = '' }
    $block = {
        $box['text'] = [System.Convert]::ToBase64String((Read-NodeBytes -Path $Path))
    }
    Invoke-NodeRetry -Block $block
    return [bool]($box['text'] -ceq [System.Convert]::ToBase64String($Bytes))
}

function Assert-NodeFilePlace {
    <# .SYNOPSIS Throws if something that is not a file stands where a file is to be; returns whether a file is there. #>
    param([string]$Path)

    $kind = Get-NodeFileKind -Path $Path
    if ($kind -ceq 'directory') {
        throw "$Path is a folder, a file is wanted there. Remove it or choose another path."
    }
    if ($kind -ceq 'link') {
        throw "$Path is a link or another reparse point; it is not written through. Remove it or choose another path."
    }
    return [bool]($kind -ceq 'file')
}

function Invoke-NodeOpMkdir {
    param([object]$Arguments, [hashtable]$Run)

    $path = [string]$Arguments['path']
    $made = (Get-NodeFileKind -Path $path) -ceq 'absent'
    New-NodeFolder -Path $path -Sddl ([string](Get-NodeArgument -Map $Arguments -Name 'sddl' -Default ''))
    return @{ changed = $made }
}

function Invoke-NodeOpWrite {
    param([object]$Arguments, [hashtable]$Run)

    $path = [string]$Arguments['path']
    [byte[]]$content = [System.Convert]::FromBase64String([string]$Arguments['content'])
    $sddl = [string](Get-NodeArgument -Map $Arguments -Name 'sddl' -Default '')
    $backup = [string](Get-NodeArgument -Map $Arguments -Name 'backup' -Default '')
    if (Assert-NodeFilePlace -Path $path) {
        if (Test-NodeSameContent -Path $path -Bytes $content) {
            if ($sddl -ne '') {
                Set-NodeSddl -Path $path -Sddl $sddl
            }
            return @{ changed = $false }
        }
        if ($backup -ne '' -and (Get-NodeFileKind -Path $backup) -ceq 'absent') {
            Copy-NodeBackup -Path $path -Backup $backup
        }
    }
    Write-NodeFile -Path $path -Bytes $content -Sddl $sddl
    return @{ changed = $true }
}

function Invoke-NodeOpRestore {
    param([object]$Arguments, [hashtable]$Run)

    $path = [string]$Arguments['path']
    $backup = [string]$Arguments['backup']
    if ((Get-NodeFileKind -Path $backup) -ceq 'absent') {
        return @{ changed = $false }
    }
    $null = Assert-NodeFilePlace -Path $path
    New-NodeFolder -Path ([System.IO.Path]::GetDirectoryName($path))
    # Copied, not renamed: the backup may lie on another volume, and must stay until the file is in its place.
    $fresh = $path + '.winkube-new'
    $copy = {
        Copy-NodeClosed -Source $backup -Path $fresh
    }
    Invoke-NodeRetry -Block $copy
    Move-NodeFileIn -Source $fresh -Path $path
    Copy-NodeAccess -Source $backup -Path $path
    Remove-NodeDocument -Path $backup
    return @{ changed = $true }
}

function Rename-NodeCase {
    <#
    .SYNOPSIS
    Gives a file or folder its name in other letters' case; returns whether it had another.

    .NOTES
    A folder goes by way of a third name, which is finished if the power went in between: .NET Framework refuses to move a folder to its
    own name. Source: referencesource, mscorlib directory.cs, InternalMove, IO_SourceDestMustBeDifferent.
    #>
    param([string]$Path, [string]$Between)

    $folder = [System.IO.Path]::GetDirectoryName($Path)
    $name = [System.IO.Path]::GetFileName($Path)
    $present = ''
    foreach ($entry in [System.IO.Directory]::GetFileSystemEntries($folder)) {
        $found = [System.IO.Path]::GetFileName($entry)
        if ([string]::Equals($found, $name, [System.StringComparison]::OrdinalIgnoreCase)) {
            $present = $found
        }
    }
    if ($present -ceq $name) {
        return $false
    }
    $source = $Between
    if ($present -ne '') {
        $source = Join-NodePath -Folder $folder -Name $present
    }
    elseif (-not [System.IO.Directory]::Exists($Between)) {
        throw "$Path does not exist."
    }
    $block = {
        if ([System.IO.File]::Exists($source)) {
            [System.IO.File]::Move($source, $Path)
            return
        }
        if ([System.IO.Directory]::Exists($source) -and $source -cne $Between) {
            [System.IO.Directory]::Move($source, $Between)
        }
        [System.IO.Directory]::Move($Between, $Path)
    }
    Invoke-NodeRetry -Block $block
    return $true
}

function Test-NodeSameFile {
    <# .SYNOPSIS Whether two paths are plain files of the same content. #>
    param([string]$Left, [string]$Right)

    foreach ($path in @($Left, $Right)) {
        if ((Get-NodeFileKind -Path $path) -cne 'file') {
            return $false
        }
    }
    return [bool]((Get-NodeFileHash -Path $Left) -ceq (Get-NodeFileHash -Path $Right))
}

function Move-NodeAcross {
    <#
    .SYNOPSIS
    A file to another drive: copied beside its new place with its own access list, then renamed in, then deleted where it was.

    .NOTES
    File.Move copies there under the real name, which is half a file if the power goes, and leaves it to the new folder who may read it;
    Directory.Move refuses. Source: Microsoft, MoveFileEx, MOVEFILE_COPY_ALLOWED ("the security descriptor is not moved");
    referencesource, mscorlib directory.cs, IO_SourceDestMustHaveSameRoot.
    #>
    param([string]$Source, [string]$Path, [string]$Between)

    if ((Get-NodeFileKind -Path $Source) -cne 'file') {
        throw "$Source is no plain file, and $Path is on another drive; only files are moved there."
    }
    $block = {
        Copy-NodeClosed -Source $Source -Path $Between
    }
    try {
        Invoke-NodeRetry -Block $block
        Copy-NodeAccess -Source $Source -Path $Between
        Move-NodeFileIn -Source $Between -Path $Path
    }
    catch {
        $failure = $_
        Remove-NodeFileQuietly -Path $Between
        throw $failure
    }
    $null = Remove-NodeEntry -Path $Source -Kind 'file' -InUseOk $false
}

function Invoke-NodeOpMove {
    param([object]$Arguments, [hashtable]$Run)

    $from = Get-NodeFullPath -Path ([string]$Arguments['from'])
    $to = Get-NodeFullPath -Path ([string]$Arguments['to'])
    $between = $to + '.winkube-new'
    $length = [System.Math]::Max([int]$from.Length, [int]$between.Length)
    $between = Get-NodeLongPath -Path $between -Length $length
    if ((Test-NodeWindows) -and [string]::Equals($from, $to, [System.StringComparison]::OrdinalIgnoreCase)) {
        return @{ changed = (Rename-NodeCase -Path (Get-NodeLongPath -Path $to -Length $length) -Between $between) }
    }
    $isAcross = [System.IO.Path]::GetPathRoot($from) -ne [System.IO.Path]::GetPathRoot($to)
    $folder = [System.IO.Path]::GetDirectoryName($to)
    $stays = [string]::Equals([System.IO.Path]::GetDirectoryName($from), $folder, [System.StringComparison]::OrdinalIgnoreCase)
    # Only now: with the mark in front of one of them they would be compared wrongly.
    $from = Get-NodeLongPath -Path $from -Length $length
    $to = Get-NodeLongPath -Path $to -Length $length
    # By its own length: where that is a drive's root, the mark would make a device of it.
    $folder = Get-NodeLongPath -Path $folder
    $there = (Get-NodeFileKind -Path $from) -cne 'absent'
    $taken = (Get-NodeFileKind -Path $to) -cne 'absent'
    if (-not $there) {
        if ($taken) {
            if (-not $stays) {
                # The power may have gone before it was done.
                Update-NodeInheritance -Path $to
            }
            return @{ changed = $false }
        }
        throw "$from does not exist, and neither does $to."
    }
    if ($taken -and $isAcross -and (Test-NodeSameFile -Left $from -Right $to)) {
        # The power went when it had been copied, and not yet deleted.
        $null = Remove-NodeEntry -Path $from -Kind 'file' -InUseOk $false
        return @{ changed = $true }
    }
    if ($taken) {
        throw "$to exists already; $from is not moved over it."
    }
    New-NodeFolder -Path $folder
    if ($isAcross) {
        Move-NodeAcross -Source $from -Path $to -Between $between
        return @{ changed = $true }
    }
    $block = {
        if ([System.IO.Directory]::Exists($from)) {
            [System.IO.Directory]::Move($from, $to)
        }
        else {
            [System.IO.File]::Move($from, $to)
        }
    }
    Invoke-NodeRetry -Block $block
    if (-not $stays) {
        Update-NodeInheritance -Path $to
    }
    return @{ changed = $true }
}

function Remove-NodeEmptyFolder {
    <#
    .SYNOPSIS
    Deletes an empty folder, or a link to one; access denied is told as such.

    .NOTES
    .NET throws it as a bare IOException, whose HResult (0x80131620) says nothing. Source: referencesource, mscorlib directory.cs,
    DeleteHelper; dotnet/runtime FileSystem.Windows.cs, RemoveDirectoryInternal.
    #>
    param([string]$Path)

    try {
        [System.IO.Directory]::Delete($Path, $false)
    }
    catch {
        $failure = Get-NodeException -Record $_
        if ($failure -is [System.IO.IOException] -and $failure.HResult -eq -2146232800) {
            throw (New-Object System.UnauthorizedAccessException($failure.Message))
        }
        throw $failure
    }
}

function Remove-NodeEntry {
    <#
    .SYNOPSIS
    Deletes one file, link or empty folder. Returns whether it stays, which only InUseOk allows. Budget is {ms}: how long all entries
    together may be waited for.
    #>
    param([string]$Path, [string]$Kind, [bool]$InUseOk, [hashtable]$Budget = @{ ms = 5000 })

    $waiting = [System.Diagnostics.Stopwatch]::StartNew()

    $block = {
        if ($Kind -cne 'link') {
            Clear-NodeReadOnly -Path $Path
        }
        if ([System.IO.Directory]::Exists($Path)) {
            Remove-NodeEmptyFolder -Path $Path
        }
        else {
            [System.IO.File]::Delete($Path)
        }
    }
    try {
        Invoke-NodeRetry -Block $block -WaitMs ([System.Math]::Min(5000, [int]$Budget['ms']))
    }
    catch {
        $failure = $_
        if ((Get-NodeFileKind -Path $Path) -ceq 'absent') {
            return $false
        }
        # 145: something in it is deleted, and stays as long as somebody has it open.
        if ($InUseOk -and @(5, 32, 33, 145) -contains (Get-NodeErrorCode -Record $failure)) {
            return $true
        }
        throw $failure
    }
    finally {
        # Less is no waiting: it was deleted at once.
        if ($waiting.ElapsedMilliseconds -ge 200) {
            $Budget['ms'] = [int]($Budget['ms'] - $waiting.ElapsedMilliseconds)
        }
    }
    return $false
}

function Remove-NodeTree {
    <# .SYNOPSIS Deletes a folder and all in it; a reparse point is itself deleted and never followed. Returns whether any of it stays. #>
    param([string]$Path, [bool]$InUseOk, [hashtable]$Run, [hashtable]$Budget)

    $null = Get-NodeTimeLeft -Run $Run -Wanted 1
    $Path = Get-NodeLongPath -Path $Path
    $kind = Get-NodeFileKind -Path $Path
    if ($kind -ceq 'absent') {
        return $false
    }
    $left = $false
    if ($kind -ceq 'directory') {
        foreach ($entry in [System.IO.Directory]::GetFileSystemEntries($Path)) {
            if (Remove-NodeTree -Path $entry -InUseOk $InUseOk -Run $Run -Budget $Budget) {
                $left = $true
            }
        }
    }
    if ($left) {
        return $true
    }
    return Remove-NodeEntry -Path $Path -Kind $kind -InUseOk $InUseOk -Budget $Budget
}

function Invoke-NodeOpRemove {
    param([object]$Arguments, [hashtable]$Run)

    $path = Get-NodeFullPath -Path ([string]$Arguments['path'])
    if (Test-NodeRoot -Path $path) {
        throw "$path is the root of a drive; it is not removed."
    }
    $path = Get-NodeLongPath -Path $path
    $kind = Get-NodeFileKind -Path $path
    if ($kind -ceq 'absent') {
        return @{ changed = $false }
    }
    $inUseOk = [bool](Get-NodeArgument -Map $Arguments -Name 'in_use_ok' -Default $false)
    if ($kind -ceq 'directory' -and [System.IO.Directory]::GetFileSystemEntries($path).Length -gt 0) {
        if ([bool](Get-NodeArgument -Map $Arguments -Name 'only_if_empty' -Default $false)) {
            return @{ changed = $false; left = $true }
        }
        if (-not [bool](Get-NodeArgument -Map $Arguments -Name 'recurse' -Default $false)) {
            throw "$path is a folder that is not empty, and recurse is not set."
        }
    }
    # One patience for all that is held: 200 entries of 5 s each were a quarter of an hour.
    if (Remove-NodeTree -Path $path -InUseOk $inUseOk -Run $Run -Budget @{ ms = 30000 }) {
        return @{ changed = $true; left = $true }
    }
    return @{ changed = $true }
}

function Invoke-NodeOpRecord {
    param([object]$Arguments, [hashtable]$Run)

    $place = [string]$Arguments['path']
    $files = New-Object System.Collections.ArrayList
    foreach ($file in (Get-NodeArgumentList -Map $Arguments -Name 'files')) {
        $path = Get-NodeLongPath -Path ([string]$file)
        if ((Get-NodeFileKind -Path $path) -cne 'file') {
            throw "$file is to be recorded, but there is no such file."
        }
        $null = $files.Add(@{ path = [string]$file; sha256 = (Get-NodeFileHash -Path $path) })
    }
    $document = @{ schema = 1; source = (Get-NodeArgument -Map $Arguments -Name 'source'); files = $files.ToArray() }
    # Compared by value: the order of the keys of a hashtable is nobody's promise.
    $present = Read-NodeDocument -Path $place
    if ($null -ne $present -and (Test-NodeEqual -Left $present -Right $document)) {
        return @{ changed = $false }
    }
    New-NodeFolder -Path ([System.IO.Path]::GetDirectoryName($place))
    Write-NodeJsonFile -Path $place -Value $document
    return @{ changed = $true }
}
