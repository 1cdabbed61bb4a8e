package markers

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
)

// layout is a Config made ready: compiled patterns and the rules that follow from it.
type layout struct {
	cfg      Config
	codec    codec
	match    glob
	exclude  []glob
	retry    glob
	hasRetry bool
	// id takes the message id out of a key; nil where stripping idPrefix does the same, as in almost every scheme.
	id       *regexp.Regexp
	idPrefix string
	// scan is the one pattern under which SCAN finds markers and retry counters.
	scan string
	// lifeTells says that only done markers can live longer than ttl.processing.
	lifeTells bool
}

func newLayout(c Config) (*layout, error) {
	k, err := newCodec(c)
	if err != nil {
		return nil, err
	}
	l := &layout{cfg: c, codec: k, match: parseGlob(c.Match)}
	l.scan = c.Match
	for _, e := range c.Exclude {
		l.exclude = append(l.exclude, parseGlob(e))
	}
	if c.Retry.Match != "" {
		l.retry, l.hasRetry = parseGlob(c.Retry.Match), true
		l.scan = mergeGlobs(l.match, l.retry)
	}
	l.lifeTells = c.TTL.Processing > 0 && c.TTL.Done > c.TTL.Processing &&
		len(c.States[dedup.Failed]) == 0 && len(c.States[dedup.Present]) == 0
	return l, l.compileID()
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

// messageID returns the message id in a marker's key, and whether there is one.
func (l *layout) messageID(key string) (string, bool) {
	if l.id == nil {
		id, ok := strings.CutPrefix(key, l.idPrefix)
		return id, ok && id != ""
	}
	groups := l.id.FindStringSubmatch(key)
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

func (l *layout) classify(key string) keyClass {
	isMarker := l.match.match(key)
	if !isMarker && !(l.hasRetry && l.retry.match(key)) {
		return foreignKey
	}
	for _, e := range l.exclude {
		if e.match(key) {
			return foreignKey
		}
	}
	if !isMarker {
		return retryKey
	}
	if _, ok := l.messageID(key); !ok {
		return foreignKey
	}
	return markerKey
}

// named gives m its key and id. A key too long to keep is left out and described, never shortened: a shortened key
// would be another key.
func (l *layout) named(m dedup.Marker, key string) dedup.Marker {
	if len(key) > maxSampleKey {
		m.Detail = strings.TrimPrefix(m.Detail+fmt.Sprintf("; a key of %d bytes that begins with %s", len(key), printable(key)), "; ")
		return m
	}
	m.Key = key
	if id, ok := l.messageID(key); ok {
		m.ID = id
	}
	return m
}

// times returns when a marker expires and since when it is in its state, by the store's clock; each is zero when that
// cannot be known. Only the lives of processing and done markers are configured.
func (l *layout) times(state dedup.State, expiry, now int64) (expires, since time.Time) {
	if expiry > 0 {
		expires = time.UnixMilli(expiry)
	}
	switch state {
	case dedup.Processing:
		since = began(expiry, now, l.cfg.TTL.Processing)
	case dedup.Done:
		since = began(expiry, now, l.cfg.TTL.Done)
	}
	return expires, since
}
