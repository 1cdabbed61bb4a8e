package amqp

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"testing"
	"testing/iotest"

	amqp "github.com/rabbitmq/amqp091-go"
)

// rawFrame is one frame as it stands on the wire.
func rawFrame(typ byte, channel uint16, payload []byte) []byte {
	head := []byte{typ, 0, 0, 0, 0, 0, 0}
	binary.BigEndian.PutUint16(head[1:], channel)
	binary.BigEndian.PutUint32(head[3:], uint32(len(payload)))
	return append(append(head, payload...), frameEnd)
}

// rawContent is a content header for a body of a size, and the frames of the body.
func rawContent(channel uint16, body []byte, piece int) []byte {
	head := make([]byte, contentHead+2)
	binary.BigEndian.PutUint16(head, 60)
	binary.BigEndian.PutUint64(head[4:], uint64(len(body)))
	out := rawFrame(frameContent, channel, head)
	for len(body) > 0 {
		n := min(piece, len(body))
		out = append(out, rawFrame(frameBody, channel, body[:n])...)
		body = body[n:]
	}
	return out
}

type readerConn struct {
	net.Conn
	io.Reader
}

func (r readerConn) Read(p []byte) (int, error) { return r.Reader.Read(p) }

func TestABodyFilterLeavesLargeBodiesOut(t *testing.T) {
	large, small := bytes.Repeat([]byte("large"), 100), []byte("small")
	method, beat := rawFrame(frameMethod, 7, []byte("deliver")), rawFrame(frameHeartbeat, 0, nil)
	for name, c := range map[string]struct {
		in, want [][]byte
		left     []int // the messages whose bodies stay behind
	}{
		"small bodies pass":       {[][]byte{method, rawContent(7, small, 2), beat}, [][]byte{method, rawContent(7, small, 2), beat}, nil},
		"empty bodies pass":       {[][]byte{method, rawContent(7, nil, 2)}, [][]byte{method, rawContent(7, nil, 2)}, nil},
		"a large one stays":       {[][]byte{method, rawContent(7, large, 500), method}, [][]byte{method, rawContent(7, nil, 1), method}, []int{0}},
		"each piece is a beat":    {[][]byte{rawContent(7, large, 200)}, [][]byte{beat, beat, rawContent(7, nil, 1)}, []int{0}},
		"the second of three":     {[][]byte{rawContent(7, small, 9), rawContent(7, large, 500), rawContent(7, small, 9)}, [][]byte{rawContent(7, small, 9), rawContent(7, nil, 1), rawContent(7, small, 9)}, []int{1}},
		"beyond the bytes in all": {[][]byte{rawContent(7, large[:40], 99), rawContent(7, large[:40], 99), rawContent(7, small, 9)}, [][]byte{rawContent(7, large[:40], 99), rawContent(7, large[:40], 99), rawContent(7, nil, 1)}, []int{2}},
		"what is no frame passes": {[][]byte{[]byte("AMQP\x00\x00\x09\x01 and more")}, [][]byte{[]byte("AMQP\x00\x00\x09\x01 and more")}, nil},
	} {
		for _, read := range []func(io.Reader) io.Reader{func(r io.Reader) io.Reader { return r }, iotest.OneByteReader} {
			s := newBodyFilter(readerConn{Reader: read(bytes.NewReader(bytes.Join(c.in, nil)))}, 64, 80)
			got, err := io.ReadAll(s)
			if err != nil || !bytes.Equal(got, bytes.Join(c.want, nil)) {
				t.Errorf("%s: %v, got %q", name, err, got)
			}
			for i := range 4 {
				if left := s.leftOut(i); (left != nil) != (len(c.left) > 0 && c.left[0] == i) {
					t.Errorf("%s: message %d: %+v", name, i, left)
				}
			}
		}
	}
}

func FuzzABodyFilterEndsWithItsInput(f *testing.F) {
	f.Add(rawContent(1, make([]byte, 200), 50))
	f.Add([]byte{frameContent, 0, 1, 0xFF, 0xFF, 0xFF, 0xFF, 0, 60})
	f.Fuzz(func(t *testing.T, in []byte) {
		out, err := io.ReadAll(newBodyFilter(readerConn{Reader: bytes.NewReader(in)}, 64, 80))
		if err != nil && err != io.ErrUnexpectedEOF {
			t.Fatal(err)
		}
		if len(out) > 2*len(in) {
			t.Fatalf("%d bytes became %d", len(in), len(out))
		}
	})
}

// leavesLargeBodiesOut sends bodies around the bound through a real broker.
func (b *movingBroker) leavesLargeBodiesOut(t *testing.T) {
	const most = 1000
	channel := b.admin(t)
	for name, arguments := range map[string]amqp.Table{"heavy.dead": nil, "heavy.active.dead": {"x-single-active-consumer": true}} {
		queue := declare(t, channel, name, arguments)
		must(t, channel.Confirm(false))
		sizes := []int{10, most, most + 1, 0, 3 << 20, 20}
		bodies := make([][]byte, len(sizes))
		for i, size := range sizes {
			bodies[i] = make([]byte, size)
			for at := range bodies[i] {
				bodies[i][at] = byte(rand.Uint32())
			}
			sent, err := channel.PublishWithDeferredConfirm("", queue.Name, true, false, amqp.Publishing{
				MessageId: fmt.Sprintf("m-%d", i), DeliveryMode: amqp.Persistent, Body: bodies[i], Headers: amqp.Table{"n": int32(i)},
			})
			must(t, err)
			if !sent.Wait() {
				t.Fatal("not taken")
			}
		}
		b.described(t, queue)
		p := b.peekerThrough(t, queue, 100, 64<<20, most)
		peek, err := p.run(t.Context(), amqp.Queue{Messages: len(sizes)})
		must(t, err)
		if len(peek.Messages) != len(sizes) {
			t.Fatalf("%s: %d messages, %q", name, len(peek.Messages), peek.Short)
		}
		for i, m := range peek.Messages {
			left := len(bodies[i]) > most
			if m.MessageID != fmt.Sprintf("m-%d", i) || m.Headers["n"] != int32(i) || (m.LeftOut != nil) != left ||
				m.BodySize() != int64(len(bodies[i])) || m.BodySum() != sha256.Sum256(bodies[i]) || !left && !bytes.Equal(m.Body, bodies[i]) {
				t.Errorf("%s: message %d of %d bytes: %s, %d bytes, %d of them here", name, i, sizes[i], m.MessageID, m.BodySize(), len(m.Body))
			}
		}
		eventually(t, "they are back", func() bool { return depth(t, channel, queue.Name) == len(sizes) })
	}
}
