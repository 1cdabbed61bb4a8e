package markers

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
)

// layout is a Config made ready: compiled patterns and the rules that follow from it. A raw key is a key as the store
// holds it, a plain key the same after its codec; patterns of the configuration speak of plain keys.
type layout struct {
	cfg      Config
	codec    codec
	javaKeys bool
	match    glob
	exclude  []glob
	retry    glob
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
	pattern glob
	except  []glob
}

func newLayout(c Config) (*layout, error) {
	k, err := newCodec(c)
	if err != nil {
		return nil, err
	}
	l := &layout{cfg: c, codec: k, javaKeys: c.Key.Codec == codecJava, match: parseGlob(c.Match), gifts: newGifts()}
	l.scan = c.raw(c.Match)
	for _, e := range c.Exclude {
		l.exclude = append(l.exclude, parseGlob(e))
	}
	if c.Retry.Match != "" {
		l.retry, l.hasRetry = parseGlob(c.Retry.Match), true
		l.retrySuffix = strings.TrimPrefix(insert(l.retry, ""), l.retry.prefix)
		l.scan = mergeGlobs(parseGlob(l.scan), parseGlob(c.raw(c.Retry.Match)))
	}
	for _, y := range c.Yields {
		t := taken{pattern: parseGlob(y.Pattern)}
		for _, e := range y.Except {
			t.except = append(t.except, parseGlob(e))
		}
		if y.Field == fieldRetry {
			l.retryYields = append(l.retryYields, t)
		} else {
			l.yields = append(l.yields, t)
		}
	}
	l.reads, l.lifeTells = c.reads(), c.lifeTells()
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

func (c Config) reads() reads {
	switch {
	case c.Kind == kindRedisLock && c.Value.Codec == codecRedisson:
		return readHash
	case len(c.canShow()) == 1 && len(c.States[dedup.Present]) > 0 && c.States[dedup.Present][0] == anyValue && c.Value.Time == "":
		return readType
	}
	return readString
}

// lifeTells says which state a marker must have that lives longer than ttl.processing.
func (c Config) lifeTells() dedup.State {
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

// raw returns the pattern of raw keys for a pattern of plain keys: Java's serialiser puts its header and a length of two
// bytes in front.
func (c Config) raw(pattern string) string {
	if c.Key.Codec != codecJava {
		return pattern
	}
	return javaString + "??" + toModified(pattern)
}

func (l *layout) compileID() error {
	l.idPrefix = l.match.prefix
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
		return javaKey(key)
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
	isMarker := l.match.match(plain)
	if !isMarker && !(l.hasRetry && l.retry.match(plain)) {
		return foreignKey, ""
	}
	for _, e := range l.exclude {
		if e.match(plain) {
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
	return retryKey, strings.TrimSuffix(strings.TrimPrefix(plain, l.retry.prefix), l.retrySuffix)
}

// misfits reports whether a raw key is one that match finds and nobody else has, and that holds no message id.
func (l *layout) misfits(key string) bool {
	plain, ok := l.plain(key)
	if !ok || !l.match.match(plain) || anyMatches(l.exclude, plain) {
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
		if t.pattern.match(key) && !anyMatches(t.except, key) {
			return true
		}
	}
	return false
}

func anyMatches(globs []glob, key string) bool {
	for _, g := range globs {
		if g.match(key) {
			return true
		}
	}
	return false
}

// keyOf returns the raw key of the marker with this id, and whether the store can have one.
func (l *layout) keyOf(id string) (string, bool) {
	plain := l.idPrefix + id
	if l.id != nil {
		plain = insert(l.match, id)
	}
	return l.candidate(plain, id, markerKey)
}

// retryKeyOf returns the raw key of the retry counter of the message with this id.
func (l *layout) retryKeyOf(id string) (string, bool) {
	if !l.hasRetry {
		return "", false
	}
	return l.candidate(insert(l.retry, id), id, retryKey)
}

func (l *layout) candidate(plain, id string, want keyClass) (string, bool) {
	key, ok := plain, true
	if l.javaKeys {
		key, ok = toJavaKey(plain)
	}
	if !ok {
		return "", false
	}
	class, got := l.known(key)
	return key, class == want && got == id
}

// keyLike returns a raw key that matches a pattern of plain keys, for trying what an account may do.
func (l *layout) keyLike(g glob, id string) string {
	plain := insert(g, id)
	if key, ok := toJavaKey(plain); ok && l.javaKeys {
		return key
	}
	return plain
}

// insert puts an id in the place of a pattern's star. It is a guess where the pattern is more than text and a star.
func insert(g glob, id string) string {
	before, after := g.prefix, ""
	for i, t := range g.tokens {
		if t.star {
			after = parseLiteral(g.tokens[i+1:])
			break
		}
	}
	return before + id + after
}

// parseLiteral returns the text that single-byte tokens stand for.
func parseLiteral(tokens []token) string {
	var text []byte
	for _, t := range tokens {
		if m := t.set.members(); len(m) == 1 {
			text = append(text, m[0])
		}
	}
	return string(text)
}

// findable says whether keyOf can find every marker: else a lookup by id would miss some and must say so.
func (l *layout) findable() bool {
	if l.id == nil {
		return strings.HasPrefix(l.match.prefix, l.idPrefix) || strings.HasPrefix(l.idPrefix, l.match.prefix)
	}
	const probe = "order-1"
	id, ok := l.messageID(insert(l.match, probe))
	return ok && id == probe
}

// longestNamed is the longest key that a marker carries, in bytes: what can be acted on.
const longestNamed = 4096

// named gives m its key and id. A key that is too long is left out and only its beginning shown: a shortened key would be another
// key.
func (l *layout) named(m dedup.Marker, key string) dedup.Marker {
	if len(key) > longestNamed {
		m.TooLong = printable(key)
		m.Detail = strings.TrimPrefix(m.Detail+fmt.Sprintf("; its key of %d bytes is too long to be acted on", len(key)), "; ")
		return m
	}
	m.Key = key
	_, m.ID = l.known(key)
	return m
}

// marker returns a marker as it was read.
func (l *layout) marker(key string, d decoded, expiry, now int64) dedup.Marker {
	m := dedup.Marker{Store: l.cfg.Name, State: d.state, Status: shown(d.status), Owner: shown(d.owner), Detail: d.detail, Sample: d.sample}
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
	return expires, began(expiry, now, l.cfg.ttl(state))
}

// dated is times for a decoded value: the time that the value holds goes before the one that follows from the expiry.
func (l *layout) dated(d decoded, expiry, now int64) (expires, since time.Time) {
	expires, since = l.times(d.state, expiry, now)
	if !d.at.IsZero() {
		since = d.at
	}
	return expires, since
}

// permanent says whether a marker of this state that never expires is not what the scheme makes.
func (l *layout) permanent(state dedup.State, expiry int64) bool {
	return expiry == noExpiry && l.cfg.ttl(state) > 0
}
