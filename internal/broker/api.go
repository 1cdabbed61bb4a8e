package broker

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"dedup-dashboard/internal/outbound"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/internal/text"
)

const (
	// maxBody bounds one answer, after decompression.
	maxBody = 32 << 20
	// maxDrain is how much of an answer's rest is read so that its connection can be used again.
	maxDrain = 64 << 10
)

// An api sends single requests to the management API of one broker; its callers take turns.
type api struct {
	name string
	// roots are the nodes' addresses, and at is the one that is asked: that which answered last.
	roots    []*url.URL
	at       int
	user     string
	password secret.Secret
	timeout  time.Duration
	limit    int64
	http     *http.Client
	// date is the broker's clock in its newest answer, zero when it said none, and asked ours before the request.
	date, asked time.Time
}

// newHTTP returns a client that follows no redirect and asks no proxy.
func newHTTP(secured *tls.Config) *http.Client {
	return &http.Client{
		Transport:     outbound.Transport(secured),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// root is the address that is asked.
func (a *api) root() *url.URL { return a.roots[a.at] }

// A streamed decodes itself piece by piece, so that a large answer is never in memory as a whole.
type streamed interface {
	decode(*json.Decoder) error
}

// get reads one resource into v. The path is what apiPath returns. A node that gives no whole answer is not asked again before the others; where it gave
// none at all, and that at once, the next one is asked now.
func (a *api) get(ctx context.Context, path string, query url.Values, v any) error {
	for left := len(a.roots) - 1; ; left-- {
		begun, err := a.getOnce(ctx, path, query, v)
		if len(a.roots) == 1 || !IsAway(err) {
			return err
		}
		a.at = (a.at + 1) % len(a.roots)
		switch {
		case left == 0:
			return a.allAway(err)
		case begun || KindOf(err) == Timeout || ctx.Err() != nil:
			return err
		}
	}
}

// allAway says that no node answers.
func (a *api) allAway(last error) error {
	var e *Error
	if errors.As(last, &e) {
		e.Text = fmt.Sprintf("none of the %d nodes in management_urls answers; the last one: %s", len(a.roots), e.Text)
	}
	return last
}

// getOnce is get from the node that is asked. It reports whether an answer began.
func (a *api) getOnce(ctx context.Context, path string, query url.Values, v any) (begun bool, err error) {
	started := time.Now()
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	request, name, err := a.request(ctx, path, query)
	if err != nil {
		return false, err
	}
	answer, err := a.http.Do(request)
	if err != nil {
		return false, a.connectError(name, time.Since(started), OrEnd(ctx, err))
	}
	defer answer.Body.Close()
	a.noteDate(started, answer)
	if answer.StatusCode != http.StatusOK {
		return true, a.statusError(name, answer)
	}
	if err := a.notJSON(name, answer); err != nil {
		return true, err
	}
	if err := decode(outbound.Limited(answer.Body, a.limit), v); err != nil {
		return true, a.bodyError(name, time.Since(started), OrEnd(ctx, err))
	}
	return true, nil
}

// noteDate remembers the broker's clock as its answer shows it, beside ours when the request was made.
func (a *api) noteDate(asked time.Time, answer *http.Response) {
	a.asked, a.date = asked, time.Time{}
	if date, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
		a.date = date
	}
}

// getTwice tries once more after a 500: up to 4.2 a queue that is deleted while the list is made fails the whole list.
func (a *api) getTwice(ctx context.Context, path string, query url.Values, v any) error {
	err := a.get(ctx, path, query, v)
	if hasStatus(err, http.StatusInternalServerError) {
		err = a.get(ctx, path, query, v)
	}
	return err
}

// put replaces one resource.
func (a *api) put(ctx context.Context, path string, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("broker %s: encode: %w", a.name, err)
	}
	started := time.Now()
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	request, name, err := a.request(ctx, path, nil)
	if err != nil {
		return err
	}
	name = http.MethodPut + strings.TrimPrefix(name, http.MethodGet)
	request.Method, request.Body, request.ContentLength = http.MethodPut, io.NopCloser(bytes.NewReader(text)), int64(len(text))
	request.Header.Set("Content-Type", "application/json")
	answer, err := a.http.Do(request)
	if err != nil {
		return a.connectError(name, time.Since(started), OrEnd(ctx, err))
	}
	defer answer.Body.Close()
	if code := answer.StatusCode; code != http.StatusNoContent && code != http.StatusCreated && code != http.StatusOK {
		return a.statusError(name, answer)
	}
	_, _ = io.CopyN(io.Discard, answer.Body, maxDrain)
	return nil
}

// OrEnd returns why ctx ended, if it did: the connection that this closed shows as some error of its own.
func OrEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// request builds a request and its name for errors.
func (a *api) request(ctx context.Context, path string, query url.Values) (*http.Request, string, error) {
	target := *a.root()
	escaped := strings.TrimRight(target.EscapedPath(), "/") + "/api/" + path
	unescaped, err := url.PathUnescape(escaped)
	if err != nil {
		return nil, "", fmt.Errorf("broker %s: build the path %s: %w", a.name, Quote(escaped), err)
	}
	target.Path, target.RawPath, target.RawQuery = unescaped, escaped, query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, "", fmt.Errorf("broker %s: build a request: %w", a.name, err)
	}
	request.SetBasicAuth(a.user, a.password.Reveal())
	request.Header.Set("User-Agent", outbound.UserAgent)
	request.Header.Set("Accept", "application/json")
	return request, "GET " + target.RequestURI(), nil
}

// APIPath escapes each segment by itself, so that the vhost "/" becomes %2F. It must not be cleaned or joined later.
func APIPath(segments ...string) string {
	return text.Joined(segments, "/", url.PathEscape)
}

func decode(body io.Reader, v any) error {
	decoder := json.NewDecoder(body)
	var err error
	if s, ok := v.(streamed); ok {
		err = s.decode(decoder)
	} else {
		err = decoder.Decode(v)
	}
	if err != nil {
		return err
	}
	if _, err := io.CopyN(io.Discard, body, maxDrain); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}
