package exports

import "time"

// Patient lets a reader wait for long answers on a busy machine.
func Patient(r *Reader) *Reader {
	r.client.Timeout = 2 * time.Minute
	return r
}
