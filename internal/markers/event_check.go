package markers

import (
	"context"
	"strings"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/codec"
)

// listenDenied is what the ACL of an account keeps from a listener. Redis looks at the command first: without it, nothing shows of channels.
type listenDenied struct {
	answer           error
	missing, untried []string
}

// add notes the refusal of one pattern.
func (d *listenDenied) add(answer error, pattern string) {
	d.answer = answer
	channel := "&" + strings.TrimPrefix(aclPattern(pattern), "%R~")
	if !deniedCommand.MatchString(answer.Error()) {
		d.missing = append(d.missing, channel)
		return
	}
	d.missing, d.untried = []string{"+psubscribe"}, append(d.untried, channel)
}

// refusal names the rules to whoever runs the server; nil where nothing was refused.
func (d *listenDenied) refusal(user string) error {
	if d.answer == nil {
		return nil
	}
	words := "the account may not listen to the store's notifications (NOPERM): grant it with ACL SETUSER " + user + " " + strings.Join(d.missing, " ")
	if len(d.untried) > 0 {
		words += "; only then it shows whether it lacks " + strings.Join(d.untried, " ") + " too"
	}
	return &dedup.Error{Kind: dedup.Unavailable, Err: d, Public: words}
}

// Error is the answer of the server.
func (d *listenDenied) Error() string { return d.answer.Error() }

// check says whether notifications can be followed. Rules that the account lacks for it are its error, a listenDenied.
func (l *listener) check(ctx context.Context) (string, error) {
	s, err := openEventSession(ctx, l)
	if err != nil {
		return "", err
	}
	defer s.conn.Close()
	setting, err := s.tell("CONFIG", "GET", "notify-keyspace-events")
	if err != nil {
		return "", err
	}
	flags, told := setting.field("notify-keyspace-events")
	switch {
	case setting.failed() != nil || !told:
		return "cannot tell whether notifications are on until one arrives: grant +config|get to let the dashboard see it", nil
	case !notifies(flags.text):
		return offWords(flags.text), nil
	}
	return "notifications are on (notify-keyspace-events is " + codec.Printable(flags.text) + ")", nil
}

// tell asks and returns the answer, whatever notifications come before it.
func (s *eventSession) tell(words ...string) (wireValue, error) {
	v, err := s.ask(words...)
	for err == nil && v.kind == '>' {
		v, err = readWire(s.r)
	}
	return v, err
}
