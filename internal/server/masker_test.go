package server

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
	"dedup-dashboard/internal/server/web"
)

// TestNoHashOfWhatIsHiddenCanBeTriedAgainstGuesses looks for the SHA-256 of a body and of a marker's value wherever a role can read.
func TestNoHashOfWhatIsHiddenCanBeTriedAgainstGuesses(t *testing.T) {
	s := stocked(t, nil)
	body := []byte(`{"phone":"+49 170 1234567"}`)
	letter := deadletter.Letter{Prediction: preflight.Prediction{Class: preflight.ClassRuns}}
	letter.DeadLetter = dedup.NewDeadLetter(dedup.QueueRef{Vhost: "/", Name: inventoryDLQ}, message.Message{Body: body, Properties: message.Properties{MessageID: "m-1"}})
	bodySum, valueSum := sha256.Sum256(body), sha256.Sum256([]byte("processing +49 170 1234567"))
	letter.Size, letter.Hash = len(body), hex.EncodeToString(bodySum[:])
	s.morgue.Put(inventoryDLQ, letter)
	s.shelf.Put(dedup.Sighting{Marker: dedup.Marker{Store: "orders", ID: "x-1", Key: "msg:x-1", State: dedup.Failed, Status: "failed"}, Type: "string", Value: []byte("processing +49 170 1234567"), ExpiresMillis: dedup.NoExpiry})
	scan := hiddenFields(s.looked("inventory", inventoryDLQ, "10000").Find("form.act")).Get("scan")
	at := url.Values{"pipeline": {"inventory"}, "queue": {inventoryDLQ}, "scan": {scan}, "ref": {letter.Ref}}.Encode()
	entry := admin.Entry{Operation: "op-1", Who: "a", Role: "admin", Action: "clear_marker", Target: "orders/msg:x-1", At: time.Now(), Hash: hex.EncodeToString(valueSum[:])}
	for _, entry.Phase = range []string{admin.Intent, admin.Succeeded} {
		if err := s.journal.Audit().Record(t.Context(), entry); err != nil {
			t.Fatal(err)
		}
	}
	places := map[string]string{
		"/dead-letters/message?" + at: hex.EncodeToString(bodySum[:]), "/api/v1/dead-letters/message?" + at: hex.EncodeToString(bodySum[:]),
		"/pipelines/inventory/dead-letters.ndjson?scan=" + scan: hex.EncodeToString(bodySum[:]),
		"/markers/one?store=orders&key=msg%3Ax-1":               hex.EncodeToString(valueSum[:]),
	}
	for _, path := range []string{"/api/v1/audit"} {
		places[path] = hex.EncodeToString(valueSum[:])
	}
	for path, sum := range places {
		for _, role := range []string{"viewer", "operator", "admin"} {
			text := s.body(s.as(role, "GET", path, ""))
			if strings.Contains(text, sum) != (role == "admin") {
				t.Errorf("%s reads the hash at %s: %t", role, path, role != "admin")
			}
		}
	}
	if text := s.body(s.as("operator", "GET", "/audit", "")); strings.Contains(text, hex.EncodeToString(valueSum[:6])) {
		t.Error("an operator reads the beginning of the hash in the audit")
	}
	if got := s.site.Masker.Hash(auth.Principal{Role: auth.Operator}, "ab"); got == "ab" || got != s.site.Masker.Hash(auth.Principal{Role: auth.Viewer}, "ab") || web.NewMasker([]byte("k")).Keyed("ab") != web.NewMasker([]byte("k")).Keyed("ab") {
		t.Errorf("the keyed hash is %s", got)
	}
}
