package list

import (
	"fmt"
	"strings"
	"testing"
)

func TestCellsThatASpreadsheetWouldRunAreDefused(t *testing.T) {
	for cell, want := range map[string]string{
		"=1+1": "'=1+1", "@SUM(A1)": "'@SUM(A1)", "+cmd": "'+cmd", "-2.5": "-2.5", "-2+3": "'-2+3", "\tx": "'\tx", "plain": "plain", "": "",
	} {
		if got := Defuse(cell); got != want {
			t.Errorf("%q becomes %q, expected %q", cell, got, want)
		}
	}
}

func TestCellsThatASpreadsheetWouldRunAreDefusedWhereverItSplitsThem(t *testing.T) {
	for cell, want := range map[string]string{
		"＝1+1": "'＝1+1", "＋1": "'＋1", "－cmd": "'－cmd", "＠SUM(A1)": "'＠SUM(A1)", "\rx": "'\rx", "\nx": "'\nx", " =1": "' =1", "\"=1\"": "'\"=1\"",
		"a;=1+1": "a;'=1+1", "a; =1": "a;' =1", "a;\"=1+1\"": "a;'\"=1+1\"", "a;＝1": "a;'＝1", "a;-5;b": "a;-5;b", "a;-5-6": "a;'-5-6", "a\t@x": "a\t'@x", "=a;=b": "'=a;'=b",
		"a\n+x": "a\n'+x", "a=b;c=d": "a=b;c=d", "x-y": "x-y", "-1e5": "-1e5", "a;": "a;", ";=1": ";'=1",
	} {
		if got := Defuse(cell); got != want {
			t.Errorf("%q becomes %q, expected %q", cell, got, want)
		}
	}
}

// FuzzDefuse shows that no part of a cell begins like a formula wherever a spreadsheet splits it, and that nothing is lost.
func FuzzDefuse(f *testing.F) {
	for _, seed := range []string{"=1", "a;=1", "＝1;\"@x\"", "\t-", "-5", ";;'=", " \u3000=x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, cell string) {
		got := Defuse(cell)
		if strings.ReplaceAll(got, "'", "") != strings.ReplaceAll(cell, "'", "") {
			t.Fatalf("%q becomes %q", cell, got)
		}
		for i, part := range strings.FieldsFunc(got, func(r rune) bool { return strings.ContainsRune(cellSplits, r) }) {
			bare := strings.TrimLeft(part, " \"")
			if strings.IndexAny(bare, "=+-@＝＋－＠") != 0 {
				continue
			}
			var n float64
			if _, err := fmt.Sscan(strings.Trim(part, " \""), &n); err != nil {
				t.Fatalf("part %d of %q, made of %q, is run: %q", i, got, cell, part)
			}
		}
	})
}
