package layout

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/codec"
)

// Layout is a Config made ready: compiled patterns and the rules that follow from it. A raw key is a key as the store
// holds it, a plain key the same after its codec; patterns of the configuration speak of plain keys.
type Layout struct {
	Config   markers.Config
	Form     Form
	javaKeys bool
	Match    codec.Glob
	exclude  []codec.Glob
	Retry    codec.Glob
	HasRetry bool
	// retrySuffix is the literal end of a retry counter's key, behind the id.
	retrySuffix string
	// yields and retryYields are the raw keys that more specific stores take of ours.
	yields      []taken
	retryYields []taken
	// id takes the message id out of a plain key; nil where stripping idPrefix does the same, as in almost every scheme.
	id       *regexp.Regexp
	idPrefix string
	// Scan is the one pattern under which SCAN finds markers and retry counters.
	Scan string
	// LongLived is the one state whose markers can live longer than ttl.processing; empty where several can, or none.
	LongLived dedup.State
	// Late are expiries that do not tell when their markers were set.
	Late *LateExpiries
}

// taken are the raw keys of a yield.
type taken struct {
	pattern codec.Glob
	except  []codec.Glob
}

// New returns the layout of a store; an error names the pattern that cannot be read.
func New(c markers.Config, form func(markers.Config) (Form, error)) (*Layout, error) {
	f, err := form(c)
	if err != nil {
		return nil, err
	}
	l := &Layout{Config: c, Form: f, javaKeys: c.Key.Codec == codec.Java, Match: codec.ParseGlob(c.Match), Late: newLateExpiries()}
	l.Scan = RawPattern(c, c.Match)
	for _, e := range c.Exclude {
		l.exclude = append(l.exclude, codec.ParseGlob(e))
	}
	if c.Retry.Match != "" {
		l.Retry, l.HasRetry = codec.ParseGlob(c.Retry.Match), true
		l.retrySuffix = strings.TrimPrefix(l.Retry.Fill(""), l.Retry.Prefix)
		l.Scan = codec.MergeGlobs(codec.ParseGlob(l.Scan), codec.ParseGlob(RawPattern(c, c.Retry.Match)))
	}
	for _, y := range c.Yields {
		t := taken{pattern: codec.ParseGlob(y.Pattern)}
		for _, e := range y.Except {
			t.except = append(t.except, codec.ParseGlob(e))
		}
		if y.Field == fieldRetry {
			l.retryYields = append(l.retryYields, t)
		} else {
			l.yields = append(l.yields, t)
		}
	}
	l.LongLived = longLived(c)
	return l, l.compileID()
}

// longLived says which state a marker must have that lives longer than ttl.processing.
func longLived(c markers.Config) dedup.State {
	states := c.Shows()
	if len(states) == 0 {
		return ""
	}
	last := states[len(states)-1]
	switch {
	case last != dedup.Done && last != dedup.Present, c.TTL.Done <= c.TTL.Processing:
	case len(states) == 1, len(states) == 2 && states[0] == dedup.Processing && c.TTL.Processing > 0:
		return last
	}
	return ""
}

// Completes reports whether a marker of this state is one of done work: one without a state is where it is written after the work.
func (l *Layout) Completes(state dedup.State) bool {
	return state == dedup.Done || state == dedup.Present && l.Config.Mark == "after"
}

// IsLongLived reports whether what is left of a marker's life tells its state, which is then longLived.
func (l *Layout) IsLongLived(expiry, now int64) bool {
	return l.LongLived != "" && expiry >= 0 && expiry-now > l.Config.TTL.Processing.Milliseconds()
}

// RawPattern returns the pattern of raw keys for a pattern of plain keys: Java's serialiser puts its header and a length of two
// bytes in front.
func RawPattern(c markers.Config, pattern string) string {
	if c.Key.Codec != codec.Java {
		return pattern
	}
	return codec.JavaPattern(pattern)
}

func (l *Layout) compileID() error {
	l.idPrefix = l.Match.Prefix
	if l.Config.ID == "" {
		return nil
	}
	if literal, ok := strings.CutSuffix(strings.TrimPrefix(l.Config.ID, "^"), "(.+)$"); ok &&
		l.Config.ID[0] == '^' && regexp.QuoteMeta(literal) == literal {
		l.idPrefix = literal
		return nil
	}
	// Ids may hold line breaks.
	re, err := regexp.Compile("(?s)" + l.Config.ID)
	if err != nil {
		return fmt.Errorf("id: %w", err)
	}
	l.id = re
	return nil
}

// plain returns the plain form of a raw key, and whether it has one.
func (l *Layout) plain(key string) (string, bool) {
	if l.javaKeys {
		return codec.JavaKey(key)
	}
	return key, true
}

// messageID returns the message id in a marker's plain key, and whether there is one.
func (l *Layout) messageID(plain string) (string, bool) {
	if l.id == nil {
		id, ok := strings.CutPrefix(plain, l.idPrefix)
		return id, ok && id != ""
	}
	groups := l.id.FindStringSubmatch(plain)
	if groups == nil || groups[1] == "" {
		return "", false
	}
	return groups[1], true
}

// Class is what a key is to a store.
type Class uint8

const (
	// Foreign is a key of somebody else.
	Foreign Class = iota
	// Marker is the key of a marker, Retry that of a retry counter.
	Marker
	Retry
)

// Classify says what a raw key is.
func (l *Layout) Classify(key string) Class {
	class, _ := l.Known(key)
	return class
}

// Known says what a raw key is, and returns its message id.
func (l *Layout) Known(key string) (Class, string) {
	plain, ok := l.plain(key)
	if !ok {
		return Foreign, ""
	}
	isMarker := l.Match.Match(plain)
	if !isMarker && !(l.HasRetry && l.Retry.Match(plain)) {
		return Foreign, ""
	}
	for _, e := range l.exclude {
		if e.Match(plain) {
			return Foreign, ""
		}
	}
	if isMarker {
		id, ok := l.messageID(plain)
		if !ok || takenFrom(l.yields, key) {
			return Foreign, ""
		}
		return Marker, id
	}
	if takenFrom(l.retryYields, key) {
		return Foreign, ""
	}
	return Retry, strings.TrimSuffix(strings.TrimPrefix(plain, l.Retry.Prefix), l.retrySuffix)
}

// Misfits reports whether a raw key is one that match finds and nobody else has, and that holds no message id.
func (l *Layout) Misfits(key string) bool {
	plain, ok := l.plain(key)
	if !ok || !l.Match.Match(plain) || anyMatches(l.exclude, plain) {
		return false
	}
	_, fits := l.messageID(plain)
	return !fits && !takenFrom(l.yields, key)
}

// IdOf returns the message id in a raw key that is known to be a marker's.
func (l *Layout) IdOf(key string) string {
	plain, _ := l.plain(key)
	id, _ := l.messageID(plain)
	return id
}

func takenFrom(yields []taken, key string) bool {
	for _, t := range yields {
		if t.pattern.Match(key) && !anyMatches(t.except, key) {
			return true
		}
	}
	return false
}

func anyMatches(globs []codec.Glob, key string) bool {
	for _, g := range globs {
		if g.Match(key) {
			return true
		}
	}
	return false
}

// KeyOf returns the raw key of the marker with this id, and whether the store can have one.
func (l *Layout) KeyOf(id string) (string, bool) {
	plain := l.idPrefix + id
	if l.id != nil {
		plain = l.Match.Fill(id)
	}
	return l.candidate(plain, id, Marker)
}

// RetryKeyOf returns the raw key of the retry counter of the message with this id.
func (l *Layout) RetryKeyOf(id string) (string, bool) {
	if !l.HasRetry {
		return "", false
	}
	return l.candidate(l.Retry.Fill(id), id, Retry)
}

func (l *Layout) candidate(plain, id string, want Class) (string, bool) {
	key, ok := plain, true
	if l.javaKeys {
		key, ok = codec.ToJavaKey(plain)
	}
	if !ok {
		return "", false
	}
	class, got := l.Known(key)
	return key, class == want && got == id
}

// KeyLike returns a raw key that matches a pattern of plain keys, for trying what an account may do.
func (l *Layout) KeyLike(g codec.Glob, id string) string {
	plain := g.Fill(id)
	if key, ok := codec.ToJavaKey(plain); ok && l.javaKeys {
		return key
	}
	return plain
}

// Findable says whether keyOf can find every marker: else a lookup by id would miss some and must say so.
func (l *Layout) Findable() bool {
	if l.id == nil {
		return strings.HasPrefix(l.Match.Prefix, l.idPrefix) || strings.HasPrefix(l.idPrefix, l.Match.Prefix)
	}
	const probe = "order-1"
	id, ok := l.messageID(l.Match.Fill(probe))
	return ok && id == probe
}

// LongestNamed is the longest key that a marker carries, in bytes: what can be acted on.
const LongestNamed = 4096

// Named gives m its key and id. A key that is too long is left out and only its beginning shown: a shortened key would be another
// key.
func (l *Layout) Named(m dedup.Marker, key string) dedup.Marker {
	if len(key) > LongestNamed {
		m.TooLong = codec.Printable(key)
		m.Detail = strings.TrimPrefix(m.Detail+fmt.Sprintf("; its key of %d bytes is too long to be acted on", len(key)), "; ")
		return m
	}
	m.Key = key
	_, m.ID = l.Known(key)
	return m
}

// Marker returns a marker as it was read.
func (l *Layout) Marker(key string, d codec.Decoded, expiry, now int64) dedup.Marker {
	m := dedup.Marker{Store: l.Config.Name, State: d.State, Status: codec.Shown(d.Status), Owner: codec.Shown(d.Owner), Detail: d.Detail, Sample: d.Sample}
	m.Expires, m.Since = l.Dated(d, expiry, now)
	l.Lived(&m, key, d, expiry)
	return l.Named(m, key)
}

// times returns when a marker expires and since when it is in its state, by the store's clock; each is zero when that
// cannot be known. Only the lives of processing, done and present markers are configured.
func (l *Layout) times(state dedup.State, expiry, now int64) (expires, since time.Time) {
	if expiry > 0 {
		expires = time.UnixMilli(expiry)
	}
	return expires, Began(expiry, now, ttlOf(l.Config, state))
}

// Dated is times for a decoded value: the time that the value holds goes before the one that follows from the expiry.
func (l *Layout) Dated(d codec.Decoded, expiry, now int64) (expires, since time.Time) {
	expires, since = l.times(d.State, expiry, now)
	if !d.At.IsZero() {
		since = d.At
	}
	return expires, since
}

// Permanent says whether a marker of this state that never expires is not what the scheme makes.
func (l *Layout) Permanent(state dedup.State, expiry int64) bool {
	return expiry == NoExpiry && ttlOf(l.Config, state) > 0
}

// ttlOf returns the time to live that consumers give to a marker in this state, zero where they set none.
func ttlOf(c markers.Config, state dedup.State) time.Duration {
	switch state {
	case dedup.Processing:
		return c.TTL.Processing
	case dedup.Done, dedup.Present:
		return c.TTL.Done
	}
	return 0
}
