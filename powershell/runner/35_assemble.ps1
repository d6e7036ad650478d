# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# A file out of one that is there and a delta (docs/protocol.md, section 5): to <path>.part, checked, then renamed in.

function Assert-NodeSource {
    <# .SYNOPSIS Throws unless there is a plain file. #>
    param([string]$Path, [string]$What)

    if (-not (Assert-NodeFilePlace -Path $Path)) {
        throw "$What $Path is not there."
    }
}

function Open-NodeReading {
    <# .SYNOPSIS A file to be read, also while others have it open; throws unless a plain file is there. #>
    param([string]$Path, [string]$What)

    Assert-NodeSource -Path $Path -What $What
    return Open-NodeFile -Path $Path -Buffer 65536
}

function Read-NodePiece {
    <# .SYNOPSIS Fills the first bytes of a buffer from a place in a file; throws if the file ends before. #>
    param([System.IO.Stream]$Stream, [int64]$Offset, [byte[]]$Buffer, [int]$Length, [string]$Path)

    $Stream.Position = $Offset
    $have = 0
    while ($have -lt $Length) {
        $count = $Stream.Read($Buffer, $have, $Length - $have)
        if ($count -le 0) {
            throw "$Path ends before byte $($Offset + $Length), which the delta wants of it."
        }
        $have += $count
    }
}

function Add-NodeNumber {
    <#
    .SYNOPSIS
    Two byte arrays as numbers, the first byte counting least, added: the first Length bytes of the sum, into the stream.

    .NOTES
    One addition of a million bytes, done by .NET: a loop over the bytes would take PowerShell minutes.
    Both arrays end with a byte 0 more than Length, so that neither is taken for a negative number.
    Added by the operator, not by BigInteger.Add: PowerShell 7.3 and later report the arguments of a method to AMSI as text, and the
    digits of such a number take minutes. Source: PowerShell MiscOps.cs, MemberInvocationLoggingOps.
    #>
    param([byte[]]$Left, [byte[]]$Right, [int]$Length, [System.IO.Stream]$Target)

    $first = New-Object System.Numerics.BigInteger(, $Left)
    $second = New-Object System.Numerics.BigInteger(, $Right)
    $sum = $first + $second
    [byte[]]$bytes = $sum.ToByteArray()
    $count = [System.Math]::Min($bytes.Length, $Length)
    $Target.Write($bytes, 0, $count)
    if ($count -lt $Length) {
        [byte[]]$zeros = New-Object 'byte[]' ($Length - $count)
        $Target.Write($zeros, 0, $zeros.Length)
    }
}

function Copy-NodePiece {
    <# .SYNOPSIS Bytes of the base as they are, into the stream. #>
    param([hashtable]$Work, [int64]$Offset, [int64]$Length)

    while ($Length -gt 0) {
        $count = [int][System.Math]::Min($Length, [int64]$Work['buffer'].Length)
        Read-NodePiece -Stream $Work['base'] -Offset $Offset -Buffer $Work['buffer'] -Length $count -Path $Work['base_path']
        $Work['target'].Write($Work['buffer'], 0, $count)
        $Offset += $count
        $Length -= $count
    }
}

function Invoke-NodeInstruction {
    <# .SYNOPSIS One instruction of a delta, its bytes read from the reader. #>
    param([hashtable]$Work, [System.IO.BinaryReader]$Reader, [byte[]]$Head)

    $kind = [int]$Head[0]
    $offset = [System.BitConverter]::ToInt64($Head, 1)
    $length = [System.BitConverter]::ToInt32($Head, 9)
    if ($kind -lt 1 -or $kind -gt 3 -or $length -lt 0 -or $offset -lt 0 -or ($kind -ne 2 -and $length -gt 1048576)) {
        throw "$($Work['part']) is no delta: kind $kind, offset $offset, length $length."
    }
    $Work['made'] += [int64]$length
    if ($Work['made'] -gt $Work['size']) {
        throw "$($Work['part']) makes more than the $($Work['size']) bytes that are wanted."
    }
    if ($kind -ne 1 -and $null -eq $Work['base']) {
        throw "$($Work['part']) wants bytes of a base, and none is named."
    }
    if ($kind -ne 1 -and $offset -gt $Work['base_size'] - $length) {
        throw "$($Work['base_path']) ends before byte $([decimal]$offset + $length), which the delta wants of it."
    }
    if ($kind -eq 2) {
        Copy-NodePiece -Work $Work -Offset $offset -Length $length
        return
    }
    [byte[]]$bytes = $Reader.ReadBytes($length)
    if ($bytes.Length -ne $length) {
        throw "$($Work['part']) is cut short: wanted $length bytes, found $($bytes.Length)."
    }
    if ($kind -eq 1) {
        $Work['target'].Write($bytes, 0, $length)
        return
    }
    [byte[]]$old = New-Object 'byte[]' ($length + 1)
    Read-NodePiece -Stream $Work['base'] -Offset $offset -Buffer $old -Length $length -Path $Work['base_path']
    [byte[]]$more = New-Object 'byte[]' ($length + 1)
    $bytes.CopyTo($more, 0)
    Add-NodeNumber -Left $old -Right $more -Length $length -Target $Work['target']
}

function Expand-NodeDelta {
    <# .SYNOPSIS All instructions of one part of a delta. #>
    param([hashtable]$Work, [string]$Part)

    $Work['part'] = $Part
    $file = Open-NodeReading -Path $Part -What 'The part of the delta'
    $unpacked = $null
    $reader = $null
    try {
        $unpacked = New-Object System.IO.Compression.GZipStream($file, [System.IO.Compression.CompressionMode]::Decompress)
        $reader = New-Object System.IO.BinaryReader($unpacked)
        while ($true) {
            [byte[]]$head = $reader.ReadBytes(13)
            if ($head.Length -eq 0) {
                break
            }
            if ($head.Length -lt 13) {
                throw "$Part is cut short in the middle of an instruction."
            }
            Invoke-NodeInstruction -Work $Work -Reader $reader -Head $head
        }
    }
    catch {
        $failure = $_
        $text = Get-NodeErrorText -Record $failure
        $place = $Part
        if ((Get-NodeErrorCode -Record $failure) -eq 112) {
            # Disk full: it is what is written, not what is read.
            $place = [string]$Work['target'].Name
        }
        $basePath = [string]$Work['base_path']
        if (-not $text.Contains($place) -and ($basePath -eq '' -or -not $text.Contains($basePath))) {
            $text = "$($place): $text"
        }
        throw $text
    }
    finally {
        if ($null -ne $reader) {
            $reader.Dispose()
        }
        if ($null -ne $unpacked) {
            $unpacked.Dispose()
        }
        $file.Dispose()
    }
}

function Write-NodeAssembled {
    <# .SYNOPSIS The new file under a name of its own, from all parts of the delta, flushed. #>
    param([hashtable]$Work, [object[]]$Parts, [string]$Fresh, [hashtable]$Run)

    try {
        if ($Work['base_path'] -ne '') {
            $Work['base'] = Open-NodeReading -Path $Work['base_path'] -What 'The base'
            $Work['base_size'] = [int64]$Work['base'].Length
        }
        $Work['target'] = New-Object System.IO.FileStream($Fresh, [System.IO.FileMode]::Create, [System.IO.FileAccess]::Write,
            [System.IO.FileShare]::None, 65536)
        foreach ($part in $Parts) {
            $null = Get-NodeTimeLeft -Run $Run -Wanted 1
            Expand-NodeDelta -Work $Work -Part ([string]$part)
        }
        $Work['target'].Flush($true)
    }
    finally {
        # The target last: on a full disk its Dispose, which writes what is left, throws.
        foreach ($name in @('base', 'target')) {
            if ($null -ne $Work[$name]) {
                $Work[$name].Dispose()
            }
        }
    }
}

function Invoke-NodeOpAssemble {
    param([object]$Arguments, [hashtable]$Run)

    $path = [string]$Arguments['path']
    $wanted = ([string]$Arguments['sha256']).ToLowerInvariant()
    $parts = Get-NodeArgumentList -Map $Arguments -Name 'delta'
    if ((Assert-NodeFilePlace -Path $path) -and (Get-NodeFileHash -Path $path) -ceq $wanted) {
        return @{ changed = $false; sha256 = $wanted }
    }
    if ($PSVersionTable.PSVersion.Major -lt 6) {
        Add-Type -AssemblyName System.Numerics
    }
    $work = @{
        base = $null
        base_size = [int64]0
        base_path = [string](Get-NodeArgument -Map $Arguments -Name 'base' -Default '')
        target = $null
        part = ''
        made = [int64]0
        size = [int64]$Arguments['size']
        buffer = [byte[]](New-Object 'byte[]' 1048576)
    }
    $baseHash = ([string](Get-NodeArgument -Map $Arguments -Name 'base_sha256' -Default '')).ToLowerInvariant()
    if ($work['base_path'] -ne '') {
        Assert-NodeSource -Path $work['base_path'] -What 'The base'
        if ($baseHash -ne '') {
            $found = Get-NodeFileHash -Path $work['base_path']
            if ($found -cne $baseHash) {
                throw "The base $($work['base_path']) is not what the delta was made from: wanted sha256 $baseHash, found $found."
            }
        }
    }
    # Before the folder is made: what cannot begin leaves nothing behind.
    foreach ($part in $parts) {
        Assert-NodeSource -Path ([string]$part) -What 'The part of the delta'
    }
    New-NodeFolder -Path ([System.IO.Path]::GetDirectoryName($path))
    $fresh = $path + '.part'
    try {
        Write-NodeAssembled -Work $work -Parts $parts -Fresh $fresh -Run $Run
        if ($work['made'] -ne $work['size']) {
            throw "$($path): wanted $($work['size']) bytes, the delta makes $($work['made'])."
        }
        $found = Get-NodeFileHash -Path $fresh
        if ($found -cne $wanted) {
            throw "$($path): wanted sha256 $wanted, found $found."
        }
        Move-NodeFileIn -Source $fresh -Path $path
        return @{ changed = $true; sha256 = $wanted; bytes = $work['made'] }
    }
    catch {
        $failure = $_
        Remove-NodeFileQuietly -Path $fresh
        throw $failure
    }
}
