package internal_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// The limits of docs/architecture.md: what stays within them can be read at one go.
const (
	maxFiles   = 25 // of a package
	maxLines   = 5000
	maxMethods = 40 // of a type
	maxBody    = 80 // lines of a function
)

// moreFiles are the packages that may have more files: a vocabulary has many words, a journal many tables.
var moreFiles = map[string]int{"internal/dedup": 40, "internal/journal": 40}

// oversize lists what is beyond the limits, with its size. It only shrinks: the test fails for a size that grows, and for a line
// that says more than there is. Lines of a package are rounded up to hundreds, so that not every change touches the table.
var oversize = map[string]int{
	"files of internal/dedup":                        46,
	"methods of internal/broker.Client":              47,
	"methods of internal/markers/sql.store":          51,
	"lines of func internal/markers/exports.recipes": 81,
}

func TestSizes(t *testing.T) {
	found := make(sizes)
	for dir, files := range codeByFolder(t) {
		if dir != "web/templates" {
			found.addPackage(dir, files)
		}
	}
	for _, what := range slices.Sorted(maps.Keys(union(found, oversize))) {
		if complaint := compare(what, found[what], oversize[what]); complaint != "" {
			t.Error(complaint)
		}
	}
}

// TestSizesMayOnlyShrink tries the comparison, and that each way to be too large is seen.
func TestSizesMayOnlyShrink(t *testing.T) {
	for name, tt := range map[string]struct {
		is, listed int
		want       string
	}{
		"it is new":               {26, 0, "limit is 25; stay within rather than write\n\t\"files of x\": 26,"},
		"it grows":                {28, 27, "oversize allows 27; stay within rather than write\n\t\"files of x\": 28,"},
		"it is as it was":         {27, 27, ""},
		"it shrinks":              {26, 27, "oversize allows 27; write\n\t\"files of x\": 26,"},
		"it is within the limit":  {0, 27, "delete\n\t\"files of x\": 27,"},
		"it was never beyond one": {0, 0, ""},
	} {
		got := compare("files of x", size{tt.is, 25}, tt.listed)
		if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	text := "package x\n\ntype T[K any] struct{}\n\n// F has a comment.\nfunc F() {" + strings.Repeat("\n", maxBody) + "}\n"
	for i := range maxMethods + 1 {
		text += fmt.Sprintf("\nfunc (t *T[K]) M%d() {}\n", i)
	}
	files := []source{{name: "a/x/x_y.go", text: []byte(text)}, {name: "a/x/z.go", text: []byte("package x\n" + strings.Repeat("\n", maxLines))}}
	for i := range maxFiles {
		files = append(files, source{name: fmt.Sprintf("a/x/f%d.go", i), text: []byte("package x\n")})
	}
	for i := range files {
		files[i].parse(t)
	}
	found := make(sizes)
	found.addPackage("a/x", files)
	want := map[string]int{"files of a/x": 27, "lines of a/x": 5200, "methods of a/x.T": 41, "lines of func a/x.F": 81, "names a/x/x_*.go": 1}
	for what := range union(found, want) {
		if found[what].is != want[what] {
			t.Errorf("%s: %d, want %d", what, found[what].is, want[what])
		}
	}
}

// TestTokens prints how much code there is, whatever its layout and comments; go test -v shows it.
func TestTokens(t *testing.T) {
	total, parts := 0, make(map[string]int)
	for dir, files := range codeByFolder(t) {
		for _, f := range files {
			n := f.tokens()
			total, parts[topFolder(dir)] = total+n, parts[topFolder(dir)]+n
		}
	}
	if total < 100_000 {
		t.Errorf("only %d tokens found", total)
	}
	t.Logf("%8d tokens of Go outside lab/, without tests, comments and generated code", total)
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		t.Logf("%8d %s", parts[name], name)
	}
}

// A size is a count that is beyond its limit; 0 stands for one that is not.
type size struct{ is, limit int }

// sizes are what is beyond a limit, by the words that oversize has for it.
type sizes map[string]size

// add keeps a count that is beyond its limit, rounded up to a multiple of step.
func (s sizes) add(what string, count, limit, step int) {
	if count > limit {
		s[what] = size{(count + step - 1) / step * step, limit}
	}
}

func (s sizes) addPackage(dir string, files []source) {
	lines, prefixed, methods := 0, 0, make(map[string]int)
	for _, f := range files {
		lines += bytes.Count(f.text, []byte("\n"))
		if strings.HasPrefix(path.Base(f.name), path.Base(dir)+"_") {
			prefixed++ // the folder says it already
		}
		for _, d := range f.syntax.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			name := fn.Name.Name
			if fn.Recv != nil {
				receiver := receiverType(fn.Recv.List[0].Type)
				methods[receiver]++
				name = receiver + "." + name
			}
			s.add("lines of func "+dir+"."+name, f.linesOf(fn), maxBody, 1)
		}
	}
	s.add("files of "+dir, len(files), max(maxFiles, moreFiles[dir]), 1)
	s.add("lines of "+dir, lines, maxLines, 100)
	s.add("names "+dir+"/"+path.Base(dir)+"_*.go", prefixed, 0, 1)
	for name, n := range methods {
		s.add("methods of "+dir+"."+name, n, maxMethods, 1)
	}
}

// receiverType is the name of the type that a method belongs to.
func receiverType(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiverType(e.X)
	case *ast.IndexExpr:
		return receiverType(e.X)
	case *ast.IndexListExpr:
		return receiverType(e.X)
	case *ast.Ident:
		return e.Name
	}
	return "?"
}

// compare says what is wrong with a size that oversize allows, and the line to write; listed is 0 without a line.
func compare(what string, found size, listed int) string {
	line := func(n int) string { return fmt.Sprintf("\n\t%q: %d,", what, n) }
	switch {
	case found.is == listed:
		return ""
	case found.is == 0:
		return what + " are within their limit; in oversize delete" + line(listed)
	case listed == 0:
		return fmt.Sprintf("%s: %d, the limit is %d; stay within rather than write%s", what, found.is, found.limit, line(found.is))
	case found.is > listed:
		return fmt.Sprintf("%s: %d, oversize allows %d; stay within rather than write%s", what, found.is, listed, line(found.is))
	default:
		return fmt.Sprintf("%s: %d, oversize allows %d; write%s", what, found.is, listed, line(found.is))
	}
}

// union is the set of the keys of both.
func union[A, B any](a map[string]A, b map[string]B) map[string]bool {
	all := make(map[string]bool)
	for k := range a {
		all[k] = true
	}
	for k := range b {
		all[k] = true
	}
	return all
}

// A source is a file of Go that people wrote and programs run.
type source struct {
	name   string // from the root of the repository
	text   []byte
	set    *token.FileSet
	syntax *ast.File
}

func (f *source) parse(t *testing.T) {
	t.Helper()
	f.set = token.NewFileSet()
	var err error
	if f.syntax, err = parser.ParseFile(f.set, f.name, f.text, parser.ParseComments|parser.SkipObjectResolution); err != nil {
		t.Fatal(err)
	}
}

// linesOf counts the lines of a part of the file.
func (f *source) linesOf(part ast.Node) int {
	return f.set.Position(part.End()).Line - f.set.Position(part.Pos()).Line + 1
}

// tokens counts what the compiler reads: no comments, and no semicolons that are not written.
func (f *source) tokens() int {
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile(f.name, -1, len(f.text)), f.text, nil, 0)
	n := 0
	for {
		_, kind, literal := s.Scan()
		switch {
		case kind == token.EOF:
			return n
		case kind == token.SEMICOLON && literal != ";":
		default:
			n++
		}
	}
}

// codeByFolder reads the code of the programs, and leaves out tests, generated code and lab/.
func codeByFolder(t *testing.T) map[string][]source {
	t.Helper()
	root := os.DirFS("..")
	code := make(map[string][]source)
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name != "." && (strings.HasPrefix(d.Name(), ".") || slices.Contains([]string{"lab", "testdata", "node_modules"}, d.Name())) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		f := source{name: name, text: text}
		if f.parse(t); !ast.IsGenerated(f.syntax) {
			code[path.Dir(name)] = append(code[path.Dir(name)], f)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// topFolder is the room that a folder belongs to: internal/admin for internal/admin/requeue.
func topFolder(dir string) string {
	parts := strings.Split(dir, "/")
	return strings.Join(parts[:min(len(parts), 2)], "/")
}
