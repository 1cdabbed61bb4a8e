package brokertest

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// A Fault writes a wrong answer. It gets the right one.
type Fault func(w http.ResponseWriter, r *http.Request, right []byte)

// Status answers with a status and a complaint in the API's own form.
func Status(status int, word, reason string) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ []byte) {
		_, text := complain(status, word, reason)
		w.WriteHeader(status)
		_, _ = w.Write(text)
	}
}

// Body answers 200 with any text and content type.
func Body(contentType, text string) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ []byte) {
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write([]byte(text))
	}
}

// Redirect sends the client elsewhere.
func Redirect(to string) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ []byte) {
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusFound)
	}
}

// Hang does not answer until the client gives up.
func Hang() Fault {
	return func(_ http.ResponseWriter, r *http.Request, _ []byte) { <-r.Context().Done() }
}

// Drip sends the right answer one byte at a time.
func Drip(pause time.Duration) Fault {
	return func(w http.ResponseWriter, r *http.Request, right []byte) {
		ticker := time.NewTicker(pause)
		defer ticker.Stop()
		for i := range right {
			_, _ = w.Write(right[i : i+1])
			_ = http.NewResponseController(w).Flush()
			select {
			case <-ticker.C:
			case <-r.Context().Done():
				return
			}
		}
	}
}

// Cut promises the whole right answer and closes the connection after a share of it, 0..1.
func Cut(share float64) Fault {
	return func(w http.ResponseWriter, _ *http.Request, right []byte) {
		w.Header().Set("Content-Length", strconv.Itoa(len(right)))
		_, _ = w.Write(right[:int(share*float64(len(right)))])
		panic(http.ErrAbortHandler)
	}
}

// Huge answers with a list of harmless objects of about that many bytes.
func Huge(bytes int) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ []byte) {
		_, _ = w.Write([]byte("["))
		for sent := 0; sent < bytes; {
			n, err := fmt.Fprintf(w, `{"name":"q%d","vhost":"/"},`, sent)
			if err != nil {
				return
			}
			sent += n
		}
		_, _ = w.Write([]byte("{}]"))
	}
}

// Then runs a function just before a fault is written, as when the next answer shall go wrong in another way.
func Then(fault Fault, next func()) Fault {
	return func(w http.ResponseWriter, r *http.Request, right []byte) {
		next()
		fault(w, r, right)
	}
}
