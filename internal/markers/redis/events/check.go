package events

import (
	"context"
	"strings"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/codec"
	"dedup-dashboard/internal/markers/redis/client"
)

// DeniedError is what the ACL of an account keeps from a listener. Redis looks at the command first: without it, nothing shows of channels.
type DeniedError struct {
	answer           error
	Missing, Untried []string
}

// add notes the refusal of one pattern.
func (d *DeniedError) add(answer error, pattern string) {
	d.answer = answer
	channel := "&" + strings.TrimPrefix(client.ACLPattern(pattern), "%R~")
	if !client.DeniedCommand.MatchString(answer.Error()) {
		d.Missing = append(d.Missing, channel)
		return
	}
	d.Missing, d.Untried = []string{"+psubscribe"}, append(d.Untried, channel)
}

// refusal names the rules to whoever runs the server; nil where nothing was refused.
func (d *DeniedError) refusal(user string) error {
	if d.answer == nil {
		return nil
	}
	words := "the account may not listen to the store's notifications (NOPERM): grant it with ACL SETUSER " + user + " " + strings.Join(d.Missing, " ")
	if len(d.Untried) > 0 {
		words += "; only then it shows whether it lacks " + strings.Join(d.Untried, " ") + " too"
	}
	return &dedup.Error{Kind: dedup.Unavailable, Err: d, Public: words}
}

// Error is the answer of the server.
func (d *DeniedError) Error() string { return d.answer.Error() }

// Check says whether notifications can be followed. Rules that the account lacks for it are its error, a DeniedError.
func (l *Listener) Check(ctx context.Context) (string, error) {
	s, err := openSession(ctx, l)
	if err != nil {
		return "", err
	}
	defer s.conn.Close()
	setting, err := s.query("CONFIG", "GET", "notify-keyspace-events")
	if err != nil {
		return "", err
	}
	flags, told := setting.field("notify-keyspace-events")
	switch {
	case setting.failed() != nil || !told:
		return "cannot tell whether notifications are on until one arrives: grant +config|get to let the dashboard see it", nil
	case !notifies(flags.text):
		return describeOff(flags.text), nil
	}
	return "notifications are on (notify-keyspace-events is " + codec.Printable(flags.text) + ")", nil
}

// query asks and returns the answer, whatever notifications come before it.
func (s *session) query(words ...string) (wireValue, error) {
	v, err := s.ask(words...)
	for err == nil && v.kind == '>' {
		v, err = readWire(s.r)
	}
	return v, err
}
