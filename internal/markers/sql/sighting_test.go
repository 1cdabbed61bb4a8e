package sql_test

import (
	"bytes"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/markerstest"
)

// A requestClock passes bytes on to a server, and notes when the newest request for some rows passed.
type requestClock struct {
	listener net.Listener
	server   string
	passed   atomic.Pointer[time.Time]
	wait     sync.WaitGroup
}

func startRequestClock(t *testing.T, server string) *requestClock {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &requestClock{listener: listener, server: server}
	c.wait.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			c.wait.Go(func() { c.pass(client) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		c.wait.Wait()
	})
	return c
}

func (c *requestClock) pass(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", c.server)
	if err != nil {
		return
	}
	c.wait.Go(func() {
		_, _ = io.Copy(client, server)
		_ = client.Close()
	})
	defer server.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		if bytes.Contains(buffer[:n], []byte(" LIMIT ")) {
			now := time.Now()
			c.passed.Store(&now)
		}
		if _, err := server.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// TestASightingIsDatedBeforeItsRowWasRead: whether a row is old enough to be cleared is told by its age when it was seen. One whose
// answer was slow would look older than it was, and could have been taken again in the same second.
func TestASightingIsDatedBeforeItsRowWasRead(t *testing.T) {
	onEach(t, func(t *testing.T, db *markerstest.Database) {
		db.Exec(t, markerstest.DedupTables[db.Driver], "INSERT INTO message_dedup (message_id) VALUES ('m')")
		clock := startRequestClock(t, db.Addr())
		store := openTable(t, db, "sql-status-code", func(c *markers.Config) {
			c.SQL.DSN = secret.New(strings.Replace(db.AdminDSN(), db.Addr(), clock.listener.Addr().String(), 1))
		})
		check := func(what string, s *dedup.Sighting) {
			t.Helper()
			if asked := clock.passed.Load(); s == nil || asked == nil || s.At.After(*asked) {
				t.Errorf("%s: %+v, and was asked for at %v", what, s, asked)
			}
		}
		found, err := store.(markers.Reader).Lookup(t.Context(), "m")
		if err != nil || len(found) != 1 {
			t.Fatalf("%+v, %v", found, err)
		}
		check("a lookup", &found[0])
		seen, err := store.(markers.Reader).Look(t.Context(), []string{found[0].Key})
		if err != nil {
			t.Fatal(err)
		}
		check("a look", seen[0])
		check("a find", markerstest.Find(t, store, "m")[0])
	})
}
