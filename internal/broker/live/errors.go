package live

import (
	"bufio"
	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/outbound"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"syscall"
	"time"
)

// A Reason says why a node could not be counted; it is a stable word for machines.
type Reason string

// The reasons.
const (
	Refused     Reason = "refused"     // nothing listens there: the node is down, or the plugin is off
	NotFound    Reason = "not_found"   // no such page: another program listens there, or the plugin is older than 3.10
	Denied      Reason = "denied"      // something in between asks for an account
	Status      Reason = "status"      // any other HTTP status
	Timeout     Reason = "timeout"     // no complete answer in time
	Unreachable Reason = "unreachable" // no way there
	Cut         Reason = "cut"         // the answer ends in its midst
	TooLarge    Reason = "too_large"   // the answer is larger than the limit
	Malformed   Reason = "malformed"   // the answer is not that of the plugin
	NoFamilies  Reason = "no_families" // the plugin does not count single queues
	OtherNode   Reason = "other_node"  // one address leads to several nodes, or two to the same
)

// An Error is a node that could not be counted. It holds no credentials; URL is as configured.
type Error struct {
	Reason Reason
	URL    string
	Text   string
	Err    error
}

// Error returns the whole message on one line.
func (e *Error) Error() string { return "live counts of " + e.URL + ": " + e.Text }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// badStatus is an answer without counters.
type badStatus int

func (e badStatus) Error() string {
	return fmt.Sprintf("it answers %d %s", int(e), http.StatusText(int(e)))
}

// explain says why a node could not be read, within what time.
func explain(root string, limit time.Duration, err error) *Error {
	e := &Error{URL: root, Err: err}
	var (
		status badStatus
		large  outbound.TooLarge
		failed *url.Error
	)
	switch {
	case errors.As(err, &status):
		e.Reason, e.Text = status.reason()
	case errors.As(err, &large):
		e.Reason, e.Text = TooLarge, large.Error()
	case errors.Is(err, errOtherNode), errors.Is(err, errSameNode):
		e.Reason, e.Text = OtherNode, err.Error()
	case errors.Is(err, errNoFamilies):
		e.Reason, e.Text = NoFamilies, err.Error()
	case errors.Is(err, errNoMetrics):
		e.Reason, e.Text = Malformed, err.Error()
	case errors.Is(err, bufio.ErrBufferFull):
		e.Reason, e.Text = Malformed, "the answer has a line that is too long"
	case broker.IsTimeout(err):
		e.Reason, e.Text = Timeout, fmt.Sprintf("no complete answer within %s", limit)
	case errors.Is(err, syscall.ECONNREFUSED):
		e.Reason, e.Text = Refused, "connection refused; start the node, or run there: rabbitmq-plugins enable rabbitmq_prometheus"
	case broker.IsCut(err):
		e.Reason, e.Text = Cut, "the answer ends in its midst; the node may be restarting"
	default:
		if errors.As(err, &failed) {
			err = failed.Err // the wrapper repeats the URL
		}
		e.Reason, e.Text = Unreachable, fmt.Sprintf("it cannot be reached: %q", err.Error())
	}
	return e
}

func (e badStatus) reason() (Reason, string) {
	switch int(e) {
	case http.StatusNotFound:
		return NotFound, e.Error() + "; see that the plugin rabbitmq_prometheus of RabbitMQ 3.10 or later is enabled there"
	case http.StatusUnauthorized, http.StatusForbidden:
		return Denied, e.Error() + "; the plugin asks for no account, so something in between does: let this machine through"
	default:
		return Status, e.Error()
	}
}
