package admin_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"dedup-dashboard/internal/admin"
)

// actionName is what the name of an action looks like.
var actionName = regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)

// namesIn are the texts in a part of the source that an action could be named by.
func namesIn(n ast.Node) []string {
	var names []string
	ast.Inspect(n, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil && actionName.MatchString(text) {
				names = append(names, text)
			}
		}
		return true
	})
	return names
}

// lastName is the name that an expression ends in: that of a type, a function or a method.
func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// TestEveryActionThatTheSourceNamesIsInTheTable reads the source: a name that goes past the table would be missing in the filter of
// the audit, and nobody would notice.
func TestEveryActionThatTheSourceNamesIsInTheTable(t *testing.T) {
	known, labels := map[string]bool{}, map[string]string{}
	for _, k := range admin.ActionKinds() {
		if known[k.Name] || k.Label == "" || k.About == "" {
			t.Errorf("%+v is there twice, or does not say what it is", k)
		}
		if other, taken := labels[k.Label]; taken {
			t.Errorf("%s and %s are both called %q", k.Name, other, k.Label)
		}
		known[k.Name], labels[k.Label] = true, k.Name
	}
	found := 0
	check := func(n ast.Node) {
		for _, name := range namesIn(n) {
			if found++; !known[name] {
				t.Errorf("the action %q is not in ActionKinds", name)
			}
		}
	}
	err := filepath.WalkDir(".", func(path string, f fs.DirEntry, err error) error {
		if err != nil || f.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit:
				if lastName(n.Type) == "Action" {
					for _, e := range n.Elts {
						if kv, ok := e.(*ast.KeyValueExpr); ok && kv.Key.(*ast.Ident).Name == "Name" {
							check(kv.Value)
						}
					}
				}
			case *ast.CallExpr:
				if name := lastName(n.Fun); name == "allow" || name == "kept" || name == "control" {
					for _, arg := range n.Args {
						check(arg)
					}
				}
			case *ast.AssignStmt:
				if sel, ok := n.Lhs[len(n.Lhs)-1].(*ast.SelectorExpr); ok && sel.Sel.Name == "Action" {
					for _, value := range n.Rhs {
						check(value)
					}
				}
			case *ast.ValueSpec:
				if path == "kinds.go" {
					check(n)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 20 {
		t.Errorf("only %d names were found in the source: this test reads it wrongly", found)
	}
}

func TestJobsAndPlansAreInTheTableUnderTheNamesThatTheyAreWrittenBy(t *testing.T) {
	for _, do := range []admin.Move{admin.Requeue, admin.Discard, admin.RestoreLetters} {
		for _, name := range []string{admin.MoveAction(do), admin.MovePlanAction(do), "start_" + string(do)} {
			if admin.KindOf(name).About == "" {
				t.Errorf("%s is not in ActionKinds", name)
			}
		}
	}
	for _, deed := range []admin.Deed{admin.ClearMarkers, admin.SetExpiry, admin.RestoreMarkers} {
		for _, name := range []string{string(deed) + "_markers", string(deed) + "_marker", "plan_" + string(deed)} {
			if admin.KindOf(name).About != admin.AboutMarkers {
				t.Errorf("%s is not in ActionKinds", name)
			}
		}
	}
	if got := admin.KindOf("of_a_later_version"); got.Label != "of a later version" || got.About != "" {
		t.Errorf("an unknown action is %+v", got)
	}
}
