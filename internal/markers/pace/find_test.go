package pace

import (
	"slices"
	"strings"
	"testing"

	"dedup-dashboard/internal/dedup"
)

func TestAMarkerUnderEitherSpellingOfAUUIDIsThatOfItsMessage(t *testing.T) {
	const bare = "6f9619ff-8b86-d011-b42d-00c04fc964ff"
	const urn = "urn:uuid:" + bare
	done := func(f *Finding, id string) {
		f.Found(id, &dedup.Sighting{Marker: dedup.Marker{Key: id, State: dedup.Done}})
	}
	several := func(f *Finding) { f.Found(urn, CannotHold("s", urn, "several rows")) }
	for name, c := range map[string]struct {
		finds func(*Finding)
		urn   string // what is found of the message: a key, none, or in words why that is not known
	}{
		"neither":                               {func(*Finding) {}, "none"},
		"as it stands":                          {func(f *Finding) { done(f, urn) }, urn},
		"bare":                                  {func(f *Finding) { done(f, bare) }, bare},
		"under both":                            {func(f *Finding) { done(f, urn); done(f, bare) }, "which of"},
		"bare, where the store holds no other":  {func(f *Finding) { f.Refused(urn, "too long"); done(f, bare) }, bare},
		"none, where the store holds no other":  {func(f *Finding) { f.Refused(urn, "too long") }, "none"},
		"as it stands, where no other fits":     {func(f *Finding) { done(f, urn); f.Refused(bare, "no value") }, urn},
		"the store can hold neither":            {func(f *Finding) { f.Refused(urn, "too long"); f.Refused(bare, "no value") }, "too long"},
		"refused, and found as the server cuts": {func(f *Finding) { f.Refused(urn, "too long"); done(f, urn) }, urn},
		"several rows as it stands":             {several, "several rows"},
		"several rows, and one that is bare":    {func(f *Finding) { several(f); done(f, bare) }, "which of"},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := NewFinding("s", []string{"other", urn, bare, urn})
			if err != nil || !slices.Equal(f.IDs, []string{"other", urn, bare}) {
				t.Fatal(f, err)
			}
			c.finds(f)
			all := f.Sightings()
			what := "none"
			if s := all[1]; s != nil {
				what = s.Key + s.Detail
			}
			if len(all) != 4 || all[0] != nil || !strings.Contains(what, c.urn) || all[2] != f.found[bare] {
				t.Errorf("found %q: %+v", what, all)
			}
		})
	}
}
