package server

import (
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/web/templates"
	"net/http"
	"time"
)

type Server struct {
	snapshots interface{ Snapshot() *dedup.Snapshot }
	history   ranges
}

func (s *Server) frame(r *request, title string) templates.Frame {
	return templates.Frame{Title: title}
}
func live(t ...string) string                                   { return "/events" }
func (p page) write(w http.ResponseWriter, r *request) error    { return nil }
func (p csvBody) write(w http.ResponseWriter, r *request) error { return nil }

func zone(r *request) *time.Location { return time.UTC }
