# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The Host Network Service (HNS) by HNSCall of vmcompute.dll, and its lists as they come. This text travels only with what needs it
# (docs/protocol.md, `hns`), with read.ps1 or change.ps1 behind it: no other text of the collection calls Windows by P/Invoke.
# shared/hns_block.ps1 makes a script block of it, in a module or in the runner.

param([string]$What = '', [object]$Arguments = $null, [object]$Run = $null)

Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'

function Get-NodeHnsLibrary {
    <# .SYNOPSIS The path of vmcompute.dll, empty where there is none: the Windows feature Containers brings it. #>
    $path = [System.IO.Path]::Combine([System.Environment]::GetFolderPath('System'), 'vmcompute.dll')
    if ([System.IO.Path]::IsPathRooted($path) -and [System.IO.File]::Exists($path)) {
        return [string]$path
    }
    return ''
}

function Get-NodeHnsType {
    <#
    .SYNOPSIS
    A type whose static method Run(object) hands the four pointers of an IntPtr[] to HNSCall; made once in a process.

    .NOTES
    HRESULT HNSCall(LPCWSTR method, LPCWSTR path, LPCWSTR request, LPWSTR *response). Source: microsoft/hcsshim internal/hns/hns.go.
    Emitted, not compiled by Add-Type: that takes seconds and starts a compiler. All parameters are pointers, so that nothing is left
    to marshalling. Run is no script block, because those do not run on a thread that has no runspace.
    #>
    param([string]$Library)

    $name = 'winkube_hns_1'
    foreach ($loaded in [System.AppDomain]::CurrentDomain.GetAssemblies()) {
        if (([string]$loaded.FullName).StartsWith($name + ',', [System.StringComparison]::Ordinal)) {
            $found = $loaded.GetType('WinkubeHns')
            if ($null -ne $found) {
                return $found
            }
        }
    }
    $title = New-Object System.Reflection.AssemblyName($name)
    $access = [System.Reflection.Emit.AssemblyBuilderAccess]::Run
    if ($PSVersionTable.PSVersion.Major -ge 6) {
        $assembly = [System.Reflection.Emit.AssemblyBuilder]::DefineDynamicAssembly($title, $access)
    }
    else {
        $assembly = [System.AppDomain]::CurrentDomain.DefineDynamicAssembly($title, $access)
    }
    $builder = $assembly.DefineDynamicModule($name).DefineType('WinkubeHns', [System.Reflection.TypeAttributes]::Public)
    $public = [System.Reflection.MethodAttributes]'Public, Static'
    [System.Type[]]$pointers = @([System.IntPtr], [System.IntPtr], [System.IntPtr], [System.IntPtr])
    $native = $builder.DefinePInvokeMethod('HNSCall', $Library, ($public -bor [System.Reflection.MethodAttributes]::PinvokeImpl),
        [System.Reflection.CallingConventions]::Standard, [System.Int32], $pointers,
        [System.Runtime.InteropServices.CallingConvention]::Winapi, [System.Runtime.InteropServices.CharSet]::Unicode)
    # Else the HRESULT would become an exception, and the number that is returned something else.
    $native.SetImplementationFlags([System.Reflection.MethodImplAttributes]::PreserveSig)
    [System.Type[]]$one = @([System.Object])
    $run = $builder.DefineMethod('Run', $public, [System.Int32], $one)
    $code = $run.GetILGenerator()
    foreach ($index in @(0, 1, 2, 3)) {
        $code.Emit([System.Reflection.Emit.OpCodes]::Ldarg_0)
        $code.Emit([System.Reflection.Emit.OpCodes]::Castclass, [System.IntPtr[]])
        $code.Emit([System.Reflection.Emit.OpCodes]::Ldc_I4, [int]$index)
        $code.Emit([System.Reflection.Emit.OpCodes]::Ldelem_I)
    }
    $code.Emit([System.Reflection.Emit.OpCodes]::Call, $native)
    $code.Emit([System.Reflection.Emit.OpCodes]::Ret)
    return $builder.CreateType()
}

function Send-NodeHnsRequest {
    <#
    .SYNOPSIS
    One request to HNS; the text that it answers, which may itself say that it failed. Failure is how a sentence about one begins.
    Throws a sentence, as TimeoutException if there is no answer.
    #>
    param([string]$Method, [string]$Path, [string]$Failure, [string]$Request = '', [int]$TimeoutMs = 10000)

    $library = Get-NodeHnsLibrary
    if ($library -eq '') {
        throw 'There is no Host Network Service; install the Windows feature Containers and restart.'
    }
    $task = $null
    $slot = [System.Runtime.InteropServices.Marshal]::AllocHGlobal([System.IntPtr]::Size)
    [System.Runtime.InteropServices.Marshal]::WriteIntPtr($slot, [System.IntPtr]::Zero)
    # A plain array: what New-Object gives is wrapped by PowerShell, and the cast in Run would fail.
    [System.IntPtr[]]$pointers = @(
        [System.Runtime.InteropServices.Marshal]::StringToHGlobalUni($Method),
        [System.Runtime.InteropServices.Marshal]::StringToHGlobalUni($Path),
        [System.Runtime.InteropServices.Marshal]::StringToHGlobalUni($Request),
        $slot)
    try {
        $type = Get-NodeHnsType -Library $library
        $run = [System.Delegate]::CreateDelegate([System.Func[System.Object, System.Int32]], $type.GetMethod('Run'))
        $task = [System.Threading.Tasks.Task[System.Int32]]::Factory.StartNew($run, $pointers)
        if (-not $task.Wait($TimeoutMs)) {
            throw (New-Object System.TimeoutException("${Failure}: it gave no answer within $TimeoutMs ms"))
        }
        $result = [int]$task.Result
        $text = ''
        $answer = [System.Runtime.InteropServices.Marshal]::ReadIntPtr($slot)
        if ($answer -ne [System.IntPtr]::Zero) {
            $text = [string][System.Runtime.InteropServices.Marshal]::PtrToStringUni($answer)
            [System.Runtime.InteropServices.Marshal]::FreeCoTaskMem($answer)
        }
    }
    finally {
        # A call that still runs uses them: then they are left to it, a few bytes until this process ends.
        if ($null -eq $task -or $task.IsCompleted) {
            foreach ($pointer in $pointers) {
                [System.Runtime.InteropServices.Marshal]::FreeHGlobal($pointer)
            }
        }
    }
    if ($result -lt 0) {
        $reason = New-Object System.ComponentModel.Win32Exception($result)
        $number = $result.ToString('x8', [System.Globalization.CultureInfo]::InvariantCulture)
        throw "${Failure}: $($reason.Message.Trim()) (0x$number)"
    }
    if ($text -eq '') {
        throw "${Failure}: it answered nothing"
    }
    return $text
}

function Read-NodeHns {
    <# .SYNOPSIS The query `hns`. A service that does not run is not started. #>
    param([object[]]$Objects)

    if ((Get-NodeHnsLibrary) -eq '') {
        return @{ available = $false }
    }
    $state = Get-NodeServiceState -Name 'hns'
    if ($state -ceq 'absent') {
        return @{ available = $false }
    }
    $answer = @{ available = $true }
    foreach ($object in $Objects) {
        $name = [string]$object
        try {
            if (@('networks', 'endpoints', 'policylists', 'namespaces') -cnotcontains $name) {
                throw "The Host Network Service is not asked for '$name'; there are networks, endpoints, policylists, namespaces."
            }
            if ($state -cne 'running') {
                throw "The service hns is $state, and a reading does not start it."
            }
            $answer[$name] = Send-NodeHnsRequest -Method 'GET' -Path "/$name/" -Failure "HNS did not list its $name"
        }
        catch {
            $answer[$name] = @{ error = (Get-NodeErrorText -Record $_) }
        }
    }
    return $answer
}
