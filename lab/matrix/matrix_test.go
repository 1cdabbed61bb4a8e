package main

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dedup-dashboard/lab/servers/serverstest"
)

func TestEventsAreReadAsPassedFailedAndWithout(t *testing.T) {
	for name, c := range map[string]struct {
		lines string
		want  result
	}{
		"nothing":                     {"", result{}},
		"two tests, one with a part":  {`{"Action":"pass","Package":"p","Test":"A"}` + "\n" + `{"Action":"pass","Package":"p","Test":"B/part"}` + "\n" + `{"Action":"pass","Package":"p","Test":"B"}`, result{Passed: 2}},
		"a test that fails":           {`{"Action":"fail","Package":"p","Test":"A"}` + "\n" + `{"Action":"fail","Package":"p"}`, result{Failed: []string{"A"}}},
		"what is no event":            {"FAIL p [build failed]\n{", result{}},
		"what a version has not":      {`{"Action":"attr","Package":"p","Test":"A","Key":"without","Value":"no log"}`, result{Without: []string{"no log"}}},
		"the same, told of two tests": {strings.Repeat(`{"Action":"attr","Package":"p","Test":"A","Key":"without","Value":"no log"}`+"\n", 2), result{Without: []string{"no log"}}},
		"an attribute of another use": {`{"Action":"attr","Package":"p","Test":"A","Key":"seed","Value":"7"}`, result{}},
	} {
		t.Run(name, func(t *testing.T) {
			got := readEvents(strings.NewReader(c.lines), io.Discard)
			if got.Passed != c.want.Passed || !slices.Equal(got.Failed, c.want.Failed) || !slices.Equal(got.Without, c.want.Without) {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestTheTableStandsBetweenItsMarks(t *testing.T) {
	b := book{folder: t.TempDir(), commit: "abc"}
	for capability, r := range map[string]result{
		"live counts":                  {Versions: "4.0.5", Commit: "abc", Passed: 7},
		"requeue jobs":                 {Versions: "4.0.5", Commit: "old", Failed: []string{"TestX"}},
		"looks at dead letters, moves": {Versions: "4.0.5", Commit: "abc", Passed: 1, Without: []string{"no looks"}},
	} {
		if err := b.write("RabbitMQ 4.0", capability, r); err != nil {
			t.Fatal(err)
		}
	}
	name := filepath.Join(t.TempDir(), "servers.md")
	if err := os.WriteFile(name, []byte("before\n"+tableBegins+"old\n"+tableEnds+"after\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeTable(name, b); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"before\n", "\nafter\n", "| live counts | not run | works (7 tests) | not run |", "**failed**: TestX", "works (1 test), but [1]", "1. no looks\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "old") {
		t.Error("the table of before is still there")
	}
}

func TestAResultOfAnotherCommitOrThatFailedIsRunAgain(t *testing.T) {
	b := book{folder: t.TempDir(), commit: "new"}
	for name, c := range map[string]struct {
		kept result
		know bool
	}{
		"the same commit": {result{Commit: "new", Passed: 1}, true},
		"another commit":  {result{Commit: "old", Passed: 1}, false},
		"one that failed": {result{Commit: "new", Failed: []string{"T"}}, false},
	} {
		if err := b.write("Redis 8.0", name, c.kept); err != nil {
			t.Fatal(err)
		}
		if _, known := b.read("Redis 8.0", name); known != c.know {
			t.Errorf("%s: known is %v", name, known)
		}
	}
	if _, known := b.read("Redis 8.0", "never run"); known {
		t.Error("what was never run is known")
	}
}

func TestWhatIsPrintedIsKeptWhereATestFails(t *testing.T) {
	serverstest.Needed(t)
	module := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":       "module m\n",
		"good_test.go": "package m\nimport \"testing\"\nfunc TestGood(t *testing.T) { t.Log(\"all is well\") }\n",
		"bad_test.go":  "package m\nimport \"testing\"\nfunc TestBad(t *testing.T) { t.Fatal(\"the reason\") }\n",
		"none/none.go": "package none\nfunc broken( {}\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(module, name)), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(module, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(module)
	for name, c := range map[string]struct {
		suite  suite
		failed string
		kept   string
	}{
		"passed":             {suite{packages: []string{"."}, tests: "Good"}, "", ""},
		"failed":             {suite{packages: []string{"."}}, "TestBad", "the reason"},
		"cannot be compiled": {suite{packages: []string{"./none"}}, "exit status 1", "syntax error"},
	} {
		t.Run(name, func(t *testing.T) {
			b := book{folder: filepath.Join(t.TempDir(), "results")}
			file := b.output("Redis 8.0", name)
			r, err := c.suite.runKeeping(t.Context(), os.Environ(), file)
			if err != nil || strings.Join(r.Failed, " ") != c.failed {
				t.Errorf("%+v, %v", r, err)
			}
			text, err := os.ReadFile(file)
			if (err == nil) != (c.kept != "") || !strings.Contains(string(text), c.kept) {
				t.Errorf("kept: %v\n%s", err, text)
			}
		})
	}
}
