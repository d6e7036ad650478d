# Asks the node's process, whose address is in a file, and makes objects of what it answers that look like CIM's.
Set-StrictMode -Version 2.0

function Request-StandIn {
    param([hashtable]$Question)

    $host_, $port = ([IO.File]::ReadAllText('C:\windows\winkube-standins.txt')).Trim().Split(':')
    $client = New-Object Net.Sockets.TcpClient($host_, [int]$port)
    try {
        $stream = $client.GetStream()
        [byte[]]$bytes = [Text.Encoding]::UTF8.GetBytes((ConvertTo-Json -InputObject $Question -Depth 5 -Compress) + "`n")
        $stream.Write($bytes, 0, $bytes.Length)
        $reader = New-Object IO.StreamReader($stream)
        $said = ConvertFrom-Json -InputObject $reader.ReadToEnd()
    }
    finally {
        $client.Dispose()
    }
    if ($null -ne $said.PSObject.Properties['error']) {
        throw $said.error
    }
    return $said
}

function Get-StandInRow {
    param([hashtable]$Question)

    $said = Request-StandIn -Question @{ cim = $Question }
    if (@($said.rows).Length -eq 0 -and $Question['what'] -ne 'query') {
        $record = New-Object Management.Automation.ErrorRecord('No matching objects found.', 'CmdletizationQuery_NotFound', 'ObjectNotFound', $null)
        throw $record
    }
    foreach ($row in $said.rows) {
        $properties = @{}
        foreach ($property in $row.PSObject.Properties) {
            if ($property.Name -eq 'ValidLifetime') {
                $row.ValidLifetime = [TimeSpan]::MaxValue
            }
            $properties[$property.Name] = [pscustomobject]@{ Value = $property.Value }
        }
        $row | Add-Member -NotePropertyName CimInstanceProperties -NotePropertyValue $properties
        $row | Add-Member -NotePropertyName CimClass -NotePropertyValue ([pscustomobject]@{ CimClassName = $said.class }) -PassThru
    }
}

Export-ModuleMember -Function Request-StandIn, Get-StandInRow
