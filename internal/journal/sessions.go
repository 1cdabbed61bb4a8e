package journal

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"
)

const (
	// maxHeld bounds the sessions kept in memory while the disk refuses them.
	maxHeld = 1000
	// sweepEvery is how often expired sessions are deleted, on the back of a commit.
	sweepEvery = 5 * time.Minute
	sqlTimeout = 6 * time.Second
	// endedFor is how long a session that ended is remembered as ended; no request that found it before takes as long.
	endedFor = time.Minute
)

// Sessions is a store for scs: Find, Commit, Delete and All. While the disk refuses writes, changes are held in memory, so
// that people who are signed in stay so and who signed out stays out; they are lost with the process.
// It is safe for concurrent use. The tokens it gets are hashes already.
type Sessions struct {
	db  *sql.DB
	log *slog.Logger

	mu sync.Mutex
	// held overrides the table: what could not be written. A nil data means deleted.
	held map[string]heldSession
	// ended holds when each session was deleted of late: a request that was under way then must not bring it back.
	ended map[string]time.Time
	swept time.Time
}

type heldSession struct {
	data    []byte
	expires time.Time
}

func (h heldSession) over() bool { return !time.Now().Before(h.expires) }

func newSessions(db *sql.DB, log *slog.Logger) *Sessions {
	return &Sessions{db: db, log: log, held: map[string]heldSession{}, ended: map[string]time.Time{}}
}

// Find returns the data of a session that has not expired.
func (s *Sessions) Find(token string) ([]byte, bool, error) {
	s.mu.Lock()
	h, held := s.held[token]
	s.mu.Unlock()
	if held {
		return h.data, h.data != nil && !h.over(), nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), sqlTimeout)
	defer cancel()
	return one(ctx, s.db, "read session", only[[]byte], "SELECT data FROM sessions WHERE token = ? AND expires_at > ?", token, time.Now().UnixMilli())
}

// Commit stores a session. One that was deleted stays deleted: tokens are never used again.
func (s *Sessions) Commit(token string, data []byte, expires time.Time) error {
	if s.hasEnded(token) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), sqlTimeout)
	defer cancel()
	h := heldSession{data: data, expires: expires}
	if err := s.write(ctx, token, h); err != nil {
		return s.hold(token, h, err)
	}
	if s.hasEnded(token) { // while it was being written
		return s.Delete(token)
	}
	s.release(token)
	s.sweep(ctx)
	return nil
}

// write makes the table say the same of a session.
func (s *Sessions) write(ctx context.Context, token string, h heldSession) error {
	if h.data == nil {
		return run(ctx, s.db, do("DELETE FROM sessions WHERE token = ?", token))
	}
	return run(ctx, s.db, do("INSERT OR REPLACE INTO sessions (token, data, expires_at) VALUES (?, ?, ?)", token, h.data, h.expires.UnixMilli()))
}

// Delete removes a session.
func (s *Sessions) Delete(token string) error {
	s.end(token)
	ctx, cancel := context.WithTimeout(context.Background(), sqlTimeout)
	defer cancel()
	// The row may still be there after an error: a tombstone keeps the session out for as long as any may live.
	tombstone := heldSession{expires: time.Now().Add(30 * 24 * time.Hour)}
	if err := s.write(ctx, token, tombstone); err != nil {
		return s.hold(token, tombstone, err)
	}
	s.release(token)
	return nil
}

func (s *Sessions) end(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(s.ended, func(_ string, at time.Time) bool { return now.Sub(at) > endedFor })
	s.ended[token] = now
}

func (s *Sessions) hasEnded(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ended := s.ended[token]
	return ended
}

// All returns the sessions that have not expired, by token.
func (s *Sessions) All() (map[string][]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), sqlTimeout)
	defer cancel()
	all := map[string][]byte{}
	err := each(ctx, s.db, "read sessions", func(row scanner) error {
		var token string
		var data []byte
		err := row.Scan(&token, &data)
		all[token] = data
		return err
	}, "SELECT token, data FROM sessions WHERE expires_at > ?", time.Now().UnixMilli())
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for token, h := range s.held {
		if h.data == nil || h.over() {
			delete(all, token)
			continue
		}
		all[token] = h.data
	}
	return all, nil
}

// hold keeps in memory what the disk refused. Only when that is full too is it an error.
func (s *Sessions) hold(token string, h heldSession, cause error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.held) == 0 {
		s.log.Warn("sessions cannot be written and are kept in memory until they can", "err", cause)
	}
	if _, there := s.held[token]; !there && len(s.held) >= maxHeld {
		maps.DeleteFunc(s.held, func(_ string, h heldSession) bool { return h.over() })
		if len(s.held) >= maxHeld {
			return fmt.Errorf("write session: %w", cause)
		}
	}
	s.held[token] = h
	return nil
}

// release forgets what was held for a token, after it was written. A tombstone that is left over is written with the next
// sweep.
func (s *Sessions) release(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.held) == 0 {
		return
	}
	delete(s.held, token)
	if len(s.held) == 0 {
		s.log.Info("sessions are written again")
	}
}

// sweep deletes expired sessions now and then, and writes what was held. It leaves what fails for the next time.
func (s *Sessions) sweep(ctx context.Context) {
	now := time.Now()
	s.mu.Lock()
	due := now.Sub(s.swept) >= sweepEvery || len(s.held) > 0
	if due {
		s.swept = now
	}
	held := maps.Clone(s.held)
	s.mu.Unlock()
	if !due {
		return
	}
	_, _ = s.db.ExecContext(ctx, "DELETE FROM sessions WHERE expires_at <= ?", now.UnixMilli())
	for token, h := range held {
		if s.write(ctx, token, h) != nil {
			return
		}
		s.releaseIf(token, h)
	}
}

// releaseIf forgets what was held for a token unless it changed since it was written: a sign-out must not be undone.
func (s *Sessions) releaseIf(token string, written heldSession) {
	s.mu.Lock()
	now := s.held[token]
	same := now.expires.Equal(written.expires) && (now.data == nil) == (written.data == nil)
	s.mu.Unlock()
	if same {
		s.release(token)
	}
}
