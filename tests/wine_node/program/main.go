// One of Windows' own programs that Wine lacks or has in name alone: its arguments are put to the node's process, which answers with
// exit code and output. Which program it is its file name says; where the process listens, a file in C:\Windows.
package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
)

const place = `C:\windows\winkube-standins.txt`

type question struct {
	Program   string   `json:"program"`
	Arguments []string `json:"arguments"`
}

type answer struct {
	Exit   int    `json:"exit"`
	Output []byte `json:"output"`
	Error  []byte `json:"error"`
}

func main() {
	said, err := ask()
	if err != nil {
		fmt.Fprintln(os.Stderr, "stand-in:", err)
		os.Exit(70)
	}
	os.Stdout.Write(said.Output)
	os.Stderr.Write(said.Error)
	os.Exit(said.Exit)
}

func ask() (answer, error) {
	var said answer
	address, err := os.ReadFile(place)
	if err != nil {
		return said, err
	}
	self, err := os.Executable()
	if err != nil {
		return said, err
	}
	connection, err := net.Dial("tcp", strings.TrimSpace(string(address)))
	if err != nil {
		return said, err
	}
	defer connection.Close()
	name := strings.ToLower(strings.TrimSuffix(filepath.Base(self), filepath.Ext(self)))
	if err := json.NewEncoder(connection).Encode(question{name, os.Args[1:]}); err != nil {
		return said, err
	}
	return said, json.NewDecoder(connection).Decode(&said)
}
