# Which members .NET has under this PowerShell: lines `type TAB name` on standard input, lines of members.tsv on standard output.
Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'

function Format-Type([type]$Type) {
    if ($Type.IsByRef) { return Format-Type $Type.GetElementType() }
    if ($Type.IsArray) { return "$(Format-Type $Type.GetElementType())[]" }
    if ($Type.IsPointer) { return "$(Format-Type $Type.GetElementType())*" }
    if ($Type.IsGenericParameter) { return $Type.Name }
    if ($Type.IsGenericType) {
        $inside = @(foreach ($one in $Type.GetGenericArguments()) { Format-Type $one })
        return "$($Type.GetGenericTypeDefinition().FullName)[$($inside -join ',')]"
    }
    return $Type.FullName
}

function Format-Parameters($Method) {
    $found = foreach ($one in $Method.GetParameters()) {
        $before = ''
        if ($one.ParameterType.IsByRef) { $before = 'ref ' }
        if ($one.IsDefined([ParamArrayAttribute], $false)) { $before = 'params ' }
        elseif ($one.IsOptional) { $before = 'optional ' }
        "$before$(Format-Type $one.ParameterType) $($one.Name)"
    }
    return "($(@($found) -join ', '))"
}

# What the scripts load with Add-Type.
foreach ($name in @('System.Net.Http', 'System.IO.Compression', 'System.IO.Compression.ZipFile', 'System.ServiceProcess.ServiceController',
        'System.Runtime.Numerics', 'System.Text.Json')) {
    try { Add-Type -AssemblyName $name } catch { $null = $_ }
}
$public = [Reflection.BindingFlags]'Public, Instance, Static, FlattenHierarchy'
while ($null -ne ($line = [Console]::In.ReadLine())) {
    $typeName, $name = $line.Split("`t")
    $type = $typeName -as [type]
    if ($null -eq $type) { continue }
    $assembly = $type.Assembly.GetName().Name
    if ($name -eq '') {
        $kind = 'class'
        if ($type.IsEnum) { $kind = 'enum' } elseif ($type.IsValueType) { $kind = 'struct' } elseif ($type.IsInterface) { $kind = 'interface' }
        elseif ($type.IsAbstract -and $type.IsSealed) { $kind = 'static' }
        $base = ''
        if ($null -ne $type.BaseType) { $base = Format-Type $type.BaseType }
        [Console]::Out.WriteLine("$assembly`t$typeName`ttype`t$kind`t$base")
        continue
    }
    if ($name -eq 'new') {
        foreach ($one in $type.GetConstructors()) {
            [Console]::Out.WriteLine("$assembly`t$typeName`tnew`tinstance`t$(Format-Parameters $one)")
        }
        continue
    }
    foreach ($one in $type.GetMember($name, $public)) {
        $how = 'instance'
        if ($one.MemberType -eq 'Method') {
            if ($one.IsStatic) { $how = 'static' }
            [Console]::Out.WriteLine("$assembly`t$typeName`tmethod`t$how`t$($one.Name)$(Format-Parameters $one) $(Format-Type $one.ReturnType)")
        }
        elseif ($one.MemberType -eq 'Field') {
            if ($one.IsStatic) { $how = 'static' }
            [Console]::Out.WriteLine("$assembly`t$typeName`tfield`t$how`t$($one.Name) $(Format-Type $one.FieldType)")
        }
        elseif ($one.MemberType -eq 'Property') {
            $getter = $one.GetGetMethod()
            if ($null -ne $getter -and $getter.IsStatic) { $how = 'static' }
            $words = ''
            if ($null -ne $getter) { $words = ' get' }
            if ($null -ne $one.GetSetMethod()) { $words += ' set' }
            if ($one.GetIndexParameters().Length -gt 0) { $words += ' index' }
            [Console]::Out.WriteLine("$assembly`t$typeName`tproperty`t$how`t$($one.Name) $(Format-Type $one.PropertyType)$words")
        }
    }
}
