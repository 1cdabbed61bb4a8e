package main

import (
	"strings"
	"testing"
)

func TestWhatCannotBeRunIsSaid(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"-cases nobody", `there is no case "nobody"`},
		{"-seeds many", "invalid value"},
	} {
		var out, notes strings.Builder
		if code := run(t.Context(), strings.Fields(c.args), &out, &notes); code != 2 || !strings.Contains(notes.String(), c.want) {
			t.Errorf("%s: code %d, %s", c.args, code, notes.String())
		}
	}
}
