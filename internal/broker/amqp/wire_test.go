package amqp

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// pipe returns a wire and its other end. A pipe has no buffer: what is not read blocks the writer.
func pipe() (*wire, net.Conn) {
	near, far := net.Pipe()
	return newWire(near, writeTimeout), far
}

func TestAWireWritesAllInOrderBeforeItCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, far := pipe()
		read := make(chan []byte)
		go func() {
			all, err := io.ReadAll(far)
			if err != nil {
				t.Error(err)
			}
			read <- all
		}()
		var want []byte
		for i := range 1000 {
			piece := bytes.Repeat([]byte{byte(i)}, i)
			want = append(want, piece...)
			if n, err := w.Write(piece); n != i || err != nil {
				t.Fatalf("%d, %v", n, err)
			}
		}
		must(t, w.Close())
		if got := <-read; !bytes.Equal(got, want) {
			t.Errorf("%d bytes of %d arrived, or not in order", len(got), len(want))
		}
	})
}

func TestAWireToSomebodyWhoReadsNothingFailsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, far := pipe()
		defer far.Close()
		began := time.Now()
		var err error
		for err == nil {
			_, err = w.Write(make([]byte, 10_000))
		}
		if took := time.Since(began); took != writeTimeout || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("after %s: %v", took, err)
		}
		if !errors.Is(w.failure(), os.ErrDeadlineExceeded) {
			t.Errorf("failure %v", w.failure())
		}
		_ = w.Close()
	})
}

func TestClosingAWireThatIsStuckIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, far := pipe()
		defer far.Close()
		_, err := w.Write([]byte("nobody reads this"))
		must(t, err)
		synctest.Wait()
		began := time.Now()
		_ = w.Close()
		if took := time.Since(began); took != closeTimeout {
			t.Errorf("it took %s", took)
		}
		if _, err := w.Write(nil); err == nil {
			t.Error("a closed wire took a write")
		}
	})
}

func TestAHandshakeThatEndedByAReadSaysWhatTheReadMet(t *testing.T) {
	w, far := pipe()
	defer w.Close()
	if err := w.reason(amqp.ErrClosed); err != amqp.ErrClosed {
		t.Errorf("%v before any read failed", err)
	}
	must(t, far.Close())
	if _, err := w.Read(make([]byte, 1)); err != io.EOF {
		t.Fatal(err)
	}
	var told *amqp.Error
	if err := w.reason(amqp.ErrClosed); !errors.As(err, &told) || told.Reason != io.EOF.Error() {
		t.Errorf("%v instead of what the read met", err)
	}
	if err := w.reason(amqp.ErrCredentials); err != amqp.ErrCredentials {
		t.Errorf("%v instead of what the library knows better", err)
	}
}
