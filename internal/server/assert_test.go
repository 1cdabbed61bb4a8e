package server

import "dedup-dashboard/internal/admin"

// The service of the dashboard is what the pages ask.
var _ deadLetterService = (*admin.DeadLetters)(nil)
