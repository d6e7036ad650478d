# Which overload PowerShell takes: a JSON list of {type, name, how, arguments: [expression, ..]} on standard input, one
# signature a line on standard output. Asked of PowerShell's own choice of methods, which is not public.
Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'
$hidden = [Reflection.BindingFlags]'NonPublic, Static'
$engine = [psobject].Assembly
$wrap = $engine.GetType('System.Management.Automation.DotNetAdapter').GetMethod('GetMethodInformationArray', $hidden)
$best = $engine.GetType('System.Management.Automation.Adapter').GetMethod('FindBestMethod', $hidden)
foreach ($asked in (ConvertFrom-Json -InputObject ([Console]::In.ReadToEnd()))) {
    $type = [type]$asked.type
    $list = [Collections.Generic.List[Reflection.MethodBase]]::new()
    if ($asked.name -eq 'new') {
        foreach ($one in $type.GetConstructors()) { $list.Add($one) }
    }
    else {
        foreach ($one in $type.GetMember($asked.name, [Reflection.BindingFlags]"Public, $($asked.how)")) { $list.Add($one) }
    }
    $arguments = [object[]]::new(@($asked.arguments).Length)
    for ($i = 0; $i -lt $arguments.Length; $i++) {
        $value = & ([scriptblock]::Create($asked.arguments[$i]))
        $arguments[$i] = $value.psobject.BaseObject
    }
    $methods = $wrap.Invoke($null, [object[]]@(, $list.psobject.BaseObject))
    $given = [object[]]@($methods, $null, $true, $arguments, '', '', $false, $false)
    $found = $best.Invoke($null, $given)
    $method = $found.GetType().GetField('method', [Reflection.BindingFlags]'NonPublic, Instance').GetValue($found)
    $types = foreach ($one in $method.GetParameters()) {
        $before = ''
        if ($one.IsDefined([ParamArrayAttribute], $false)) { $before = 'params ' }
        elseif ($one.IsOptional) { $before = 'optional ' }
        "$before$($one.ParameterType.FullName)"
    }
    [Console]::Out.WriteLine("$($asked.name)($(@($types) -join ', '))")
}
