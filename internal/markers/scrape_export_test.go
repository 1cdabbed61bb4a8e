package markers

import "time"

// Patient lets a scrape wait for long answers on a busy machine.
func Patient(s *Scrape) *Scrape {
	s.client.Timeout = 2 * time.Minute
	return s
}
