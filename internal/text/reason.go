package text

import (
	"strings"
	"time"
)

// Reasons puts the reasons of several refusals into one sentence; empty ones are left out.
func Reasons(reasons ...string) string {
	var kept []string
	for _, r := range reasons {
		if r != "" {
			kept = append(kept, r)
		}
	}
	return strings.Join(kept, "; ")
}

// UntilAbout ends a sentence with the time at which what it says stops to hold.
func UntilAbout(t, now time.Time) string { return " (until about " + Clock(t, now) + ")" }
