//go:build ignore

// Count reads the output of go test -json, shows how each package went and what failed tests printed, and counts.
// It fails when a test failed or was skipped, when a package did not build, and when there was no test at all.
// Its argument names a file for the line with the counts.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// event is one line of go test -json, as go doc test2json describes it.
type event struct {
	Action     string
	Package    string
	ImportPath string
	Test       string
	Output     string
	Elapsed    float64
}

type counter struct {
	out                     io.Writer
	passed, failed, skipped int
	broken                  bool              // something failed that is not a test
	output                  map[string]string // by package and test, until its end
	trouble                 []string          // names of failed and skipped tests
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go test -json ... | count SUMMARY-FILE")
		os.Exit(2)
	}
	c := &counter{out: os.Stdout, output: make(map[string]string)}
	if err := c.read(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "count:", err)
		os.Exit(1)
	}
	summary := fmt.Sprintf("Go: %d passed, %d failed, %d skipped", c.passed, c.failed, c.skipped)
	fmt.Println(strings.Join(append(c.trouble, summary), "\n"))
	if err := os.WriteFile(os.Args[1], []byte(summary+"\n"), 0o600); err != nil {
		fmt.Fprintln(os.Stderr, "count:", err)
		os.Exit(1)
	}
	if c.broken || c.failed > 0 || c.skipped > 0 || c.passed == 0 {
		os.Exit(1)
	}
}

func (c *counter) read(r io.Reader) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil || e.Action == "" {
			// The go command itself speaks plainly when it cannot start.
			fmt.Fprintln(c.out, lines.Text())
			continue
		}
		c.add(e)
	}
	return lines.Err()
}

func (c *counter) add(e event) {
	key := e.Package + " " + e.Test
	switch e.Action {
	case "output":
		c.output[key] += e.Output
	case "build-output":
		fmt.Fprint(c.out, e.Output)
	case "build-fail":
		c.broken = true
	case "pass", "fail", "skip":
		c.end(e, c.output[key])
		delete(c.output, key)
	}
}

func (c *counter) end(e event, output string) {
	switch {
	case e.Test == "" && e.Action == "skip": // a package without tests
	case e.Test == "":
		if e.Action == "fail" {
			c.broken = true
			// The package's own output holds panics and races that no test owns.
			fmt.Fprint(c.out, output)
		}
		fmt.Fprintf(c.out, "%-4s %-50s %6.1f s\n", e.Action, e.Package, e.Elapsed)
	case e.Action == "pass":
		c.passed++
	case e.Action == "fail":
		c.failed++
		c.trouble = append(c.trouble, "failed: "+e.Package+" "+e.Test)
		fmt.Fprint(c.out, output)
	default:
		c.skipped++
		c.trouble = append(c.trouble, "skipped: "+e.Package+" "+e.Test)
		fmt.Fprint(c.out, output)
	}
}
