package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"dedup-dashboard/internal/admin/move"

	"github.com/labstack/echo/v4"

	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// The kinds of error that only the web knows, beside those of package dedup.
const (
	methodNotAllowed dedup.Kind = "method_not_allowed"
	tooLarge         dedup.Kind = "too_large"
	tooMany          dedup.Kind = "too_many"
	wrongHost        dedup.Kind = "wrong_host"
)

// describe maps any error to what the web tells of it. Only texts that were made to be shown are shown.
func describe(err error) *web.Error {
	var told *web.Error
	var soon *auth.TooSoon
	var known *dedup.Error
	var framework *echo.HTTPError
	var size *http.MaxBytesError
	switch {
	case errors.As(err, &told):
		return told
	case errors.As(err, &soon):
		return &web.Error{Status: http.StatusTooManyRequests, Kind: tooMany, Heading: "Too many tries", Message: show.Capital(soon.Error()), RetryAfter: soon.RetryAfter}
	case errors.Is(err, auth.ErrBusy):
		return &web.Error{Status: http.StatusServiceUnavailable, Kind: dedup.Unavailable, Heading: "Busy", Message: show.Capital(auth.ErrBusy.Error()) + "; try again", RetryAfter: time.Second}
	case errors.Is(err, series.ErrStarting):
		return &web.Error{Status: http.StatusServiceUnavailable, Kind: dedup.Unavailable, Heading: "Starting", Message: show.Capital(series.ErrStarting.Error()) + "; try again in a moment", RetryAfter: 2 * time.Second}
	case errors.As(err, &size):
		return &web.Error{Status: http.StatusRequestEntityTooLarge, Kind: tooLarge, Heading: "Too large", Message: fmt.Sprintf("The request is larger than %d bytes", size.Limit)}
	case errors.As(err, &known):
		return describeKind(known)
	case errors.As(err, &framework):
		return describeStatus(framework.Code)
	case errors.Is(err, context.Canceled):
		return &web.Error{Status: http.StatusServiceUnavailable, Kind: dedup.Unavailable, Heading: "Broken off", Message: "The request was broken off"}
	default:
		return describeStatus(http.StatusInternalServerError)
	}
}

func describeKind(e *dedup.Error) *web.Error {
	d := &web.Error{Kind: e.Kind, Message: e.Public}
	switch e.Kind {
	case dedup.Invalid:
		d.Status, d.Heading = http.StatusBadRequest, "That cannot be done"
	case dedup.NotFound:
		d.Status, d.Heading = http.StatusNotFound, "Not found"
	case dedup.Conflict:
		d.Status, d.Heading = http.StatusConflict, "Something changed in between"
	case dedup.Forbidden:
		d.Status, d.Heading = http.StatusForbidden, "Not allowed"
	case dedup.Unavailable:
		d.Status, d.Heading = http.StatusServiceUnavailable, "Not available at the moment"
	default:
		return describeStatus(http.StatusInternalServerError)
	}
	return d
}

func describeStatus(status int) *web.Error {
	switch status {
	case http.StatusNotFound:
		return &web.Error{Status: status, Kind: dedup.NotFound, Heading: "Not found", Message: "There is no such page"}
	case http.StatusMethodNotAllowed:
		return &web.Error{Status: status, Kind: methodNotAllowed, Heading: "Not allowed", Message: "This address does not take requests of this method"}
	case http.StatusRequestEntityTooLarge:
		return &web.Error{Status: status, Kind: tooLarge, Heading: "Too large", Message: "The request is too large"}
	case http.StatusBadRequest:
		return &web.Error{Status: status, Kind: dedup.Invalid, Heading: "That cannot be done", Message: "The request is malformed"}
	default:
		return &web.Error{Status: http.StatusInternalServerError, Kind: dedup.Internal, Heading: "Internal error", Message: "Something went wrong here; the log has more"}
	}
}

// errorBody is an error of the API.
type errorBody struct {
	Error errorFields `json:"error"`
}

type errorFields struct {
	Kind      dedup.Kind `json:"kind"`
	Message   string     `json:"message"`
	RequestID string     `json:"request_id"`
	// Fits is how many messages may be moved, where a move of more was refused.
	Fits *int64 `json:"fits,omitempty"`
}

// errorResponse returns what is sent for an error: a page to people, JSON to programs.
func (s *Server) errorResponse(r *web.Request, k web.Kind, err error) web.Response {
	d := describe(err)
	if k == web.PageKind {
		return errorPage{web.Page{Status: d.Status, Component: templates.Error(s.errorView(r, err))}, d.RetryAfter}
	}
	fields := errorFields{Kind: d.Kind, Message: show.Clean(d.Message, 2000), RequestID: r.ID}
	if many := (*move.TooMany)(nil); errors.As(err, &many) {
		fields.Fits = &many.Fits
	}
	return errorJSON{web.JSON{Status: d.Status, Value: errorBody{fields}}, d.RetryAfter}
}

// errorView is the page of an error.
func (s *Server) errorView(r *web.Request, err error) templates.ErrorView {
	d := describe(err)
	heading := d.Heading
	if d.Status == http.StatusBadRequest && r.Method != http.MethodPost {
		heading = "Bad address" // nothing was to be done
	}
	view := templates.ErrorView{Frame: s.errorFrame(r, heading), Status: d.Status, Heading: heading, Message: show.EndSentence(show.Clean(d.Message, 2000))}
	if to := (*web.LedBack)(nil); errors.As(err, &to) {
		view.Back, view.BackWord = to.Href, to.Word
	} else if r.Method == http.MethodPost && r.Who.Can(viewer) {
		view.Back = web.Back(s.cfg.base(), r)
	}
	if d.Ours() {
		view.RequestID = r.ID // the page says that the log has more under it
	}
	return view
}

type errorPage struct {
	web.Page
	retryAfter time.Duration
}

func (e errorPage) Write(w http.ResponseWriter, r *web.Request) error {
	web.SetRetryAfter(w, e.retryAfter)
	return e.Page.Write(w, r)
}

type errorJSON struct {
	web.JSON
	retryAfter time.Duration
}

func (e errorJSON) Write(w http.ResponseWriter, r *web.Request) error {
	web.SetRetryAfter(w, e.retryAfter)
	if e.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="dedup-dashboard"`)
	}
	return e.JSON.Write(w, r)
}
