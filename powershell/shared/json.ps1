# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# JSON in and out, and errors as one sentence: the same on Windows PowerShell 5.1 and PowerShell 7.

function New-NodeMap {
    <#
    .SYNOPSIS
    An empty table whose keys are found in any letters' case, and by the same rule in every language.

    .NOTES
    Windows PowerShell compares the keys of @{} by the language of who runs it: in Turkish I is not the capital of i, and a soft hyphen in
    a name counts nowhere. Source: PowerShell/PowerShell ExpressionCache.cs, CurrentCultureIgnoreCaseComparer, until it became ordinal.
    #>
    return New-Object System.Collections.Hashtable ([System.StringComparer]::OrdinalIgnoreCase)
}

function ConvertFrom-NodeJsonElement {
    <# .SYNOPSIS A System.Text.Json element as hashtables, object arrays and plain values (PowerShell 7 only). #>
    param([object]$Element)

    $kind = [string]$Element.ValueKind
    if ($kind -ceq 'Object') {
        $map = New-Object System.Collections.Hashtable ([System.StringComparer]::Ordinal)
        foreach ($property in $Element.EnumerateObject()) {
            $map[[string]$property.Name] = ConvertFrom-NodeJsonElement -Element $property.Value
        }
        return $map
    }
    if ($kind -ceq 'Array') {
        $list = New-Object System.Collections.ArrayList
        foreach ($item in $Element.EnumerateArray()) {
            $null = $list.Add((ConvertFrom-NodeJsonElement -Element $item))
        }
        return , $list.ToArray()
    }
    if ($kind -ceq 'String') {
        return [string]$Element.GetString()
    }
    if ($kind -ceq 'Number') {
        $raw = [string]$Element.GetRawText()
        $number = [int64]0
        if ([int64]::TryParse($raw, [ref]$number)) {
            return $number
        }
        return [decimal]::Parse($raw, [System.Globalization.NumberStyles]::Float, [System.Globalization.CultureInfo]::InvariantCulture)
    }
    if ($kind -ceq 'True') {
        return $true
    }
    if ($kind -ceq 'False') {
        return $false
    }
    return $null
}

function ConvertFrom-NodeJson {
    <#
    .SYNOPSIS
    JSON text as dictionaries and object arrays.

    .NOTES
    ConvertFrom-Json is not used: PowerShell 7 turns strings that look like a date into DateTime, 5.1 limits the
    length of its input, and neither of them gives a dictionary on both.
    #>
    param([string]$Text)

    if ($PSVersionTable.PSVersion.Major -ge 6) {
        $options = New-Object System.Text.Json.JsonDocumentOptions
        $document = [System.Text.Json.JsonDocument]::Parse($Text, $options)
        try {
            return , (ConvertFrom-NodeJsonElement -Element $document.RootElement)
        }
        finally {
            $document.Dispose()
        }
    }
    Add-Type -AssemblyName System.Web.Extensions
    $serializer = New-Object System.Web.Script.Serialization.JavaScriptSerializer
    $serializer.MaxJsonLength = [int]::MaxValue
    $serializer.RecursionLimit = 100
    return , $serializer.DeserializeObject($Text)
}

function ConvertFrom-NodePacked {
    <# .SYNOPSIS base64 of gzip of UTF-8 -> the text. #>
    param([string]$Text)

    $source = New-Object System.IO.MemoryStream(, [System.Convert]::FromBase64String($Text))
    $gzip = New-Object System.IO.Compression.GZipStream($source, [System.IO.Compression.CompressionMode]::Decompress)
    $reader = New-Object System.IO.StreamReader($gzip, (New-Object System.Text.UTF8Encoding($false)))
    try {
        return [string]$reader.ReadToEnd()
    }
    finally {
        $reader.Dispose()
    }
}

function ConvertTo-NodePlain {
    <#
    .SYNOPSIS
    A copy of a value that holds nothing but hashtables, object arrays, strings, numbers and booleans.

    .NOTES
    ConvertTo-Json of 5.1 writes an array that PowerShell has wrapped as {"value": [..], "Count": n} and the
    properties of a wrapped string: hence the casts at each step.
    #>
    param([object]$Value)

    if ($null -eq $Value) {
        return $null
    }
    if ($Value -is [string] -or $Value -is [char]) {
        return [string]$Value
    }
    if ($Value -is [bool]) {
        return [bool]$Value
    }
    if ($Value -is [datetime]) {
        return [string]$Value.ToUniversalTime().ToString('o')
    }
    if ($Value -is [enum]) {
        return [string]$Value
    }
    if ($Value -is [int] -or $Value -is [int16] -or $Value -is [byte] -or $Value -is [uint16]) {
        return [int]$Value
    }
    if ($Value -is [int64] -or $Value -is [uint32]) {
        return [int64]$Value
    }
    if ($Value -is [decimal] -or $Value -is [double] -or $Value -is [single] -or $Value -is [uint64]) {
        # PowerShell 7 writes a whole decimal with .0 behind it, which readers of JSON take for a double, and lose its last digits.
        $number = [decimal]$Value
        if ($number -ne [decimal]::Truncate($number) -or $number -lt [int64]::MinValue -or $number -gt [uint64]::MaxValue) {
            return $number
        }
        if ($number -gt [int64]::MaxValue) {
            return [uint64]$number
        }
        return [int64]$number
    }
    if ($Value -is [System.Collections.IDictionary]) {
        $map = New-Object System.Collections.Hashtable ([System.StringComparer]::Ordinal)
        foreach ($entry in $Value.GetEnumerator()) {
            $item = ConvertTo-NodePlain -Value $entry.Value
            if ($item -is [array]) {
                $map[[string]$entry.Key] = [object[]]$item
            }
            else {
                $map[[string]$entry.Key] = $item
            }
        }
        return $map
    }
    if ($Value -is [System.Collections.IEnumerable]) {
        $list = New-Object System.Collections.ArrayList
        foreach ($element in $Value) {
            $item = ConvertTo-NodePlain -Value $element
            if ($item -is [array]) {
                $null = $list.Add([object[]]$item)
            }
            else {
                $null = $list.Add($item)
            }
        }
        return , $list.ToArray()
    }
    return [string]$Value
}

function ConvertTo-NodeJson {
    <# .SYNOPSIS A value as one line of JSON. #>
    param([object]$Value)

    $plain = ConvertTo-NodePlain -Value $Value
    return [string](ConvertTo-Json -InputObject $plain -Depth 20 -Compress)
}

function Get-NodeArgument {
    <# .SYNOPSIS A named entry of a decoded JSON object; the default if it is missing or null. Lists stay lists. #>
    param([object]$Map, [string]$Name, [object]$Default = $null)

    if ($null -eq $Map -or -not $Map.ContainsKey($Name)) {
        return , $Default
    }
    $found = $Map[$Name]
    if ($null -eq $found) {
        return , $Default
    }
    return , $found
}

function Get-NodeArgumentList {
    <# .SYNOPSIS A named list of a decoded JSON object as an object array; empty if it is missing or null. #>
    param([object]$Map, [string]$Name)

    $found = Get-NodeArgument -Map $Map -Name $Name
    if ($null -eq $found) {
        return , [object[]]@()
    }
    $list = New-Object System.Collections.ArrayList
    foreach ($item in $found) {
        $null = $list.Add($item)
    }
    return , $list.ToArray()
}

function Test-NodeEqual {
    <#
    .SYNOPSIS
    Whether two decoded values are equal: numbers by value, lists in order, objects key by key; strings exactly, or without regard to
    case if IgnoreCase is set (sha256 and content always exactly).
    #>
    param([object]$Left, [object]$Right, [bool]$IgnoreCase = $false)

    if ($null -eq $Left -or $null -eq $Right) {
        return [bool]($null -eq $Left -and $null -eq $Right)
    }
    if ($Left -is [string] -or $Right -is [string]) {
        if ($Left -isnot [string] -or $Right -isnot [string]) {
            return $false
        }
        $comparison = [System.StringComparison]::Ordinal
        if ($IgnoreCase) {
            $comparison = [System.StringComparison]::OrdinalIgnoreCase
        }
        return [string]::Equals($Left, $Right, $comparison)
    }
    if ($Left -is [bool] -or $Right -is [bool]) {
        return [bool]($Left -is [bool] -and $Right -is [bool] -and $Left -eq $Right)
    }
    if ($Left -is [System.Collections.IDictionary] -or $Right -is [System.Collections.IDictionary]) {
        if ($Left -isnot [System.Collections.IDictionary] -or $Right -isnot [System.Collections.IDictionary]) {
            return $false
        }
        $count = 0
        foreach ($entry in $Left.GetEnumerator()) {
            $count++
            $key = [string]$entry.Key
            if (-not $Right.ContainsKey($key)) {
                return $false
            }
            $loose = $IgnoreCase -and @('sha256', 'content') -cnotcontains $key
            if (-not (Test-NodeEqual -Left $entry.Value -Right $Right[$key] -IgnoreCase $loose)) {
                return $false
            }
        }
        return [bool]($count -eq $Right.psbase.Count)
    }
    if ($Left -is [System.Collections.IEnumerable] -or $Right -is [System.Collections.IEnumerable]) {
        if ($Left -isnot [System.Collections.IEnumerable] -or $Right -isnot [System.Collections.IEnumerable]) {
            return $false
        }
        $first = New-Object System.Collections.ArrayList
        foreach ($item in $Left) {
            $null = $first.Add($item)
        }
        $second = New-Object System.Collections.ArrayList
        foreach ($item in $Right) {
            $null = $second.Add($item)
        }
        if ($first.Count -ne $second.Count) {
            return $false
        }
        for ($index = 0; $index -lt $first.Count; $index++) {
            if (-not (Test-NodeEqual -Left $first[$index] -Right $second[$index] -IgnoreCase $IgnoreCase)) {
                return $false
            }
        }
        return $true
    }
    return [bool]([decimal]$Left -eq [decimal]$Right)
}

function Get-NodeTime {
    <# .SYNOPSIS A moment (now, if none is given) in UTC as ISO 8601. #>
    param([datetime]$Moment = [datetime]::UtcNow)

    return [string]$Moment.ToUniversalTime().ToString('o')
}

function Get-NodeException {
    <# .SYNOPSIS What really went wrong: the exception inside those that PowerShell and tasks wrap around it. #>
    param([object]$Record)

    $exception = $Record
    if ($Record -is [System.Management.Automation.ErrorRecord]) {
        $exception = $Record.Exception
    }
    while ($null -ne $exception.InnerException -and
        ($exception -is [System.Management.Automation.RuntimeException] -or
            $exception -is [System.AggregateException] -or
            $exception -is [System.Reflection.TargetInvocationException] -or
            @('HttpRequestException', 'WebException') -ccontains $exception.GetType().Name)) {
        $exception = $exception.InnerException
    }
    return $exception
}

function Get-NodeErrorCode {
    <# .SYNOPSIS The Win32 error of a failure (32 sharing, 5 denied, 112 disk full), 0 if it has none. #>
    param([object]$Record)

    $exception = Get-NodeException -Record $Record
    if ($exception -is [System.ComponentModel.Win32Exception]) {
        return [int]$exception.NativeErrorCode
    }
    if ($null -ne $exception.InnerException -and $exception.InnerException -is [System.ComponentModel.Win32Exception]) {
        return [int]$exception.InnerException.NativeErrorCode
    }
    # 0x8007xxxx is how .NET writes the Win32 error xxxx.
    if (($exception.HResult -shr 16) -eq ([int]0x8007 - 0x10000)) {
        return [int]($exception.HResult -band 0xFFFF)
    }
    return 0
}

function Get-NodeErrorText {
    <# .SYNOPSIS The message of a failure on one line. #>
    param([object]$Record)

    $exception = Get-NodeException -Record $Record
    $text = [string]$exception.Message
    return [string]($text -replace '\s+', ' ').Trim()
}
