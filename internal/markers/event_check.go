package markers

import (
	"context"
	"errors"

	"dedup-dashboard/internal/dedup"
)

// check says whether notifications can be followed, and which rules the account lacks for it.
func (l *listener) check(ctx context.Context) (words, missing string, err error) {
	s, err := openEventSession(ctx, l)
	var known *dedup.Error
	if errors.As(err, &known) && isAnswer(known.Err, "NOPERM") {
		_, patterns := l.channels()
		return "", listenGrant(patterns), nil
	}
	if err != nil {
		return "", "", err
	}
	defer s.conn.Close()
	life, err := s.tell("PTTL", l.layout.keyLike(l.layout.match, "dashboard-check"))
	if err != nil {
		return "", "", err
	}
	if isAnswer(life.failed(), "NOPERM") {
		return "", "+pttl", nil
	}
	setting, err := s.tell("CONFIG", "GET", "notify-keyspace-events")
	if err != nil {
		return "", "", err
	}
	flags, told := setting.field("notify-keyspace-events")
	switch {
	case setting.failed() != nil || !told:
		return "cannot tell whether notifications are on until one arrives: grant +config|get to let the dashboard see it", "", nil
	case !notifies(flags.text):
		return offWords(flags.text), "", nil
	}
	return "notifications are on (notify-keyspace-events is " + printable(flags.text) + ")", "", nil
}

// tell asks and returns the answer, whatever notifications come before it.
func (s *eventSession) tell(words ...string) (wireValue, error) {
	v, err := s.ask(words...)
	for err == nil && v.kind == '>' {
		v, err = readWire(s.r)
	}
	return v, err
}
