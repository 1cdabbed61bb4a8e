package markers

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/codec"
)

// layout is a Config made ready: compiled patterns and the rules that follow from it. A raw key is a key as the store
// holds it, a plain key the same after its codec; patterns of the configuration speak of plain keys.
type layout struct {
	cfg      Config
	codec    codec.Codec
	javaKeys bool
	match    codec.Glob
	exclude  []codec.Glob
	retry    codec.Glob
	hasRetry bool
	// retrySuffix is the literal end of a retry counter's key, behind the id.
	retrySuffix string
	// yields and retryYields are the raw keys that more specific stores take of ours.
	yields      []taken
	retryYields []taken
	// id takes the message id out of a plain key; nil where stripping idPrefix does the same, as in almost every scheme.
	id       *regexp.Regexp
	idPrefix string
	// scan is the one pattern under which SCAN finds markers and retry counters.
	scan string
	// reads is how the value of a marker is read.
	reads reads
	// lifeTells is the one state whose markers can live longer than ttl.processing; empty where several can, or none.
	lifeTells dedup.State
	// gifts are expiries that do not tell when their markers were set.
	gifts *gifts
}

// taken are the raw keys of a yield.
type taken struct {
	pattern codec.Glob
	except  []codec.Glob
}

func newLayout(c Config) (*layout, error) {
	k, err := codec.New(c.Value, c.States)
	if err != nil {
		return nil, err
	}
	l := &layout{cfg: c, codec: k, javaKeys: c.Key.Codec == codec.Java, match: codec.ParseGlob(c.Match), gifts: newGifts()}
	l.scan = rawPattern(c, c.Match)
	for _, e := range c.Exclude {
		l.exclude = append(l.exclude, codec.ParseGlob(e))
	}
	if c.Retry.Match != "" {
		l.retry, l.hasRetry = codec.ParseGlob(c.Retry.Match), true
		l.retrySuffix = strings.TrimPrefix(l.retry.Fill(""), l.retry.Prefix)
		l.scan = codec.MergeGlobs(codec.ParseGlob(l.scan), codec.ParseGlob(rawPattern(c, c.Retry.Match)))
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
	l.reads, l.lifeTells = readsOf(c), lifeTellsOf(c)
	return l, l.compileID()
}

// reads is a way to read a value that costs no more than it must.
type reads uint8

const (
	// readString reads the beginning of a string.
	readString reads = iota
	// readType reads the type alone, where any value says the same: unlike reading it is no use in the eyes of eviction.
	readType
	// readHash reads a few fields of a hash.
	readHash
)

// readsOf returns the way that costs least.
func readsOf(c Config) reads {
	switch {
	case c.Kind == kindRedisLock && c.Value.Codec == codec.Redisson:
		return readHash
	case len(c.canShow()) == 1 && len(c.States[dedup.Present]) > 0 && c.States[dedup.Present][0] == codec.AnyValue && c.Value.Time == "":
		return readType
	}
	return readString
}

// lifeTellsOf says which state a marker must have that lives longer than ttl.processing.
func lifeTellsOf(c Config) dedup.State {
	states := c.canShow()
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

// completes reports whether a marker of this state is one of done work: one without a state is where it is written after the work.
func (l *layout) completes(state dedup.State) bool {
	return state == dedup.Done || state == dedup.Present && l.cfg.Mark == "after"
}

// tells reports whether what is left of a marker's life tells its state, which is then lifeTells.
func (l *layout) tells(expiry, now int64) bool {
	return l.lifeTells != "" && expiry >= 0 && expiry-now > l.cfg.TTL.Processing.Milliseconds()
}

// rawPattern returns the pattern of raw keys for a pattern of plain keys: Java's serialiser puts its header and a length of two
// bytes in front.
func rawPattern(c Config, pattern string) string {
	if c.Key.Codec != codec.Java {
		return pattern
	}
	return codec.JavaPattern(pattern)
}

func (l *layout) compileID() error {
	l.idPrefix = l.match.Prefix
	if l.cfg.ID == "" {
		return nil
	}
	if literal, ok := strings.CutSuffix(strings.TrimPrefix(l.cfg.ID, "^"), "(.+)$"); ok &&
		l.cfg.ID[0] == '^' && regexp.QuoteMeta(literal) == literal {
		l.idPrefix = literal
		return nil
	}
	// Ids may hold line breaks.
	re, err := regexp.Compile("(?s)" + l.cfg.ID)
	if err != nil {
		return fmt.Errorf("id: %w", err)
	}
	l.id = re
	return nil
}

// plain returns the plain form of a raw key, and whether it has one.
func (l *layout) plain(key string) (string, bool) {
	if l.javaKeys {
		return codec.JavaKey(key)
	}
	return key, true
}

// messageID returns the message id in a marker's plain key, and whether there is one.
func (l *layout) messageID(plain string) (string, bool) {
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

type keyClass uint8

const (
	foreignKey keyClass = iota
	markerKey
	retryKey
)

// classify says what a raw key is.
func (l *layout) classify(key string) keyClass {
	class, _ := l.known(key)
	return class
}

// known says what a raw key is, and returns its message id.
func (l *layout) known(key string) (keyClass, string) {
	plain, ok := l.plain(key)
	if !ok {
		return foreignKey, ""
	}
	isMarker := l.match.Match(plain)
	if !isMarker && !(l.hasRetry && l.retry.Match(plain)) {
		return foreignKey, ""
	}
	for _, e := range l.exclude {
		if e.Match(plain) {
			return foreignKey, ""
		}
	}
	if isMarker {
		id, ok := l.messageID(plain)
		if !ok || takenFrom(l.yields, key) {
			return foreignKey, ""
		}
		return markerKey, id
	}
	if takenFrom(l.retryYields, key) {
		return foreignKey, ""
	}
	return retryKey, strings.TrimSuffix(strings.TrimPrefix(plain, l.retry.Prefix), l.retrySuffix)
}

// misfits reports whether a raw key is one that match finds and nobody else has, and that holds no message id.
func (l *layout) misfits(key string) bool {
	plain, ok := l.plain(key)
	if !ok || !l.match.Match(plain) || anyMatches(l.exclude, plain) {
		return false
	}
	_, fits := l.messageID(plain)
	return !fits && !takenFrom(l.yields, key)
}

// idOf returns the message id in a raw key that is known to be a marker's.
func (l *layout) idOf(key string) string {
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

// keyOf returns the raw key of the marker with this id, and whether the store can have one.
func (l *layout) keyOf(id string) (string, bool) {
	plain := l.idPrefix + id
	if l.id != nil {
		plain = l.match.Fill(id)
	}
	return l.candidate(plain, id, markerKey)
}

// retryKeyOf returns the raw key of the retry counter of the message with this id.
func (l *layout) retryKeyOf(id string) (string, bool) {
	if !l.hasRetry {
		return "", false
	}
	return l.candidate(l.retry.Fill(id), id, retryKey)
}

func (l *layout) candidate(plain, id string, want keyClass) (string, bool) {
	key, ok := plain, true
	if l.javaKeys {
		key, ok = codec.ToJavaKey(plain)
	}
	if !ok {
		return "", false
	}
	class, got := l.known(key)
	return key, class == want && got == id
}

// keyLike returns a raw key that matches a pattern of plain keys, for trying what an account may do.
func (l *layout) keyLike(g codec.Glob, id string) string {
	plain := g.Fill(id)
	if key, ok := codec.ToJavaKey(plain); ok && l.javaKeys {
		return key
	}
	return plain
}

// findable says whether keyOf can find every marker: else a lookup by id would miss some and must say so.
func (l *layout) findable() bool {
	if l.id == nil {
		return strings.HasPrefix(l.match.Prefix, l.idPrefix) || strings.HasPrefix(l.idPrefix, l.match.Prefix)
	}
	const probe = "order-1"
	id, ok := l.messageID(l.match.Fill(probe))
	return ok && id == probe
}

// longestNamed is the longest key that a marker carries, in bytes: what can be acted on.
const longestNamed = 4096

// named gives m its key and id. A key that is too long is left out and only its beginning shown: a shortened key would be another
// key.
func (l *layout) named(m dedup.Marker, key string) dedup.Marker {
	if len(key) > longestNamed {
		m.TooLong = codec.Printable(key)
		m.Detail = strings.TrimPrefix(m.Detail+fmt.Sprintf("; its key of %d bytes is too long to be acted on", len(key)), "; ")
		return m
	}
	m.Key = key
	_, m.ID = l.known(key)
	return m
}

// marker returns a marker as it was read.
func (l *layout) marker(key string, d codec.Decoded, expiry, now int64) dedup.Marker {
	m := dedup.Marker{Store: l.cfg.Name, State: d.State, Status: codec.Shown(d.Status), Owner: codec.Shown(d.Owner), Detail: d.Detail, Sample: d.Sample}
	m.Expires, m.Since = l.dated(d, expiry, now)
	l.lived(&m, key, d, expiry)
	return l.named(m, key)
}

// times returns when a marker expires and since when it is in its state, by the store's clock; each is zero when that
// cannot be known. Only the lives of processing, done and present markers are configured.
func (l *layout) times(state dedup.State, expiry, now int64) (expires, since time.Time) {
	if expiry > 0 {
		expires = time.UnixMilli(expiry)
	}
	return expires, began(expiry, now, ttlOf(l.cfg, state))
}

// dated is times for a decoded value: the time that the value holds goes before the one that follows from the expiry.
func (l *layout) dated(d codec.Decoded, expiry, now int64) (expires, since time.Time) {
	expires, since = l.times(d.State, expiry, now)
	if !d.At.IsZero() {
		since = d.At
	}
	return expires, since
}

// permanent says whether a marker of this state that never expires is not what the scheme makes.
func (l *layout) permanent(state dedup.State, expiry int64) bool {
	return expiry == noExpiry && ttlOf(l.cfg, state) > 0
}

// ttlOf returns the time to live that consumers give to a marker in this state, zero where they set none.
func ttlOf(c Config, state dedup.State) time.Duration {
	switch state {
	case dedup.Processing:
		return c.TTL.Processing
	case dedup.Done, dedup.Present:
		return c.TTL.Done
	}
	return 0
}
