package markers

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/pace"
)

// A FieldError is one problem of a configuration. Path is relative to the store: "ttl.done".
type FieldError struct {
	Path string
	Text string
}

// Error returns the path and what to do.
func (e *FieldError) Error() string { return e.Path + ": " + e.Text }

var namePattern = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]*$`)

// misnamed says that the preset or the kind is one that we do not know; nil when both are known.
func (c Config) misnamed(kinds []string) error {
	_, known := Preset(c.Preset)
	switch {
	case c.Preset != "" && !known:
		return &FieldError{Path: "preset", Text: fmt.Sprintf("%q is not known: use one of %s", c.Preset, strings.Join(PresetNames(), ", "))}
	case c.Kind == "":
		return &FieldError{Path: "preset", Text: "is missing: use one of " + strings.Join(PresetNames(), ", ") + "; or write a kind (" + strings.Join(kinds, ", ") + ") and all of its fields"}
	case !slices.Contains(kinds, c.Kind):
		return &FieldError{Path: "kind", Text: fmt.Sprintf("%q is not known: use one of %s, or a preset and no kind", c.Kind, strings.Join(kinds, ", "))}
	}
	return nil
}

// Problems collects what is wrong with a store's description.
type Problems []error

// Begin checks what every kind has. Where it is not ok, the preset or the kind is none of those known, so that nothing else can be asked of the store.
func (p *Problems) Begin(c Config, kinds []string) (ok bool) {
	if !namePattern.MatchString(c.Name) {
		p.Add("name", "%q is not a name: use lower-case letters, digits, dot, dash and underscore", c.Name)
	}
	text := c.misnamed(kinds)
	if text != nil {
		*p = append(*p, text)
	}
	return text == nil
}

// OnlyFor refuses a setting of another kind.
func (p *Problems) OnlyFor(kind, path string, set bool) {
	if set {
		p.Add(path, "is for kind %s: leave it out", kind)
	}
}

// Add notes a problem of the field at a path.
func (p *Problems) Add(path, format string, args ...any) {
	*p = append(*p, &FieldError{Path: path, Text: fmt.Sprintf(format, args...)})
}

// OneOf notes a value that is none of those allowed.
func (p *Problems) OneOf(path, value string, allowed ...string) {
	if !slices.Contains(allowed, value) {
		p.Add(path, "%q: use %s", value, strings.Join(allowed, " or "))
	}
}

// Positive notes a time that is not above zero.
func (p *Problems) Positive(path string, d time.Duration) {
	if d <= 0 {
		p.Add(path, "is %s: write a time above zero, such as 300s", d)
	}
}

// States checks the values of each state.
func (p *Problems) States(c Config) {
	owner := map[string]dedup.State{}
	for _, state := range dedup.States() {
		for _, value := range c.States[state] {
			if other, taken := owner[value]; taken {
				p.Add("states."+string(state), "%q is also a value of %s", value, other)
			}
			owner[value] = state
		}
	}
	for state := range c.States {
		if !slices.Contains(dedup.States(), state) || state == dedup.StateUnknown {
			p.Add("states", "%q is not a state: use processing, done, failed or present", state)
		}
	}
	if len(owner) == 0 {
		p.Add("states", "is empty: list the values of each state, such as done: [done]")
	}
}

// Rules checks what consumers do, and the times to live that they set.
func (p *Problems) Rules(c Config) {
	p.OneOf("mark", c.Mark, "before", "after")
	// A scheme that marks after the work has nothing in flight that could be hit.
	if c.OnInFlight != "" || c.Mark != "after" || len(c.States[dedup.Processing]) > 0 {
		p.OneOf("on_inflight", c.OnInFlight, "ack", "nack", InFlightWait)
	}
	p.OneOf("on_fail", c.OnFail, "delete", "keep", "ack")
	p.OnFailed(c)
	p.Acks(c)
	if len(c.States[dedup.Processing]) > 0 {
		p.Positive("ttl.processing", c.TTL.Processing)
	}
	if c.TTL.Done < 0 {
		p.Add("ttl.done", "is %s: write a time, or 0 for markers that never expire", c.TTL.Done)
	}
	if c.TTL.Done > 0 && c.TTL.Done <= c.TTL.Processing {
		p.Add("ttl.done", "is %s and not above ttl.processing (%s): done markers are told apart by their longer life", c.TTL.Done, c.TTL.Processing)
	}
}

// Sweep checks the bounds of a walk.
func (p *Problems) Sweep(s pace.Sweep) {
	if math.IsNaN(float64(s.Duty)) {
		p.Add("sweep.duty", "is not a percentage: write a share of the server's time such as 5%%")
	} else if s.Duty < 0.001 || s.Duty > 1 {
		p.Add("sweep.duty", "is %s: write a share of the server's time from 0.1%% to 100%%", s.Duty)
	}
	if s.Count < 10 || s.Count > 1000 {
		p.Add("sweep.count", "is %d: write 10 to 1000; one call blocks the server while it examines so many keys", s.Count)
	}
	if s.Every < time.Second {
		p.Add("sweep.every", "is %s: write 1s or more", s.Every)
	}
	if s.MaxKeysPerSecond < 0 || s.MaxBytesPerSecond < 0 {
		p.Add("sweep", "max_keys_per_second and max_bytes_per_second cannot be below 0")
	}
}

// onFailedRun is the value of Config.OnFailed that says that consumers take a failed marker again.
const onFailedRun = "run"

// Acks checks how consumers acknowledge; it may be left out.
func (p *Problems) Acks(c Config) {
	if c.Acks != "" {
		p.OneOf("acks", c.Acks, acksEach, acksBatch)
	}
}

// OnFailed checks what consumers do with a failed marker; it may be left out.
func (p *Problems) OnFailed(c Config) {
	if c.OnFailed == "" {
		return
	}
	p.OneOf("on_failed", c.OnFailed, "ack", "nack", onFailedRun)
	if c.OnFailed == onFailedRun && c.Retakes == RetakesNever {
		p.Add("on_failed", "run says that consumers take a failed row again, and retakes: never that they do not: leave one of them out")
	}
}
