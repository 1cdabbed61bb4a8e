package internal_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// unwanted are the modules that the programs must not hold; stubs/ stands in for those that libraries name.
var unwanted = []string{
	"cloud.google.com/", "github.com/Azure/", "github.com/AzureAD/", "github.com/aws/", "github.com/googleapis/",
	"google.golang.org/api", "google.golang.org/genproto", "google.golang.org/grpc", "golang.org/x/oauth2", "k8s.io/", "sigs.k8s.io/",
	// Its pages call methods by name, so that the linker keeps every method of every library.
	"golang.org/x/net/trace",
}

// dependency is what "go list -deps -json" says of a package.
type dependency struct {
	ImportPath string
	Imports    []string
	Module     *struct {
		Path    string
		Replace *struct{ Path string }
	}
}

// stub is the folder that stands in for the module of the package, or "".
func (d dependency) stub() string {
	if d.Module == nil || d.Module.Replace == nil {
		return ""
	}
	return d.Module.Replace.Path
}

func dependencies(t *testing.T) []dependency {
	t.Helper()
	out, err := exec.Command("go", "list", "-deps", "-json=ImportPath,Imports,Module", "dedup-dashboard/cmd/...").Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, exitText(err))
	}
	var all []dependency
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var d dependency
		err := dec.Decode(&d)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("decode go list: %v", err)
		}
		all = append(all, d)
	}
}

func TestProgramsHoldNoCloudSDKNoRPCAndNoKubernetes(t *testing.T) {
	for _, d := range dependencies(t) {
		for _, prefix := range unwanted {
			if d.stub() == "" && strings.HasPrefix(d.ImportPath, prefix) {
				t.Errorf("the programs hold %s: see stubs/README.md", d.ImportPath)
			}
		}
	}
}

func TestEachStubIsNeededByTheHistoryLibraryAlone(t *testing.T) {
	all := dependencies(t)
	stubOf := map[string]string{}
	for _, d := range all {
		stubOf[d.ImportPath] = d.stub()
	}
	needed := map[string]bool{}
	for _, d := range all {
		for _, imported := range d.Imports {
			folder := stubOf[imported]
			if folder == "" || d.stub() != "" {
				continue
			}
			needed[strings.TrimPrefix(folder, "./stubs/")] = true
			if d.Module == nil || (d.Module.Path != "github.com/prometheus/prometheus" && d.Module.Path != "github.com/prometheus/common") {
				t.Errorf("%s imports %s, which is a stub: it may mean to use it", d.ImportPath, imported)
			}
		}
	}
	folders, err := os.ReadDir("../stubs")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		if folder.IsDir() && !needed[folder.Name()] {
			t.Errorf("stubs/%s is not needed any more: remove it and its line in go.mod", folder.Name())
		}
	}
}
