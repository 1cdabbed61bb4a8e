package deadletter

import "testing"

func FuzzAKeyIsFoundAsAWholeWordAlone(f *testing.F) {
	f.Add("order SO-1, SO-12", "SO-1")
	f.Add("é1é", "1é1")
	f.Fuzz(func(t *testing.T, text, key string) {
		if len(key) < leastKey {
			return
		}
		s := keySearch{key: []byte(key)}
		if s.in([]byte(text)) && len(text) < len(key) {
			t.Errorf("%q is found in %q", key, text)
		}
		if !s.in([]byte(" " + key + " ")) {
			t.Errorf("%q is not found between blanks", key)
		}
		if s.in([]byte("a"+key+"1")) && len(key) > 0 && !s.in([]byte("a"+key)) && !s.in([]byte(key+"1")) {
			t.Errorf("%q is found inside a word", key)
		}
	})
}
