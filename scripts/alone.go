//go:build ignore

// Alone prints the packages whose tests have nothing that runs beside anything else, so that a race detector has nothing to find in
// them: neither the package with its tests nor a package of ours below it starts a goroutine or has a library do so.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// listed is a package as go list -test -json tells it. Tests are packages of their own.
type listed struct {
	Dir, ImportPath, Name, ForTest string
	GoFiles                        []string
	Deps                           []string
	Module                         *struct{ Main bool }
}

func main() {
	packages, err := list()
	if err == nil {
		err = tell(packages)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "alone:", err)
		os.Exit(1)
	}
}

func list() (map[string]listed, error) {
	out, err := exec.Command("go", "list", "-test", "-deps", "-json=Dir,ImportPath,Name,ForTest,GoFiles,Deps,Module", "./...").Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	packages := map[string]listed{}
	for lines := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := lines.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("read the answer of go list: %w", err)
		}
		packages[p.ImportPath] = p
	}
}

func tell(packages map[string]listed) error {
	beside := map[string]bool{}
	for path, p := range packages {
		// The program that go test makes of a package has no code of ours.
		if p.Module == nil || !p.Module.Main || isProgram(p) {
			continue
		}
		for _, name := range p.GoFiles {
			if !filepath.IsAbs(name) {
				name = filepath.Join(p.Dir, name)
			}
			starts, err := startsSomething(name)
			if err != nil {
				return err
			}
			beside[path] = beside[path] || starts
		}
	}
	for _, p := range packages {
		if isProgram(p) && !anyOf(beside, p.Deps) {
			fmt.Println(strings.TrimSuffix(p.ImportPath, ".test"))
		}
	}
	return nil
}

func isProgram(p listed) bool { return p.Name == "main" && strings.HasSuffix(p.ImportPath, ".test") }

func anyOf(set map[string]bool, names []string) bool {
	for _, name := range names {
		if set[name] {
			return true
		}
	}
	return false
}

// startsSomething reports whether a file has a go statement, calls what has a function run later or tests run side by side, or
// imports what may start goroutines.
func startsSomething(name string) (bool, error) {
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
	if err != nil {
		return false, err
	}
	for _, spec := range file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return false, err
		}
		if mayStart(path) {
			return true, nil
		}
	}
	found := false
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.SelectorExpr:
			found = found || n.Sel.Name == "AfterFunc" || n.Sel.Name == "Go" || n.Sel.Name == "Parallel"
		}
		return !found
	})
	return found, nil
}

// mayStart reports whether an import may start goroutines: so may all libraries but those that were looked at.
func mayStart(path string) bool {
	switch path {
	case "net", "net/http", "net/http/httptest", "os/exec", "database/sql", "testing/synctest":
		return true
	case "pgregory.net/rapid": // runs one case after the other
		return false
	}
	domain, _, _ := strings.Cut(path, "/")
	return strings.Contains(domain, ".")
}
