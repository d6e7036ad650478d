// What the tests ask of a Windows machine while it runs: registry, services, processes, named pipes.
//
// One JSON object per line on standard input, one on standard output: {"id": n, "op": ..., ...} -> {"id": n, "ok": ...}
// or {"id": n, "error": <Win32 error>, "call": <function that failed>}. An answer is what the Win32 function said.
package main

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
)

type request struct {
	ID      int             `json:"id"`
	Op      string          `json:"op"`
	Path    string          `json:"path"`
	Name    string          `json:"name"`
	Type    string          `json:"type"`
	Data    json.RawMessage `json:"data"`
	Pid     uint32          `json:"pid"`
	Code    uint32          `json:"code"`
	Binary  *string         `json:"binary"`
	Start   *uint32         `json:"start"`
	Display *string         `json:"display"`
}

type value struct {
	Name string `json:"name"`
	Type string `json:"type"`
	Data any    `json:"data"`
}

type key struct {
	Path   string  `json:"path"`
	Values []value `json:"values"`
}

type service struct {
	Name     string `json:"name"`
	State    uint32 `json:"state"`
	Pid      uint32 `json:"pid"`
	Exit     uint32 `json:"exit"`
	Specific uint32 `json:"specific"`
}

type process struct {
	Pid    uint32 `json:"pid"`
	Parent uint32 `json:"parent"`
	Name   string `json:"name"`
	Path   string `json:"path"`
}

// failure is a Win32 error with the function that returned it.
type failure struct {
	call string
	err  error
}

func (f failure) Error() string { return fmt.Sprintf("%s: %v", f.call, f.err) }

func (f failure) Unwrap() error { return f.err }

func failed(call string, err error) error {
	if err == nil {
		return nil
	}
	return failure{call, err}
}

var kinds = map[uint32]string{
	registry.SZ: "string", registry.EXPAND_SZ: "expand_string", registry.MULTI_SZ: "multi_string",
	registry.DWORD: "dword", registry.QWORD: "qword", registry.BINARY: "binary", registry.NONE: "none",
}

func open(path string, access uint32) (registry.Key, error) {
	found, err := registry.OpenKey(registry.LOCAL_MACHINE, path, access|registry.WOW64_64KEY)
	return found, failed("RegOpenKeyEx", err)
}

func values(found registry.Key) ([]value, error) {
	names, err := found.ReadValueNames(-1)
	if err != nil {
		return nil, failed("RegEnumValue", err)
	}
	result := []value{}
	for _, name := range names {
		size, kind, err := found.GetValue(name, nil)
		if err != nil {
			continue // gone since
		}
		one := value{Name: name, Type: kinds[kind]}
		switch kind {
		case registry.SZ, registry.EXPAND_SZ:
			one.Data, _, err = found.GetStringValue(name)
		case registry.MULTI_SZ:
			one.Data, _, err = found.GetStringsValue(name)
		case registry.DWORD, registry.QWORD:
			one.Data, _, err = found.GetIntegerValue(name)
		default:
			raw := make([]byte, size)
			var count int
			count, _, err = found.GetValue(name, raw)
			one.Data = hex.EncodeToString(raw[:count])
		}
		if err == nil {
			result = append(result, one)
		}
	}
	return result, nil
}

func walk(path string, shown string, result *[]key) error {
	found, err := open(path, registry.READ)
	if err != nil {
		return err
	}
	defer found.Close()
	all, err := values(found)
	if err != nil {
		return err
	}
	*result = append(*result, key{shown, all})
	below, err := found.ReadSubKeyNames(-1)
	if err != nil {
		return failed("RegEnumKeyEx", err)
	}
	for _, name := range below {
		next := name
		if shown != "" {
			next = shown + `\` + name
		}
		var inner failure
		if err := walk(path+`\`+name, next, result); err != nil {
			if !errors.As(err, &inner) || !errors.Is(inner.err, registry.ErrNotExist) {
				return err // else it has gone since
			}
		}
	}
	return nil
}

func set(asked request) error {
	found, _, err := registry.CreateKey(registry.LOCAL_MACHINE, asked.Path, registry.ALL_ACCESS|registry.WOW64_64KEY)
	if err != nil {
		return failed("RegCreateKeyEx", err)
	}
	defer found.Close()
	var text string
	var number uint64
	var several []string
	switch asked.Type {
	case "":
		return nil // the key alone
	case "string", "expand_string", "binary":
		err = json.Unmarshal(asked.Data, &text)
	case "multi_string":
		err = json.Unmarshal(asked.Data, &several)
	default:
		err = json.Unmarshal(asked.Data, &number)
	}
	if err != nil {
		return err
	}
	switch asked.Type {
	case "string":
		err = found.SetStringValue(asked.Name, text)
	case "expand_string":
		err = found.SetExpandStringValue(asked.Name, text)
	case "multi_string":
		err = found.SetStringsValue(asked.Name, several)
	case "dword":
		err = found.SetDWordValue(asked.Name, uint32(number))
	case "qword":
		err = found.SetQWordValue(asked.Name, number)
	case "binary":
		var raw []byte
		if raw, err = hex.DecodeString(text); err == nil {
			err = found.SetBinaryValue(asked.Name, raw)
		}
	}
	return failed("RegSetValueEx", err)
}

func deleteTree(path string) error {
	found, err := open(path, registry.ALL_ACCESS)
	if err != nil {
		return err
	}
	below, err := found.ReadSubKeyNames(-1)
	found.Close()
	if err != nil {
		return failed("RegEnumKeyEx", err)
	}
	for _, name := range below {
		if err := deleteTree(path + `\` + name); err != nil {
			return err
		}
	}
	return failed("RegDeleteKey", registry.DeleteKey(registry.LOCAL_MACHINE, path))
}

func services() ([]service, error) {
	manager, err := windows.OpenSCManager(nil, nil, windows.SC_MANAGER_ENUMERATE_SERVICE|windows.SC_MANAGER_CONNECT)
	if err != nil {
		return nil, failed("OpenSCManager", err)
	}
	defer windows.CloseServiceHandle(manager)
	var needed, returned uint32
	buffer := make([]byte, 1<<18)
	err = windows.EnumServicesStatusEx(manager, windows.SC_ENUM_PROCESS_INFO, windows.SERVICE_WIN32,
		windows.SERVICE_STATE_ALL, &buffer[0], uint32(len(buffer)), &needed, &returned, nil, nil)
	if err != nil {
		return nil, failed("EnumServicesStatusEx", err)
	}
	result := []service{}
	for _, one := range unsafe.Slice((*windows.ENUM_SERVICE_STATUS_PROCESS)(unsafe.Pointer(&buffer[0])), returned) {
		now := one.ServiceStatusProcess
		result = append(result, service{windows.UTF16PtrToString(one.ServiceName), now.CurrentState, now.ProcessId,
			now.Win32ExitCode, now.ServiceSpecificExitCode})
	}
	return result, nil
}

// with opens one service and closes it again.
func with(name string, access uint32, work func(windows.Handle) error) error {
	manager, err := windows.OpenSCManager(nil, nil, windows.SC_MANAGER_CONNECT)
	if err != nil {
		return failed("OpenSCManager", err)
	}
	defer windows.CloseServiceHandle(manager)
	found, err := windows.OpenService(manager, windows.StringToUTF16Ptr(name), access)
	if err != nil {
		return failed("OpenService", err)
	}
	defer windows.CloseServiceHandle(found)
	err = work(found)
	// RPC_S_CALL_FAILED_DNE: on a busy computer Wine's call does not always get to the service manager, and says so.
	for tries := 0; errors.Is(err, windows.Errno(1727)) && tries < 3; tries++ {
		time.Sleep(200 * time.Millisecond)
		err = work(found)
	}
	return err
}

func create(asked request) error {
	manager, err := windows.OpenSCManager(nil, nil, windows.SC_MANAGER_CONNECT|windows.SC_MANAGER_CREATE_SERVICE)
	if err != nil {
		return failed("OpenSCManager", err)
	}
	defer windows.CloseServiceHandle(manager)
	made, err := windows.CreateService(manager, windows.StringToUTF16Ptr(asked.Name), text(asked.Display),
		windows.SERVICE_ALL_ACCESS, windows.SERVICE_WIN32_OWN_PROCESS, *asked.Start, windows.SERVICE_ERROR_NORMAL,
		text(asked.Binary), nil, nil, nil, nil, nil)
	if err != nil {
		return failed("CreateService", err)
	}
	return failed("CloseServiceHandle", windows.CloseServiceHandle(made))
}

func text(given *string) *uint16 {
	if given == nil {
		return nil
	}
	return windows.StringToUTF16Ptr(*given)
}

func change(asked request) error {
	return with(asked.Name, windows.SERVICE_CHANGE_CONFIG, func(found windows.Handle) error {
		start := uint32(windows.SERVICE_NO_CHANGE)
		if asked.Start != nil {
			start = *asked.Start
		}
		return failed("ChangeServiceConfig", windows.ChangeServiceConfig(found, windows.SERVICE_NO_CHANGE, start,
			windows.SERVICE_NO_CHANGE, text(asked.Binary), nil, nil, nil, nil, nil, text(asked.Display)))
	})
}

// setStatus is the right that Wine's handles for SetServiceStatus have: they are handles of the service manager.
const setStatus = 0x8000

func processes() ([]process, error) {
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPPROCESS, 0)
	if err != nil {
		return nil, failed("CreateToolhelp32Snapshot", err)
	}
	defer windows.CloseHandle(snapshot)
	entry := windows.ProcessEntry32{Size: uint32(unsafe.Sizeof(windows.ProcessEntry32{}))}
	result := []process{}
	for err = windows.Process32First(snapshot, &entry); err == nil; err = windows.Process32Next(snapshot, &entry) {
		one := process{entry.ProcessID, entry.ParentProcessID, windows.UTF16ToString(entry.ExeFile[:]), ""}
		if handle, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, one.Pid); err == nil {
			buffer := make([]uint16, 1024)
			size := uint32(len(buffer))
			if windows.QueryFullProcessImageName(handle, 0, &buffer[0], &size) == nil {
				one.Path = windows.UTF16ToString(buffer[:size])
			}
			windows.CloseHandle(handle)
		}
		result = append(result, one)
	}
	return result, nil
}

func kill(pid uint32, code uint32) error {
	handle, err := windows.OpenProcess(windows.PROCESS_TERMINATE, false, pid)
	if err != nil {
		return failed("OpenProcess", err)
	}
	defer windows.CloseHandle(handle)
	return failed("TerminateProcess", windows.TerminateProcess(handle, code))
}

var waitNamedPipe = windows.NewLazySystemDLL("kernel32.dll").NewProc("WaitNamedPipeW")

// pipe says whether there is one of this name, also when all its instances are taken.
func pipe(name string) bool {
	done, _, err := waitNamedPipe.Call(uintptr(unsafe.Pointer(windows.StringToUTF16Ptr(`\\.\pipe\`+name))), 1)
	return done != 0 || err == windows.ERROR_SEM_TIMEOUT || err == windows.ERROR_PIPE_BUSY
}

func answer(asked request) (any, error) {
	switch asked.Op {
	case "walk":
		found := []key{}
		err := walk(asked.Path, "", &found)
		return found, err
	case "set":
		return true, set(asked)
	case "delete_value":
		found, err := open(asked.Path, registry.ALL_ACCESS)
		if err != nil {
			return nil, err
		}
		defer found.Close()
		return true, failed("RegDeleteValue", found.DeleteValue(asked.Name))
	case "delete_key":
		return true, deleteTree(asked.Path)
	case "services":
		return services()
	case "create":
		return true, create(asked)
	case "change":
		return true, change(asked)
	case "start":
		return true, with(asked.Name, windows.SERVICE_START, func(found windows.Handle) error {
			return failed("StartService", windows.StartService(found, 0, nil))
		})
	case "stop":
		return true, with(asked.Name, windows.SERVICE_STOP, func(found windows.Handle) error {
			var now windows.SERVICE_STATUS
			return failed("ControlService", windows.ControlService(found, windows.SERVICE_CONTROL_STOP, &now))
		})
	case "ended":
		return true, with(asked.Name, setStatus, func(found windows.Handle) error {
			now := windows.SERVICE_STATUS{ServiceType: windows.SERVICE_WIN32_OWN_PROCESS,
				CurrentState: windows.SERVICE_STOPPED, Win32ExitCode: uint32(windows.ERROR_PROCESS_ABORTED)}
			return failed("SetServiceStatus", windows.SetServiceStatus(found, &now))
		})
	case "delete":
		return true, with(asked.Name, windows.DELETE, func(found windows.Handle) error {
			return failed("DeleteService", windows.DeleteService(found))
		})
	case "processes":
		return processes()
	case "kill":
		return true, kill(asked.Pid, asked.Code)
	case "pipe":
		return pipe(asked.Name), nil
	}
	return nil, fmt.Errorf("there is no op %s", strconv.Quote(asked.Op))
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<16), 1<<24)
	out := json.NewEncoder(os.Stdout)
	var one sync.Mutex
	for lines.Scan() {
		var asked request
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		// StartService waits for the service: the others are answered meanwhile.
		go func() {
			found, err := answer(asked)
			one.Lock()
			defer one.Unlock()
			out.Encode(reply(asked.ID, found, err))
		}()
	}
}

func reply(id int, found any, err error) map[string]any {
	var inner failure
	var code windows.Errno
	switch {
	case err == nil:
		return map[string]any{"id": id, "ok": found}
	case errors.As(err, &inner) && errors.As(inner.err, &code):
		return map[string]any{"id": id, "error": uint32(code), "call": inner.call}
	}
	return map[string]any{"id": id, "error": 0, "call": err.Error()}
}
