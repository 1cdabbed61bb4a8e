package deadletter

import (
	"bytes"
	"context"
	"slices"
	"unicode"
	"unicode/utf8"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/message"
)

const (
	// maxSeen is the most letters that Seen tells of.
	maxSeen = 100
	// leastKey is the least number of bytes of a key that is sought in letters: nearly every one holds shorter words.
	leastKey = 3
	// maxKeyMasked is how many bytes of bodies a search for a key masks at the most.
	maxKeyMasked = 16 << 20
)

// IDsOfKey returns the message ids of letters in the looks that are still kept, at most so many, that show a business key to everybody: as a
// whole word of a header, a property or the body. Operators may.
func (s *Scans) IDsOfKey(ctx context.Context, who admin.Caller, key string, most int) ([]string, error) {
	if err := s.allow(ctx, who, auth.Operator, "look_up_dead_letters", ""); err != nil {
		return nil, err
	}
	var ids []string
	search := keySearch{key: []byte(key), left: maxKeyMasked}
	for _, scan := range s.deps.Kept.all() {
		for i := range scan.Letters {
			l := &scan.Letters[i]
			if len(ids) < most && l.ID != "" && l.ID != key && !slices.Contains(ids, l.ID) && search.finds(l) {
				ids = append(ids, l.ID)
			}
		}
	}
	return ids, nil
}

// A keySearch seeks a key in letters as lists have them. Bodies are masked only where the key stands in what is masked, and only so many.
type keySearch struct {
	key  []byte
	left int
}

func (s *keySearch) finds(l *Letter) bool {
	switch {
	case len(s.key) < leastKey:
		return false
	case l.Marker != nil && l.Marker.BusinessKey == string(s.key), s.in([]byte(l.MessageID)), s.in([]byte(l.CorrelationID)):
		return true
	}
	for _, v := range l.Headers {
		if text, ok := HeaderWord(v); ok && s.in([]byte(text)) {
			return true
		}
	}
	if l.deferred == nil {
		return s.in(l.Body)
	}
	if size := len(l.deferred.of.Body); size <= s.left && s.in(l.deferred.of.Body) {
		s.left -= size
		return s.in(l.shownBody())
	}
	return false
}

// in reports whether the key stands in a text as a whole word.
func (s *keySearch) in(text []byte) bool {
	for from := 0; ; {
		i := bytes.Index(text[from:], s.key)
		if i < 0 {
			return false
		}
		begin, end := from+i, from+i+len(s.key)
		before, _ := utf8.DecodeLastRune(text[:begin])
		after, _ := utf8.DecodeRune(text[end:])
		if !inWord(before) && !inWord(after) {
			return true
		}
		from = begin + 1
	}
}

func inWord(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }

// Seen returns the looks that are still kept and found letters with this message id, or without any and showing it as a business key, each
// with those letters alone, masked for everybody. Operators may.
func (s *Scans) Seen(ctx context.Context, who admin.Caller, id string) ([]Scan, error) {
	if err := s.allow(ctx, who, auth.Operator, "look_up_dead_letters", ""); err != nil {
		return nil, err
	}
	if id == "" {
		return nil, nil
	}
	var found []Scan
	left, search := maxSeen, keySearch{key: []byte(id), left: maxKeyMasked}
	for _, scan := range s.deps.Kept.all() {
		one := scan
		one.Letters = nil
		for i := range scan.Letters {
			l := &scan.Letters[i]
			if left > 0 && (message.BareID(l.ID) == message.BareID(id) || l.ID == "" && search.finds(l)) {
				one.Letters = append(one.Letters, *l)
				left--
			}
		}
		if len(one.Letters) > 0 {
			found = append(found, one)
		}
	}
	return found, nil
}

// all returns the newest scan of each queue, masked, the newest first.
func (s *KeptScans) all() []Scan {
	s.mu.Lock()
	defer s.mu.Unlock()
	scans := make([]Scan, 0, len(s.order))
	for i := len(s.order) - 1; i >= 0; i-- {
		if k := s.scans[s.order[i]]; s.newestOf(k.Raw.Pipeline, k.Raw.Queue) == k {
			scans = append(scans, k.Masked)
		}
	}
	return scans
}
