package events

import (
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

func TestABusyStreamIsReadInPieces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, client := net.Pipe()
		const notifications, apart = 1000, 100 * time.Microsecond
		stream := make(chan byte, notifications)
		go func() {
			for range notifications {
				time.Sleep(apart)
				stream <- '!'
			}
			close(stream)
		}()
		go func() { // a socket takes what comes while nobody reads
			defer server.Close()
			for first := range stream {
				piece := []byte{first}
				for len(stream) > 0 {
					piece = append(piece, <-stream)
				}
				if _, err := server.Write(piece); err != nil {
					return
				}
			}
		}()
		r, began := &calmReader{from: client}, time.Now()
		reads, bytes, buffer := 0, 0, make([]byte, 64<<10)
		for {
			n, err := r.Read(buffer)
			bytes += n
			if err == io.EOF {
				break
			}
			reads++
		}
		if most := int(time.Since(began)/readsApart) + 1; bytes != notifications || reads > most {
			t.Errorf("%d of %d notifications in %d reads, want at most %d", bytes, notifications, reads, most)
		}
	})
}

func TestWhatComesSeldomIsReadAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, client := net.Pipe()
		defer server.Close()
		r, buffer := &calmReader{from: client}, make([]byte, 1)
		for range 10 {
			go func() {
				time.Sleep(2 * readsApart)
				_, _ = server.Write([]byte{'!'})
			}()
			asked := time.Now()
			if _, err := r.Read(buffer); err != nil || time.Since(asked) != 2*readsApart {
				t.Errorf("read after %s, %v; it came after %s", time.Since(asked), err, 2*readsApart)
			}
		}
	})
}
