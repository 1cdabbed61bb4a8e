package events

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/codec"
	"dedup-dashboard/internal/markers/pace"
	"dedup-dashboard/internal/markers/redis/layout"
)

const (
	// sessionTick is how often a session looks for what it must ask, syncEvery how often it asks for the server's counts.
	sessionTick = 50 * time.Millisecond
	syncEvery   = time.Second
	// mostAsked bounds the questions of one tick: the server serves others in between.
	mostAsked = 500
	// silentFor is how long the server may owe an answer.
	silentFor = 3 * pace.AnswerTimeout
	// manyWrites without one notification say that notifications are off, where the server does not let us ask.
	manyWrites = 50
)

// session is one connection in RESP3, on which notifications and the answers to our own commands come in the order in
// which the server made them: what an answer says holds exactly behind the notifications that came before it. A goroutine
// reads, another one asks.
type session struct {
	l      *Listener
	conn   net.Conn
	r      *bufio.Reader
	prefix string

	mu   sync.Mutex
	book *book
	// owed are what to do with the answers to come, in the order of their commands.
	owed   []owed
	synced time.Time
	asking bool // the server's counts are asked for
	// unsure: what our own actor did until then cannot be told from what consumers did.
	unsure bool
	before commandStats
	// eventsBefore are the events of the book by then.
	eventsBefore int64
	// values are the claims whose values must be read, for they have no expiry to tell what they are.
	values []doubt
	// empty are the claims of which an empty value was read, gone those whose keys were not there: both are asked about once
	// more.
	empty, gone []doubt
	// looks are keys that were counted as completed and whose values must be read.
	looks []string
	// flags is the setting of notifications; flagsKnown and flagsDenied say whether the server tells it. off is true while it
	// does not suffice.
	flags                        string
	flagsKnown, flagsDenied, off bool
	// heard counts the notifications since the last reading, quietSince the writes of everybody when the last one came. quiet
	// is true when too many came since.
	received   int64
	quietSince int64
	quiet      bool
	// proved: a notification came in this epoch, on a server that counts CONFIG SET, which ends the epoch. So notifications
	// are on however few come, and whatever others write.
	proved bool
	// listed are the endless claims of listedOf, as they were when they last changed.
	listed   []dedup.Marker
	listedOf *book
	// info is the command that asks for all that a reading needs at one instant.
	info []string
}

// owed is an answer that the server owes us.
type owed struct {
	since time.Time
	take  func(v wireValue, at time.Time) error
}

// openSession connects and subscribes.
func openSession(ctx context.Context, l *Listener) (*session, error) {
	options := l.rdb.Options()
	dialing, cancel := context.WithTimeout(ctx, pace.AnswerTimeout)
	defer cancel()
	conn, err := options.Dialer(dialing, options.Network, options.Addr)
	if err != nil {
		return nil, err
	}
	l.Own.reset()
	s := &session{l: l, conn: conn, r: bufio.NewReaderSize(&calmReader{from: conn}, 64<<10)}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	if err := s.greet(); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return s, nil
}

// greet signs in and subscribes.
func (s *session) greet() error {
	options := s.l.rdb.Options()
	if err := s.conn.SetDeadline(time.Now().Add(pace.AnswerTimeout)); err != nil {
		return err
	}
	hello := []string{"HELLO", "3"}
	if options.Password != "" {
		user := options.Username
		if user == "" {
			user = "default"
		}
		hello = append(hello, "AUTH", user, options.Password)
	}
	v, err := s.ask(hello...)
	if err != nil {
		return err
	}
	if err := v.failed(); err != nil {
		return helloError(err)
	}
	s.info = infoCommand(v)
	// Servers before 7.2 do not know it: there a reading counts as use.
	if _, err := s.ask("CLIENT", "NO-TOUCH", "ON"); err != nil {
		return err
	}
	if options.DB != 0 {
		if v, err = s.ask("SELECT", strconv.Itoa(options.DB)); err == nil {
			err = v.failed()
		}
		if err != nil {
			return err
		}
	}
	return s.subscribe()
}

// helloError words the refusal of HELLO 3.
func helloError(err error) error {
	if strings.HasPrefix(err.Error(), "ERR unknown command") || strings.HasPrefix(err.Error(), "NOPROTO") {
		return &dedup.Error{Kind: dedup.Unavailable, Err: err,
			Public: "the server does not know HELLO 3: store events need Redis 6 or later, reached without a proxy in between"}
	}
	return err
}

func (s *session) ask(words ...string) (wireValue, error) {
	if _, err := s.conn.Write(appendCommand(nil, words...)); err != nil {
		return wireValue{}, err
	}
	return readWire(s.r)
}

// subscribe asks for the notifications and waits until all are promised. What comes before that is not counted. Each pattern is asked
// for by itself: a refusal names none.
func (s *session) subscribe() error {
	prefix, patterns := s.l.channels()
	s.prefix = prefix
	var commands []byte
	for _, p := range patterns {
		commands = appendCommand(commands, "PSUBSCRIBE", p)
	}
	if _, err := s.conn.Write(commands); err != nil {
		return err
	}
	var denied DeniedError
	for answered := 0; answered < len(patterns); {
		v, err := readWire(s.r)
		if err != nil {
			return err
		}
		switch fault := v.failed(); {
		case fault != nil && !strings.HasPrefix(fault.Error(), "NOPERM"):
			return fault
		case fault != nil:
			denied.add(fault, patterns[answered])
			answered++
		case v.kind == '>' && len(v.items) > 0 && v.items[0].text == "psubscribe":
			answered++
		}
	}
	return denied.refusal(s.user())
}

func (s *session) user() string {
	if user := s.l.rdb.Options().Username; user != "" {
		return user
	}
	return "default"
}

// follow counts until the connection ends or ctx does.
func (s *session) follow(ctx context.Context) error {
	if err := s.conn.SetDeadline(time.Time{}); err != nil {
		return err
	}
	s.book = s.l.begin(time.Now(), 0)
	s.l.trail.take(s.book.began, s.book)
	ctx, cancel := context.WithCancel(ctx)
	var asking sync.WaitGroup
	asked := make(chan error, 1)
	asking.Go(func() {
		err := s.keepAsking(ctx)
		_ = s.conn.Close() // ends the reading
		asked <- err
	})
	err := s.read()
	cancel()
	asking.Wait()
	if fault := <-asked; fault != nil {
		// Why we hung up says more than that the connection is closed.
		err = fault
	}
	return err
}

// read takes what comes until the connection ends.
func (s *session) read() error {
	for {
		v, err := readWire(s.r)
		if err != nil {
			return err
		}
		if err := s.take(v, time.Now()); err != nil {
			return err
		}
	}
}

// take handles one push or answer.
func (s *session) take(v wireValue, at time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.l.trail.take(at, s.book) }()
	if v.kind == '>' {
		key, event, ok := v.notification(s.prefix)
		if !ok {
			return nil
		}
		return s.settle(s.notified(key, event, at), at)
	}
	if len(s.owed) == 0 {
		return fmt.Errorf("%w: an answer that nobody asked for", errWire)
	}
	next := s.owed[0]
	s.owed = s.owed[1:]
	return s.settle(next.take(v, at), at)
}

func (s *session) notified(key, event string, at time.Time) error {
	switch class, id := s.l.layout.Known(key); {
	case class == layout.Marker && event == keymiss: // it says nothing of notifications that tell of writes
		s.book.misses.all++
	case class == layout.Marker:
		s.received++
		defer s.remember(key, event, at)
		if act := s.l.Own.take(key, event); act != nil {
			return s.book.ours(act, at)
		}
		if !s.l.followers.any() {
			return s.book.event(key, id, event, at)
		}
		before := s.book.totals()
		err := s.book.event(key, id, event, at)
		s.l.followers.report(id, at, before, s.book.totals())
		return err
	case class == layout.Retry && s.l.rules.giveUp > 0:
		s.received++
		if act := s.l.Own.take(key, event); act != nil && event == "set" {
			s.book.retries.restored(act)
			return nil
		}
		return s.book.retries.event(key, id, event)
	}
	return nil
}

// settle begins an epoch where the book cannot go on, and passes other errors through.
func (s *session) settle(err error, at time.Time) error {
	if errors.Is(err, errOverflow) || errors.Is(err, errMissed) || errors.Is(err, errProlonged) {
		s.anew(err.Error(), at)
		return nil
	}
	return err
}

// anew begins an epoch. The caller holds the lock.
func (s *session) anew(why string, at time.Time) {
	s.l.gap(why, at)
	s.l.newest.forget()
	before := s.book
	s.book = s.l.begin(at, before.number)
	s.book.renewals.shown = before.renewals.shown
	s.received, s.quiet, s.proved = 0, false, false
	s.quietSince = s.before.writes
}

// keepAsking asks what is due until ctx ends, or until the server owes an answer for too long.
func (s *session) keepAsking(ctx context.Context) error {
	tick := time.NewTicker(sessionTick)
	defer tick.Stop()
	for last := time.Now(); ; {
		now := time.Now()
		s.l.trail.woken(last, now)
		last = now
		commands, err := s.questions(now)
		if err != nil {
			return err
		}
		if len(commands) > 0 {
			_ = s.conn.SetWriteDeadline(time.Now().Add(pace.AnswerTimeout))
			if _, err := s.conn.Write(commands); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// questions returns the commands that are due and notes what is owed for them.
func (s *session) questions(now time.Time) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.owed) > 0 && now.Sub(s.owed[0].since) > silentFor {
		return nil, &dedup.Error{Kind: dedup.Unavailable, Public: "Redis at " + s.l.explain.Addr + " did not answer on the connection of its notifications for " + silentFor.String()}
	}
	var out []byte
	send := func(take func(wireValue, time.Time) error, words ...string) {
		out = appendCommand(out, words...)
		s.owed = append(s.owed, owed{now, take})
	}
	for _, d := range s.book.doubts(now, mostAsked) {
		send(s.lifeOf(d), "PTTL", d.key)
	}
	for _, d := range s.values {
		send(s.valueOf(d), "GETRANGE", d.key, "0", strconv.Itoa(codec.ValueBytes-1))
	}
	for _, d := range s.empty {
		send(s.lifeOfEmpty(d), "PTTL", d.key)
	}
	for _, d := range s.gone {
		send(s.stillGone(d), "PTTL", d.key)
	}
	for _, key := range s.looks {
		send(s.valueLookedAt(key), "GETRANGE", key, "0", strconv.Itoa(codec.ValueBytes-1))
	}
	s.values, s.empty, s.gone, s.looks = nil, nil, nil, nil
	if key, due := s.book.prolongs.next(now); due {
		send(s.lookedAt(key), "PTTL", key)
	}
	for _, key := range s.l.newest.next() {
		send(s.lookedFor(key), "PTTL", key)
	}
	for _, key := range s.book.retries.ask(mostAsked) {
		send(s.counted(key, s.book), "GETRANGE", key, "0", strconv.Itoa(layout.LongestCounter-1))
	}
	if !s.asking && now.Sub(s.synced) >= syncEvery {
		s.asking, s.synced, s.unsure = true, now, s.l.Own.ask()
		s.l.Missed.ask()
		if !s.flagsDenied {
			send(s.setting, "CONFIG", "GET", "notify-keyspace-events")
		}
		send(s.sync, s.info...)
	}
	return out, nil
}
