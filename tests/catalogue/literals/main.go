// Reads packages as JSON on stdin ({"Path", "Dir", "Files"} each) and prints each literal of an error, of a line that
// is logged at warning or above, or of an event, as JSON: package, file, function, kind, literal, codes, wraps.
// And each constant that stands for a code of Windows, as "code".
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

type Package struct {
	Path, Dir string
	Files     []string
}

type Found struct {
	Package, File, Function, Kind, Literal string
	Codes                                  []string `json:",omitempty"`
	Wraps                                  bool     `json:",omitempty"`
}

// call says which argument is the text, and what kind of text it is.
type call struct {
	kind  string
	text  int
	wraps bool
}

// Functions of these names, of a package with the name before the point, or of any value ("*").
var known = map[string]call{
	"errors.New": {"error", 0, false}, "errors.Errorf": {"error", 0, false}, "fmt.Errorf": {"error", 0, false},
	"errors.Wrap": {"error", 1, true}, "errors.Wrapf": {"error", 1, true},
	"errors.WithMessage": {"error", 1, true}, "errors.WithMessagef": {"error", 1, true},
	"errors.NewBadRequest": {"error", 0, false}, "errors.NewInternalError": {"error", 0, false},
	"errors.NewServiceUnavailable": {"error", 0, false}, "errors.NewUnauthorized": {"error", 0, false},
	"status.Error": {"error", 1, false}, "status.Errorf": {"error", 1, false}, "status.New": {"error", 1, false},
	"status.Newf": {"error", 1, false}, "status.Err": {"error", 1, false},
	"connection.Errorf": {"error", 0, false}, "types.NewError": {"error", 1, false},
	"log.New": {}, "os.NewSyscallError": {"error", 0, true},
	"wmi.New": {}, "hcserror.New": {"error", 1, true}, "hcserror.Errorf": {"error", 1, true},
	"field.Invalid": {"error", 2, false}, "field.Forbidden": {"error", 1, false}, "field.Required": {"error", 1, false},
	"runtime.HandleError": {"log", 0, false}, "runtime.HandleErrorWithContext": {"log", 2, true},
	"runtime.HandleErrorWithLogger": {"log", 2, true}, "utilruntime.HandleErrorWithContext": {"log", 2, true},
	"utilruntime.HandleErrorWithLogger": {"log", 2, true},
	"klog.ErrorS":                       {"log", 1, true}, "klog.ErrorSDepth": {"log", 2, true}, "klog.Background": {},
	"klog.Error": {"log", 0, false}, "klog.Errorf": {"log", 0, false}, "klog.Errorln": {"log", 0, false},
	"klog.Fatal": {"log", 0, false}, "klog.Fatalf": {"log", 0, false}, "klog.Exit": {"log", 0, false},
	"klog.Exitf": {"log", 0, false}, "klog.Warning": {"log", 0, false}, "klog.Warningf": {"log", 0, false},
	"klog.Warningln": {"log", 0, false}, "klog.InfoS": {"info", 0, false},
	"logs.GlogWriter": {},
	"fmt.Fprintf":     {"stderr", 1, false}, "fmt.Fprintln": {"stderr", 1, false}, "fmt.Fprint": {"stderr", 1, false},
	"fmt.Sprintf": {"text", 0, false},
	"*.Errorf":    {"log", 0, false}, "*.Error": {"log", 0, false}, "*.Errorln": {"log", 0, false},
	"*.Warnf": {"log", 0, false}, "*.Warn": {"log", 0, false}, "*.Warning": {"log", 0, false},
	"*.Warningf": {"log", 0, false}, "*.Fatal": {"log", 0, false}, "*.Fatalf": {"log", 0, false},
	"*.Panicf": {"log", 0, false}, "*.Panic": {"log", 0, false}, "*.Info": {"info", 0, false},
	"*.ErrorS": {"log", 1, true}, "*.InfoS": {"info", 0, false},
	"*.Event": {"event", 2, false}, "*.Eventf": {"event", 2, false}, "*.AnnotatedEventf": {"event", 3, false},
	"*.WithMessage": {"error", 0, true},
	// of a volume to mount or attach, of HCN's answers
	"*.GenerateError": {"error", 0, true}, "*.GenerateErrorDetailed": {"error", 0, true},
	".checkForErrors": {"error", 0, true},
}

// file is what is known while one file is walked.
type file struct {
	pack      Package
	name      string
	imports   map[string]string
	constants map[string]ast.Expr
	out       *json.Encoder
}

var verb = regexp.MustCompile(`%[-+# 0-9.*\[\]]*[a-zA-Z]`)

func (f *file) constant(of ast.Expr, depth int) (string, bool) {
	if depth > 8 {
		return "", false
	}
	switch e := of.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, err := strconv.Unquote(e.Value)
			return text, err == nil
		}
	case *ast.ParenExpr:
		return f.constant(e.X, depth+1)
	case *ast.BinaryExpr:
		if e.Op != token.ADD {
			return "", false
		}
		left, known := f.constant(e.X, depth+1)
		right, also := f.constant(e.Y, depth+1)
		if !known && !also {
			return "", false
		}
		if !known {
			left = "%v"
		}
		if !also {
			right = "%v"
		}
		return left + right, true
	case *ast.Ident:
		if value, there := f.constants[e.Name]; there && value != nil {
			return f.constant(value, depth+1)
		}
	case *ast.CallExpr:
		if name := f.callee(e); (name == "fmt.Sprintf" || name == "errors.New" || name == "fmt.Errorf") && len(e.Args) > 0 {
			return f.constant(e.Args[0], depth+1)
		}
	}
	return "", false
}

func (f *file) callee(of *ast.CallExpr) string {
	switch fun := of.Fun.(type) {
	case *ast.SelectorExpr:
		if id, plain := fun.X.(*ast.Ident); plain {
			if path, there := f.imports[id.Name]; there {
				base := path[strings.LastIndex(path, "/")+1:]
				if regexp.MustCompile(`^v\d+$`).MatchString(base) {
					rest := strings.Split(path, "/")
					base = rest[len(rest)-2]
				}
				return base + "." + fun.Sel.Name
			}
		}
		return "*." + fun.Sel.Name
	case *ast.Ident:
		return "." + fun.Name
	}
	return ""
}

func isError(of ast.Expr) bool {
	switch e := of.(type) {
	case *ast.Ident:
		low := strings.ToLower(e.Name)
		return low == "err" || strings.HasSuffix(low, "err") || strings.HasPrefix(e.Name, "err")
	case *ast.CallExpr:
		if s, is := e.Fun.(*ast.SelectorExpr); is {
			return s.Sel.Name == "Error" || s.Sel.Name == "NewAggregate"
		}
	case *ast.SelectorExpr:
		return strings.HasSuffix(strings.ToLower(e.Sel.Name), "err") || strings.HasSuffix(strings.ToLower(e.Sel.Name), "error")
	}
	return false
}

func (f *file) say(function, kind, text string, codes []string, wraps bool) {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > 600 {
		return
	}
	f.out.Encode(Found{f.pack.Path, f.name, function, kind, text, codes, wraps})
}

func (f *file) code(of ast.Expr) []string {
	if s, is := of.(*ast.SelectorExpr); is {
		if id, plain := s.X.(*ast.Ident); plain && id.Name == "codes" {
			return []string{"gRPC " + s.Sel.Name}
		}
	}
	return nil
}

func (f *file) call(function string, of *ast.CallExpr) {
	name := f.callee(of)
	what, there := known[name]
	if !there && strings.Contains(name, ".") {
		if at := strings.Index(name, "."); name[:at] != "fmt" && name[:at] != "strings" && name[:at] != "" {
			what, there = known["*"+name[at:]]
		}
	}
	if !there && (name == ".panic") {
		what, there = call{"log", 0, false}, true
	}
	if !there || what.kind == "" || len(of.Args) <= what.text {
		return
	}
	first := what.text
	if name == "fmt.Fprintf" || name == "fmt.Fprintln" || name == "fmt.Fprint" {
		s, is := of.Args[0].(*ast.SelectorExpr)
		if !is || s.Sel.Name != "Stderr" {
			return
		}
	}
	wraps := what.wraps
	// logr's Error(err, "text", ...) and event's type
	if strings.HasSuffix(name, ".Error") && what.kind == "log" && len(of.Args) > 1 {
		if _, literal := f.constant(of.Args[0], 0); !literal {
			first, wraps = 1, true
		}
	}
	var codes []string
	if what.kind == "event" && len(of.Args) > first {
		for _, arg := range of.Args[1:] {
			if s, is := arg.(*ast.SelectorExpr); is && s.Sel.Name == "EventTypeNormal" {
				return
			}
		}
		first++ // behind its reason
		if first >= len(of.Args) {
			return
		}
	}
	if what.kind == "info" {
		told := false
		for i, arg := range of.Args {
			if text, literal := f.constant(arg, 0); i > first && literal && (text == "err" || text == "error") {
				told = true
			}
		}
		if !told {
			return
		}
		wraps = true
	}
	if strings.HasPrefix(name, "status.") && len(of.Args) > 0 {
		codes = f.code(of.Args[0])
	}
	if what.kind == "text" {
		return // taken where it is put into a message
	}
	text, literal := f.constant(of.Args[first], 0)
	if !literal {
		return
	}
	rest := of.Args[first+1:]
	if strings.HasSuffix(name, "ln") || name == "*.Error" || name == "*.Warn" || name == "klog.Error" || name == "klog.Warning" {
		if !strings.Contains(name, "S") && first == 0 {
			for range rest {
				text += " %v"
			}
		}
	}
	for _, arg := range rest {
		if isError(arg) && (name[len(name)-1] == 'f' || strings.HasSuffix(name, "ln")) {
			wraps = true
		}
	}
	if strings.Contains(text, "%w") {
		wraps = true
	}
	f.say(function, what.kind, text, codes, wraps)
}

var spoken = regexp.MustCompile(`(?i)^(message|msg|reason|errmsg|errormessage|detail|error|err)$`)

func (f *file) walk(function string, node ast.Node) {
	ast.Inspect(node, func(at ast.Node) bool {
		switch e := at.(type) {
		case *ast.CallExpr:
			f.call(function, e)
		case *ast.KeyValueExpr: // Message: fmt.Sprintf("...")
			if id, is := e.Key.(*ast.Ident); is && spoken.MatchString(id.Name) {
				if text, literal := f.constant(e.Value, 0); literal && strings.Contains(text, " ") {
					f.say(function, "text", text, nil, false)
				}
			}
		case *ast.AssignStmt: // msg := fmt.Sprintf("...")
			for i, left := range e.Lhs {
				if id, is := left.(*ast.Ident); is && i < len(e.Rhs) && (spoken.MatchString(id.Name) || strings.HasSuffix(function, ".Error")) {
					if inner, called := e.Rhs[i].(*ast.CallExpr); called && f.callee(inner) != "fmt.Sprintf" {
						continue
					}
					if text, literal := f.constant(e.Rhs[i], 0); literal && strings.Contains(text, " ") {
						f.say(function, "text", text, nil, false)
					}
				} else if is && i < len(e.Rhs) && (id.Name == "operation" || id.Name == "title") {
					if text, literal := f.constant(e.Rhs[i], 0); literal && strings.Contains(text, "::") {
						f.say(function, "error", text, nil, true) // what HCS was asked for
					}
				}
			}
		case *ast.ReturnStmt: // of func (e T) Error() string
			if strings.HasSuffix(function, ".Error") && len(e.Results) == 1 {
				if text, literal := f.constant(e.Results[0], 0); literal && strings.Contains(text, " ") {
					f.say(function, "error", text, nil, false)
				}
			}
		}
		return true
	})
}

var number = regexp.MustCompile(`^(?:[A-Z]\w*_E_\w+|E_\w+|ERROR_\w+|RPC_S_\w+|EPT_S_\w+|WSA\w+|Err\w+|ErrorCode\w*|STATUS_\w+|NTE_\w+|CERT_E_\w+|TRUST_E_\w+|SEC_E_\w+)$`)

func (f *file) codes(of *ast.GenDecl) {
	for _, spec := range of.Specs {
		values, is := spec.(*ast.ValueSpec)
		if !is {
			continue
		}
		for i, name := range values.Names {
			if !number.MatchString(name.Name) || i >= len(values.Values) {
				continue
			}
			value := values.Values[i]
			if inner, called := value.(*ast.CallExpr); called && len(inner.Args) == 1 {
				value = inner.Args[0]
			}
			if literal, plain := value.(*ast.BasicLit); plain && literal.Kind == token.INT {
				if n, err := strconv.ParseInt(literal.Value, 0, 64); err == nil && n != 0 {
					f.out.Encode(Found{f.pack.Path, f.name, name.Name, "code", fmt.Sprintf("0x%X", uint32(n)), nil, false})
				}
			}
		}
	}
}

func receiver(of *ast.FuncDecl) string {
	if of.Recv == nil || len(of.Recv.List) == 0 {
		return of.Name.Name
	}
	kind := of.Recv.List[0].Type
	if star, is := kind.(*ast.StarExpr); is {
		kind = star.X
	}
	if index, is := kind.(*ast.IndexExpr); is {
		kind = index.X
	}
	if id, is := kind.(*ast.Ident); is {
		return id.Name + "." + of.Name.Name
	}
	return of.Name.Name
}

func read(of Package, out *json.Encoder) {
	files := token.NewFileSet()
	parsed := map[string]*ast.File{}
	constants := map[string]ast.Expr{}
	for _, name := range of.Files {
		tree, err := parser.ParseFile(files, filepath.Join(of.Dir, name), nil, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			continue
		}
		parsed[name] = tree
		for _, decl := range tree.Decls {
			if general, is := decl.(*ast.GenDecl); is && (general.Tok == token.CONST || general.Tok == token.VAR) {
				for _, spec := range general.Specs {
					values := spec.(*ast.ValueSpec)
					for i, id := range values.Names {
						if i < len(values.Values) {
							constants[id.Name] = values.Values[i]
						}
					}
				}
			}
		}
	}
	for _, name := range of.Files {
		tree := parsed[name]
		if tree == nil {
			continue
		}
		if ast.IsGenerated(tree) && !strings.HasPrefix(name, "zerrors") {
			continue
		}
		imports := map[string]string{}
		for _, one := range tree.Imports {
			path, _ := strconv.Unquote(one.Path.Value)
			base := path[strings.LastIndex(path, "/")+1:]
			if regexp.MustCompile(`^v\d+$`).MatchString(base) && strings.Contains(path, "/") {
				rest := strings.Split(path, "/")
				base = rest[len(rest)-2]
			}
			base = strings.TrimPrefix(base, "go-")
			if one.Name != nil {
				base = one.Name.Name
			}
			imports[base] = path
		}
		f := &file{of, name, imports, constants, out}
		for _, decl := range tree.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Body != nil {
					f.walk(receiver(d), d.Body)
				}
			case *ast.GenDecl:
				f.codes(d)
				for _, spec := range d.Specs {
					if values, is := spec.(*ast.ValueSpec); is {
						for i, id := range values.Names {
							if i < len(values.Values) {
								f.walk(id.Name, values.Values[i])
							}
						}
					}
				}
			}
		}
	}
}

func main() {
	in := json.NewDecoder(bufio.NewReader(os.Stdin))
	written := bufio.NewWriter(os.Stdout)
	defer written.Flush()
	out := json.NewEncoder(written)
	out.SetEscapeHTML(false)
	for in.More() {
		var one Package
		if err := in.Decode(&one); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		read(one, out)
	}
}
