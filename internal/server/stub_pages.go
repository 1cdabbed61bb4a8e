package server

import "net/http"

// These three stand in until the pages are there.

func (s *Server) overview(r *request) (response, error) {
	return textBody{http.StatusOK, "overview"}, nil
}

func (s *Server) pipeline(r *request) (response, error) {
	return textBody{http.StatusOK, "pipeline"}, nil
}

func (s *Server) chartCSV(r *request) (response, error) { return csvBody{filename: "chart.csv"}, nil }
