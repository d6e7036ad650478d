module winkube.invalid/program

go 1.21
