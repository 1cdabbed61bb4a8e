package mask

import (
	"dedup-dashboard/internal/message"
	"slices"
)

// A jsonPair is what an object shows of the values whose name stands beside them: {"name": "password", "value": "hunter2"}.
type jsonPair struct {
	// name is the name that hides; empty while there is none.
	name string
	// values are where the values stand in what was copied.
	values [][2]int
}

// hideValues hides the values of a pair whose name hides them. The name may stand behind them.
func (w *jsonMasker) hideValues(p jsonPair) {
	if p.name == "" {
		return
	}
	for _, at := range slices.Backward(p.values) {
		w.out = slices.Replace(w.out, at[0], at[1], appendJSONText(nil, Hidden)...)
		w.changed = true
		w.hid(p.name)
	}
}

// flush copies all that was read, and returns the length of the copy.
func (w *jsonMasker) flush() int {
	w.out = append(w.out, w.body[w.copied:w.at]...)
	w.copied = w.at
	return len(w.out)
}

// peek reads the string that begins here without going over it; empty where none does, or one longer than a name.
func (w *jsonMasker) peek() string {
	const longest = 128
	if w.body[w.at] != '"' {
		return ""
	}
	begin := w.at
	raw, escaped := w.raw()
	w.at = begin
	switch {
	case len(raw) > longest:
		return ""
	case escaped:
		return unescaped(raw)
	}
	return string(raw)
}

// scalar goes over a value that is no object or list; it is false for one that is.
func (w *jsonMasker) scalar() bool {
	if c := w.body[w.at]; c == '{' || c == '[' {
		return false
	}
	w.skip()
	return true
}

// isLast reports whether the list ends behind the element that has just been read.
func (w *jsonMasker) isLast() bool { return w.body[message.SkipJSONSpace(w.body, w.at)] == ']' }
