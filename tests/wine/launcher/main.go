// The launcher gives PowerShell a console of its own: on Wine without one it ends with 0 and says nothing. It starts pwsh.exe beside
// itself, else C:\pwsh\pwsh.exe: it also stands where Windows has powershell.exe. Streams, arguments and exit code are passed on.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// CREATE_NO_WINDOW: a console that has no window. Of what was started from this side Wine's console is one in name alone, and with
// CREATE_NEW_CONSOLE (0x10) Wine's conhost.exe wants a window and ends.
const noWindow = 0x08000000

const elsewhere = `C:\pwsh\pwsh.exe`

func main() {
	self, err := os.Executable()
	if err != nil {
		fail(err)
	}
	program := filepath.Join(filepath.Dir(self), "pwsh.exe")
	if _, err := os.Stat(program); err != nil {
		program = elsewhere
	}
	command := exec.Command(program, os.Args[1:]...)
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	command.SysProcAttr = &syscall.SysProcAttr{CreationFlags: noWindow}
	var ended *exec.ExitError
	if err := command.Run(); errors.As(err, &ended) {
		os.Exit(ended.ExitCode())
	} else if err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "launcher:", err)
	os.Exit(70)
}
