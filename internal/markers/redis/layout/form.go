package layout

import (
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/codec"
)

// A Form is how the markers of a kind are kept under their keys.
type Form struct {
	// Hash says that a marker is a hash, not a string.
	Hash bool
	// TypeOnly says that Ask asks for the type alone, which is no use in the eyes of eviction.
	TypeOnly bool
	// Ask asks for what tells the state, and for no more than that.
	Ask func(key string) Question
	// Decode returns what a value says, whether Ask gave it or it was read whole.
	Decode func(Fetched) codec.Decoded
}

// A Question is a command that reads a key of a type, and what makes a value of its answer.
type Question struct {
	Type    string
	Command []any
	Read    func(answer any) Fetched
}

// Text is the form of a marker that is a string with a codec.
func Text(c markers.Config) (Form, error) {
	// Where any value says the same, its type is enough.
	if c.Value.Time == "" && len(c.Shows()) == 1 && len(c.States[dedup.Present]) > 0 && c.States[dedup.Present][0] == codec.AnyValue {
		return Form{TypeOnly: true, Ask: typeOf, Decode: func(Fetched) codec.Decoded { return codec.Decoded{State: dedup.Present} }}, nil
	}
	k, err := codec.New(c.Value, c.States)
	return Form{Ask: Beginning, Decode: func(f Fetched) codec.Decoded { return k.Decode(f.Value) }}, err
}

// Beginning asks for as much of a string as its codec needs.
func Beginning(key string) Question { return beginning(key, codec.ValueBytes) }

// CounterOf asks for a retry counter.
func CounterOf(key string) Question { return beginning(key, LongestCounter+1) }

func beginning(key string, bytes int) Question {
	return Question{"string", []any{"getrange", key, 0, bytes - 1}, func(answer any) (f Fetched) {
		f.Value, _ = answer.(string)
		return f
	}}
}

func typeOf(key string) Question {
	return Question{"string", []any{"type", key}, func(answer any) (f Fetched) {
		if t, _ := answer.(string); t != "string" && t != "none" {
			f.Problem = "the key is a " + codec.Printable(t) + ", not a string"
		}
		return f
	}}
}

// fewFields is how many fields of a hash are asked for at least, mostFields how many where it is read whole.
const (
	fewFields  = 16
	mostFields = 256
)

// FewFields asks for some fields of a hash; a small one is answered whole.
func FewFields(key string) Question { return someFields(key, fewFields) }

func someFields(key string, least int) Question {
	return Question{"hash", []any{"hscan", key, 0, "count", least}, func(answer any) (f Fetched) {
		page, _ := answer.([]any)
		if len(page) != 2 {
			return f
		}
		f.Cut = page[0] != "0"
		all, _ := page[1].([]any)
		for _, text := range all {
			text, _ := text.(string)
			f.Fields = append(f.Fields, text)
		}
		return f
	}}
}

// Whole asks for a marker as it is, for so many bytes of a string.
func (l *Layout) Whole(key string, bytes int) Question {
	if l.Form.Hash {
		return someFields(key, mostFields)
	}
	return beginning(key, bytes)
}

// Decode returns what a fetched value says.
func (l *Layout) Decode(f Fetched) codec.Decoded {
	if f.Problem != "" {
		return codec.Unknown(f.Problem)
	}
	return l.Form.Decode(f)
}
