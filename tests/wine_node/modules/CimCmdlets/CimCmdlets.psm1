# Where PowerShell has no CIM (libmi): the node's process answers. First in PSModulePath.
Set-StrictMode -Version 2.0
Import-Module "$PSScriptRoot\..\StandIn\StandIn.psm1"

function Get-CimInstance {
    [CmdletBinding()]
    param([string]$Namespace = 'root/cimv2', [string]$Query, [string]$ClassName, [string]$Filter, [uint32]$OperationTimeoutSec)

    try {
        Get-StandInRow -Question @{ what = 'query'; namespace = $Namespace; query = $Query; class = $ClassName; filter = $Filter }
    }
    catch {
        Write-Error -ErrorRecord $_
    }
}

function Set-CimInstance {
    [CmdletBinding()]
    param([object]$InputObject, [hashtable]$Property, [uint32]$OperationTimeoutSec)

    try {
        $null = Request-StandIn -Question @{ cim = @{ what = 'set'; class = $InputObject.CimClass.CimClassName; values = $Property } }
    }
    catch {
        Write-Error -ErrorRecord $_
    }
}

function Invoke-CimMethod {
    [CmdletBinding()]
    param([object]$InputObject, [string]$MethodName, [hashtable]$Arguments, [uint32]$OperationTimeoutSec)

    try {
        $class = $InputObject.CimClass.CimClassName
        Request-StandIn -Question @{ cim = @{ what = 'method'; class = $class; method = $MethodName; values = $Arguments } }
    }
    catch {
        Write-Error -ErrorRecord $_
    }
}

Export-ModuleMember -Function Get-CimInstance, Set-CimInstance, Invoke-CimMethod
