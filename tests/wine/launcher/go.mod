module winkube.invalid/launcher

go 1.21
