package broker

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"syscall"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/outbound"
)

// ErrorKind says why the broker could not be read, or not do what it was asked for; it is a stable word for machines.
type ErrorKind string

// The kinds of failed readings.
const (
	Canceled      ErrorKind = "canceled"       // the caller gave up
	Refused       ErrorKind = "refused"        // nothing listens at the address
	Unresolved    ErrorKind = "unresolved"     // the host name has no address
	Unreachable   ErrorKind = "unreachable"    // no way to the host
	Interrupted   ErrorKind = "interrupted"    // the connection ended before the answer began
	Timeout       ErrorKind = "timeout"        // no complete answer in time
	TLS           ErrorKind = "tls"            // certificate or handshake
	NotManagement ErrorKind = "not_management" // something else listens there, or the plugin is not enabled
	Redirected    ErrorKind = "redirected"     // redirects are never followed: they would carry the password along
	WrongPassword ErrorKind = "wrong_password" // login failed
	TagMissing    ErrorKind = "tag_missing"    // the account logs in but lacks a tag
	NoPermission  ErrorKind = "no_permission"  // the account has no permission in a vhost
	Status        ErrorKind = "status"         // any other HTTP status
	Truncated     ErrorKind = "truncated"      // the answer ends in its midst
	TooLarge      ErrorKind = "too_large"      // the answer is larger than the limit
	Malformed     ErrorKind = "malformed"      // the answer is not what RabbitMQ sends
	NoQueue       ErrorKind = "no_queue"       // there is no such queue
	NoVhost       ErrorKind = "no_vhost"       // there is no such vhost
	InUse         ErrorKind = "in_use"         // another consumer has the queue, or it belongs to one connection
	NotPossible   ErrorKind = "not_possible"   // the queue is of a kind that cannot do it
	Declined      ErrorKind = "declined"       // the broker closed the channel or connection for another reason
)

// An Error is a failed request to a broker, in words that say what to do. It converts to a *dedup.Error through errors.As: of kind
// NotFound for NoQueue, Conflict for InUse and NotPossible, else Unavailable. It holds no credentials.
type Error struct {
	Kind ErrorKind
	// Broker is the configured name; Request is the method and path, or says what was attempted.
	Broker  string
	Request string
	// Text says what happened and Remedy what to do about it.
	Text   string
	Remedy string
	// Status is the HTTP status, 0 when there was none.
	Status int
	// Err is the cause, nil when the answer itself was at fault.
	Err error
	// word is the machine-readable "error" of an error answer, body its first bytes.
	word string
	body []byte
}

// Error returns the whole message on one line.
func (e *Error) Error() string {
	text := fmt.Sprintf("broker %s: %s: %s", e.Broker, e.Request, e.Text)
	if e.Remedy != "" {
		text += "; " + e.Remedy
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// As converts to *dedup.Error, whose public text is the whole message.
func (e *Error) As(target any) bool {
	t, ok := target.(**dedup.Error)
	if ok {
		*t = &dedup.Error{Kind: e.Kind.general(), Public: e.Error(), Err: e.Err}
	}
	return ok
}

// general returns what a caller can do about errors of this kind.
func (k ErrorKind) general() dedup.Kind {
	switch k {
	case NoQueue:
		return dedup.NotFound
	case InUse, NotPossible:
		return dedup.Conflict
	default:
		return dedup.Unavailable
	}
}

// KindOf returns the kind of the first Error in err's chain, and "" when there is none.
func KindOf(err error) ErrorKind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}

// isPageOutOfRange reports whether a page beyond the last was asked for.
func isPageOutOfRange(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.word == "page_out_of_range"
}

// IsAway reports whether a node gave no answer, so that another one may.
func IsAway(err error) bool {
	switch KindOf(err) {
	case Unresolved, Timeout, Refused, Interrupted, Unreachable, Truncated:
		return true
	}
	return false
}

func hasStatus(err error, status int) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == status
}

// failure completes an error of one request.
func (a *api) failure(request string, e Error) error {
	e.Broker, e.Request = a.name, request
	if len(a.roots) > 1 && !strings.Contains(e.Text, a.root().Host) {
		e.Text = a.root().Host + ": " + e.Text
	}
	return &e
}

// connectError explains why no answer began.
func (a *api) connectError(request string, took time.Duration, err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err // the wrapper repeats the URL
	}
	e := Error{Err: err}
	var dns *net.DNSError
	switch {
	case errors.Is(err, context.Canceled):
		e.Kind, e.Text = Canceled, "given up"
	case errors.As(err, &dns) && !dns.IsTimeout:
		e.Kind, e.Text = Unresolved, "the host "+Quote(a.root().Hostname())+" cannot be resolved"
		e.Remedy = "check management_url and the name service"
	case IsTimeout(err):
		return a.timeoutError(request, took, err)
	case errors.Is(err, syscall.ECONNREFUSED):
		e.Kind, e.Text = Refused, "connection refused by "+a.root().Host
		e.Remedy = "start RabbitMQ or correct management_url; if AMQP answers but this does not, run: rabbitmq-plugins enable rabbitmq_management"
	case IsTLS(err):
		e.Kind, e.Text, e.Remedy = TLS, "TLS: "+Quote(err.Error()), TLSRemedy(err)
	case strings.Contains(err.Error(), "malformed HTTP"):
		e.Kind, e.Text, e.Remedy = NotManagement, "it does not speak HTTP", notHTTPRemedy(err)
	case IsCut(err):
		e.Kind, e.Text = Interrupted, "the connection to "+a.root().Host+" ended before the answer"
		e.Remedy = "RabbitMQ may be restarting; if this stays, check management_url and what stands between"
	default:
		e.Kind, e.Text = Unreachable, a.root().Host+" cannot be reached: "+Quote(err.Error())
		e.Remedy = "check management_url, the route and the firewall"
	}
	return a.failure(request, e)
}

// bodyError explains why an answer that began could not be read or understood.
func (a *api) bodyError(request string, took time.Duration, err error) error {
	e := Error{Err: err}
	var large outbound.TooLarge
	switch {
	case errors.Is(err, context.Canceled):
		e.Kind, e.Text = Canceled, "given up"
	case IsTimeout(err):
		return a.timeoutError(request, took, err)
	case errors.As(err, &large):
		e.Kind, e.Text = TooLarge, large.Error()
		e.Remedy = "this is more than a broker should send; check management_url and what stands between"
	case IsCut(err):
		e.Kind, e.Text = Truncated, "the answer ends in its midst"
		e.Remedy = "RabbitMQ may be restarting; if this stays, check what stands between"
	default:
		e.Kind, e.Text = Malformed, "the answer is not what RabbitMQ sends: "+describeJSON(err)
		e.Remedy = "check that management_url leads to the management API of RabbitMQ 3.10 or later"
	}
	return a.failure(request, e)
}

func (a *api) timeoutError(request string, took time.Duration, err error) error {
	e := Error{Kind: Timeout, Err: err}
	e.Text = fmt.Sprintf("no complete answer within %s", took.Round(10*time.Millisecond))
	e.Remedy = "the broker is overloaded, or a firewall drops packets; a broker with many queues needs a longer timeout and interval"
	return a.failure(request, e)
}

func IsTimeout(err error) bool {
	var n net.Error
	return errors.Is(err, context.DeadlineExceeded) || (errors.As(err, &n) && n.Timeout())
}

func IsCut(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

func IsTLS(err error) bool {
	var (
		verification *tls.CertificateVerificationError
		header       tls.RecordHeaderError
		alert        tls.AlertError
		remote       *net.OpError
	)
	return errors.As(err, &verification) || errors.As(err, &header) || errors.As(err, &alert) ||
		(errors.As(err, &remote) && remote.Op == "remote error") ||
		strings.Contains(err.Error(), "server gave HTTP response to HTTPS client") || strings.HasPrefix(err.Error(), "tls: ")
}

func TLSRemedy(err error) string {
	var (
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		header    tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &authority):
		return "set ca_file to the PEM file of the authority that signed the broker's certificate"
	case errors.As(err, &host):
		return "use a host name in management_url that the certificate names"
	case strings.Contains(err.Error(), "certificate required"), strings.Contains(err.Error(), "bad certificate"), strings.Contains(err.Error(), "handshake failure"):
		return "the broker asks for a client certificate: set cert_file and key_file"
	case errors.As(err, &header), strings.Contains(err.Error(), "HTTP response"):
		return "this port does not speak TLS: use http:// in management_url, or the TLS port (often 15671)"
	default:
		return "check the broker's certificate and this machine's clock"
	}
}

// notHTTPRemedy tells AMQP and TLS ports apart by the first bytes, which net/http repeats in its error.
func notHTTPRemedy(err error) string {
	switch text := err.Error(); {
	case strings.Contains(text, `"AMQP`):
		return "this is an AMQP port: management_url needs the management port, usually 15672"
	case strings.Contains(text, `"\x15\x03`):
		return "this port speaks TLS: use https:// in management_url"
	default:
		return "management_url needs the management port, usually 15672"
	}
}

// describeJSON says what is wrong with a JSON text without Go's vocabulary.
func describeJSON(err error) string {
	var (
		syntax *json.SyntaxError
		shape  *json.UnmarshalTypeError
	)
	switch {
	case errors.As(err, &syntax):
		return fmt.Sprintf("not JSON at byte %d", syntax.Offset)
	case errors.As(err, &shape):
		return fmt.Sprintf("%s where something else belongs", shape.Value)
	default:
		return Quote(err.Error())
	}
}
