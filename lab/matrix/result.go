package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A result is what became of one suite on one server.
type result struct {
	Versions, Commit string
	Passed           int
	Failed           []string
	// Without are the reasons for which a version does not have something, as the tests tell them.
	Without []string
}

// runKeeping runs the tests of the suite, and keeps what they print in a file where one fails.
func (s suite) runKeeping(ctx context.Context, env []string, name string) (result, error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return result{}, err
	}
	output, err := os.Create(name)
	if err != nil {
		return result{}, err
	}
	r := s.run(ctx, env, output)
	if err := output.Close(); err != nil {
		return result{}, fmt.Errorf("keep what the tests print: %w", err)
	}
	if len(r.Failed) == 0 {
		err = os.Remove(name)
	}
	return r, err
}

// run runs the tests of the suite.
func (s suite) run(ctx context.Context, env []string, output io.Writer) result {
	args := []string{"test", "-json", "-count=1", "-timeout=25m"}
	if s.tests != "" {
		args = append(args, "-run", s.tests)
	}
	if s.tags != "" {
		args = append(args, "-tags", s.tags)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, s.packages...)...)
	cmd.Env, cmd.Stderr = env, output
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return result{Failed: []string{err.Error()}}
	}
	r := readEvents(out, output)
	if err := cmd.Wait(); err != nil && len(r.Failed) == 0 {
		r.Failed = []string{err.Error()}
	}
	return r
}

// readEvents reads what go test -json prints (cmd/test2json): tests that passed and failed, the attribute "without", and what they print
// themselves, which goes to output.
func readEvents(in io.Reader, output io.Writer) result {
	var r result
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e struct{ Action, Package, Test, Key, Value, Output string }
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue
		}
		_, _ = io.WriteString(output, e.Output) // what cannot be kept spoils no result
		switch {
		case e.Action == "attr" && e.Key == "without" && !slices.Contains(r.Without, e.Value):
			r.Without = append(r.Without, e.Value)
		case e.Action == "pass" && e.Test != "" && !strings.Contains(e.Test, "/"):
			r.Passed++
		case e.Action == "fail" && (e.Test != "" || e.Package == ""):
			r.Failed = append(r.Failed, e.Test)
		}
	}
	return r
}

// A book keeps results in files, one for each suite on each server.
type book struct{ folder, commit string }

func (b book) file(server, capability string) string { return b.path(server, capability, ".json") }

// output names the file of what a suite printed that failed.
func (b book) output(server, capability string) string { return b.path(server, capability, ".log") }

func (b book) path(server, capability, ext string) string {
	name := strings.NewReplacer(" ", "-", ",", "", "/", "-").Replace(server + " " + capability)
	return filepath.Join(b.folder, strings.ToLower(name)+ext)
}

// read returns a result of the same commit.
func (b book) read(server, capability string) (r result, ok bool) {
	r, ok = b.last(server, capability)
	return r, ok && r.Commit == b.commit && len(r.Failed) == 0
}

// last returns a result of any commit.
func (b book) last(server, capability string) (r result, ok bool) {
	text, err := os.ReadFile(b.file(server, capability))
	if err != nil || json.Unmarshal(text, &r) != nil {
		return result{}, false
	}
	return r, true
}

func (b book) write(server, capability string, r result) error {
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(b.folder, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(b.file(server, capability), append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("keep a result: %w", err)
	}
	return nil
}
