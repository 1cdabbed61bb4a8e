package amqp

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"io"
	"net"
	"sync"

	"dedup-dashboard/internal/message"
)

// The types of AMQP 0-9-1 frames (specification §4.2.3) and what stands around their payloads.
const (
	frameMethod    = 1
	frameContent   = 2
	frameBody      = 3
	frameHeartbeat = 8
	frameEnd       = 0xCE

	frameHead   = 7  // type, channel, size
	contentHead = 12 // class, weight, size of the body

	// maxContentFrame is the longest content header that is read into memory to be changed; the broker is asked for frames of 128 KiB.
	maxContentFrame = 1 << 20
	filterBuffer    = 64 << 10
)

// A bodyFilter reads what a broker sends over one connection, and lets no body through that is too large to be kept: the AMQP library would hold
// it whole before anybody could see how large it is. The message arrives without its body, of which it keeps size and SHA-256.
//
// In the place of each frame that stays behind it passes a heartbeat on, so that the library sees that the broker lives.
type bodyFilter struct {
	net.Conn
	r *bufio.Reader
	// each is the largest body that passes, left how many bytes of bodies still pass in all.
	each, left int64

	// ready is to be passed on at once, passing how many bytes from r after it; -1 is all for ever.
	ready   []byte
	passing int64
	// contents counts the messages that arrived; held are those, by channel, of which a body is being read.
	contents int
	held     map[uint16]*heldContent

	mu  sync.Mutex
	out map[int]*message.LeftOutBody // by the number of the message, under mu
}

// A heldContent is a message that is passed on once its body has been read.
type heldContent struct {
	number int
	frame  []byte
	size   int64
	rest   int64
	sum    hash.Hash
}

func newBodyFilter(conn net.Conn, each, all int64) *bodyFilter {
	return &bodyFilter{Conn: conn, r: bufio.NewReaderSize(conn, filterBuffer), each: each, left: all, held: map[uint16]*heldContent{}, out: map[int]*message.LeftOutBody{}}
}

// leftOut returns what is known of the body of the message with a number, from 0; nil when it was let through.
func (s *bodyFilter) leftOut(number int) *message.LeftOutBody {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out[number]
}

// forget is leftOut for one who asks once.
func (s *bodyFilter) forget(number int) *message.LeftOutBody {
	s.mu.Lock()
	defer s.mu.Unlock()
	body := s.out[number]
	delete(s.out, number)
	return body
}

// Read implements io.Reader.
func (s *bodyFilter) Read(p []byte) (int, error) {
	for {
		if len(s.ready) > 0 {
			n := copy(p, s.ready)
			s.ready = s.ready[n:]
			return n, nil
		}
		if s.passing != 0 {
			if s.passing > 0 {
				p = p[:min(int64(len(p)), s.passing)]
			}
			n, err := s.r.Read(p)
			if s.passing > 0 {
				s.passing -= int64(n)
			}
			return n, err
		}
		if err := s.frame(); err != nil {
			return 0, err
		}
	}
}

// frame reads the beginning of the next frame and says what becomes of it.
func (s *bodyFilter) frame() error {
	head, err := s.r.Peek(frameHead)
	if err != nil {
		return err
	}
	channel, size := binary.BigEndian.Uint16(head[1:3]), int64(binary.BigEndian.Uint32(head[3:7]))
	held := s.held[channel]
	switch {
	case head[0] == frameContent && size >= contentHead && size <= maxContentFrame:
		return s.content(channel, frameHead+size+1)
	case head[0] == frameBody && held != nil:
		return s.body(channel, held, size)
	case head[0] == frameMethod, head[0] == frameBody, head[0] == frameHeartbeat:
		s.passing = frameHead + size + 1
	default: // what the library refuses
		s.passing = -1
	}
	return nil
}

// content reads the content header of a message, whose body is let through if it has room.
func (s *bodyFilter) content(channel uint16, length int64) error {
	number := s.contents
	s.contents++
	head, err := s.r.Peek(frameHead + contentHead)
	if err != nil {
		return err
	}
	size := binary.BigEndian.Uint64(head[frameHead+4:])
	if size <= uint64(s.each) && s.left > 0 {
		s.left -= int64(size)
		s.passing = length
		return nil
	}
	if size == 0 || size > 1<<62 {
		s.passing = length
		return nil
	}
	frame := make([]byte, length)
	if _, err := io.ReadFull(s.r, frame); err != nil {
		return err
	}
	clear(frame[frameHead+4 : frameHead+contentHead])
	s.held[channel] = &heldContent{number: number, frame: frame, size: int64(size), rest: int64(size), sum: sha256.New()}
	return nil
}

// body reads a frame of a body that is left out.
func (s *bodyFilter) body(channel uint16, held *heldContent, size int64) error {
	if _, err := s.r.Discard(frameHead); err != nil {
		return err
	}
	for rest := size; rest > 0; { // without a buffer of its own for each frame, as io.CopyN makes one
		piece, err := s.r.Peek(int(min(rest, filterBuffer)))
		if err != nil {
			return err
		}
		_, _ = held.sum.Write(piece) // a hash does not fail
		rest -= int64(len(piece))
		_, _ = s.r.Discard(len(piece)) // what was peeked at is there
	}
	if _, err := s.r.Discard(1); err != nil {
		return err
	}
	if held.rest -= size; held.rest > 0 {
		s.ready = []byte{frameHeartbeat, 0, 0, 0, 0, 0, 0, frameEnd}
		return nil
	}
	delete(s.held, channel)
	body := &message.LeftOutBody{Size: held.size}
	held.sum.Sum(body.SHA256[:0])
	s.mu.Lock()
	s.out[held.number] = body
	s.mu.Unlock()
	s.ready = held.frame
	return nil
}
