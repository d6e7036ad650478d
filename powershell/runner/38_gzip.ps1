# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Files that gzip packed: member after member, to a proven end.

function Skip-NodeGzipText {
    <# .SYNOPSIS Reads on behind the next zero byte of a gzip header. #>
    param([System.IO.Stream]$File)

    $byte = 1
    while ($byte -ne 0) {
        $byte = $File.ReadByte()
        if ($byte -lt 0) {
            throw 'it ends in the middle of a gzip header'
        }
    }
}

function Open-NodeMember {
    <#
    .SYNOPSIS
    Begins the gzip member that starts at the file's position: what Read-NodeUnpacked reads.

    .NOTES
    GZipStream of .NET Framework ends behind the first member without a word, and on .NET too a file that is cut short just ends
    (referencesource, System IO/compression GZipDecoder.cs, DeflateStream.cs: "Do we want to throw an exception here?"). So the headers
    and ends of the members are read here, by RFC 1952, and DeflateStream, which is the same on both, reads what is in between.
    #>
    param([hashtable]$Source)

    $file = $Source['file']
    [byte[]]$head = New-Object 'byte[]' 10
    if ((Read-NodeExact -Source $file -Buffer $head -Count 10) -ne 10) {
        throw 'it ends in the middle of a gzip header'
    }
    $flags = [int]$head[3]
    if ($head[0] -ne 31 -or $head[1] -ne 139 -or $head[2] -ne 8 -or $flags -gt 31) {
        throw 'a gzip header of it is damaged'
    }
    if (($flags -band 4) -ne 0) {
        [byte[]]$size = New-Object 'byte[]' 2
        $null = Read-NodeExact -Source $file -Buffer $size -Count 2
        $file.Position = $file.Position + [System.BitConverter]::ToUInt16($size, 0)
    }
    if (($flags -band 8) -ne 0) {
        Skip-NodeGzipText -File $file
    }
    if (($flags -band 16) -ne 0) {
        Skip-NodeGzipText -File $file
    }
    if (($flags -band 2) -ne 0) {
        $file.Position = $file.Position + 2
    }
    $Source['start'] = [int64]$file.Position
    $Source['made'] = [int64]0
    $Source['deflate'] = New-Object System.IO.Compression.DeflateStream([System.IO.Stream]$file, [System.IO.Compression.CompressionMode]::Decompress, $true)
}

function Find-NodeMemberEnd {
    <#
    .SYNOPSIS
    Where the gzip member ends whose data has just been read to its end; throws if it has no end.

    .NOTES
    DeflateStream reads on in pieces of 8 KB, so its data ends somewhere in the last one. There the member's end stands: a check sum,
    which is left to the sha256 of the download, and the length of what was packed, modulo 4 GB; and then the next member, or nothing.
    #>
    param([hashtable]$Source)

    $file = $Source['file']
    $size = [int64]$file.Length
    $made = [int64]($Source['made'] -band [int64]4294967295)
    $first = [int64][System.Math]::Max([int64]$Source['start'], [int64]$file.Position - 65536)
    $count = [int][System.Math]::Min([int64]$size - $first, [int64]$file.Position - $first + 11)
    [byte[]]$bytes = New-Object 'byte[]' ([System.Math]::Max(0, [int]$count))
    $file.Position = $first
    $count = Read-NodeExact -Source $file -Buffer $bytes -Count $bytes.Length
    $place = [System.Array]::IndexOf($bytes, [byte]31, [System.Math]::Min(8, $bytes.Length))
    while ($place -ge 0 -and $place + 2 -lt $count) {
        if ($bytes[$place + 1] -eq 139 -and $bytes[$place + 2] -eq 8 -and
            [int64][System.BitConverter]::ToUInt32($bytes, $place - 4) -eq $made) {
            return ($first + $place)
        }
        $place = [System.Array]::IndexOf($bytes, [byte]31, $place + 1)
    }
    # Only then the end of the file: the member there may be another one, of the same length.
    if ($first + $count -eq $size -and $count -ge 8 -and [int64][System.BitConverter]::ToUInt32($bytes, $count - 4) -eq $made) {
        return $size
    }
    throw 'it is cut short, or something that is no gzip stands behind its data'
}

function Read-NodeUnpacked {
    <# .SYNOPSIS As Stream.Read, over all members of a gzip file; throws where they hold more than Source's most, if it has one. #>
    param([hashtable]$Source, [byte[]]$Buffer, [int]$Offset, [int]$Count)

    while (-not $Source['ended']) {
        $read = $Source['deflate'].Read($Buffer, $Offset, $Count)
        if ($read -gt 0) {
            $Source['made'] += $read
            if ($Source.ContainsKey('most') -and $Source['most'] -gt 0) {
                $Source['total'] += $read
                if ($Source['total'] -gt $Source['most']) {
                    throw "it holds more than $($Source['most']) bytes"
                }
            }
            return $read
        }
        $Source['deflate'].Dispose()
        $Source['deflate'] = $null
        $end = Find-NodeMemberEnd -Source $Source
        if ($end -ge $Source['file'].Length) {
            $Source['ended'] = $true
        }
        else {
            $Source['file'].Position = $end
            Open-NodeMember -Source $Source
        }
    }
    return 0
}

function Read-NodeExact {
    <# .SYNOPSIS Fills a buffer up to Count bytes; returns how many there were before the end. Source: a stream, or an open member. #>
    param([object]$Source, [byte[]]$Buffer, [int]$Count)

    $filled = 0
    while ($filled -lt $Count) {
        if ($Source -is [hashtable]) {
            $read = Read-NodeUnpacked -Source $Source -Buffer $Buffer -Offset $filled -Count ($Count - $filled)
        }
        else {
            $read = $Source.Read($Buffer, $filled, $Count - $filled)
        }
        if ($read -eq 0) {
            break
        }
        $filled += $read
    }
    return $filled
}
