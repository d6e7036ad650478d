# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Answers each request with the first row that fits: start is how the request begins, header it has, lacks it has not. Ends when the
# listener is stopped.

param([System.Net.Sockets.TcpListener]$Listener, [object[]]$Rows)

Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'

while ($true) {
    try {
        $client = $Listener.AcceptTcpClient()
    }
    catch {
        # It was stopped.
        return
    }
    try {
        $client.ReceiveTimeout = 5000
        $stream = $client.GetStream()
        $buffer = New-Object byte[] 4096
        $request = ''
        while (-not $request.Contains("`r`n`r`n") -and $request.Length -lt 65536) {
            $read = $stream.Read($buffer, 0, $buffer.Length)
            if ($read -eq 0) {
                break
            }
            $request = $request + [System.Text.Encoding]::ASCII.GetString($buffer, 0, $read)
        }
        foreach ($row in $Rows) {
            $begins = $request.StartsWith([string]$row['start'], [System.StringComparison]::Ordinal)
            $has = $request.IndexOf("`n" + [string]$row['header'], [System.StringComparison]::OrdinalIgnoreCase) -ge 0
            $lacks = [string]$row['lacks']
            if ($lacks -ne '') {
                $has = $has -and $request.IndexOf("`n" + $lacks, [System.StringComparison]::OrdinalIgnoreCase) -lt 0
            }
            if ($begins -and $has) {
                [byte[]]$data = $row['data']
                [System.Threading.Thread]::Sleep([int]$row['pause_ms'])
                $stream.Write($data, 0, $data.Length)
                $stream.Flush()
                $null = $client.Client.Shutdown([System.Net.Sockets.SocketShutdown]::Send)
                break
            }
        }
    }
    catch {
        # The caller has gone, or said nothing for 5 s: the next one.
        $null = $_
    }
    finally {
        $client.Close()
    }
}
