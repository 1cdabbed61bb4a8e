package notify_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"dedup-dashboard/internal/alerts/notify"
	"dedup-dashboard/internal/secret"
)

// A mailServer is as much of an SMTP server as the tests need (RFC 5321, 3207 and 4954).
type mailServer struct {
	t        *testing.T
	hostport string
	caFile   string
	inbox    *inbox
	how      behaviour
	// say replaces the answer to a command: "EHLO", "AUTH", "MAIL", "RCPT a@b", "DATA", "." and "" for the greeting.
	mu  sync.Mutex
	say map[string]string
	// plain: it offers no STARTTLS. implicit: the connection is encrypted from the first byte.
	plain, implicit bool
	certificate     *tls.Config
}

func startMail(t *testing.T, prepare func(*mailServer)) *mailServer {
	t.Helper()
	identity := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(identity.Close)
	s := &mailServer{t: t, inbox: newInbox(), certificate: &tls.Config{Certificates: identity.TLS.Certificates}, caFile: filepath.Join(t.TempDir(), "ca.pem"), say: map[string]string{}}
	if err := os.WriteFile(s.caFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: identity.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	if prepare != nil {
		prepare(s)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.hostport = listener.Addr().String()
	var serving sync.WaitGroup
	var mu sync.Mutex
	open := map[net.Conn]bool{}
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open[conn] = true
			mu.Unlock()
			serving.Go(func() { s.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		mu.Lock()
		for conn := range open {
			_ = conn.Close()
		}
		mu.Unlock()
		serving.Wait()
	})
	return s
}

// says returns the answer to a command that replaces the usual one; empty where there is none.
func (s *mailServer) says(command string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.say[command]
}

// change replaces the answer to a command while the server runs.
func (s *mailServer) change(command, answer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.say[command] = answer
}

// A mailTalk is one session.
type mailTalk struct {
	server *mailServer
	conn   net.Conn
	in     *bufio.Reader
	secure bool
	login  string
	to     []string
	ended  bool
}

func (s *mailServer) serve(conn net.Conn) {
	defer conn.Close()
	if s.implicit {
		conn = tls.Server(conn, s.certificate)
	}
	talk := &mailTalk{server: s, conn: conn, in: bufio.NewReader(conn), secure: s.implicit}
	switch s.how {
	case breaksOff:
		s.inbox.arrived <- struct{}{}
		return
	case babbles:
		_, _ = io.WriteString(conn, "\x00\x1b[31m\xff <html> log in\r\n")
		return
	case floods:
		_, _ = io.WriteString(conn, "220-")
		flood(s.t, conn)
		return
	}
	talk.reply("", "220 mail.example ESMTP")
	for !talk.ended {
		text, err := talk.in.ReadString('\n')
		if err != nil {
			return
		}
		talk.command(strings.TrimRight(text, "\r\n"))
	}
}

func (m *mailTalk) reply(to, usual string) {
	if said := m.server.says(to); said != "" {
		usual = said
	}
	_, _ = io.WriteString(m.conn, usual+"\r\n")
}

func (m *mailTalk) command(text string) {
	verb, rest, _ := strings.Cut(text, " ")
	verb = strings.ToUpper(verb)
	switch verb {
	case "EHLO":
		offers := "250-mail.example\r\n"
		if !m.server.plain && !m.secure {
			offers += "250-STARTTLS\r\n"
		}
		m.reply(verb, offers+"250 AUTH PLAIN LOGIN")
	case "STARTTLS":
		m.reply(verb, "220 go on")
		m.conn = tls.Server(m.conn, m.server.certificate)
		m.in, m.secure = bufio.NewReader(m.conn), true
	case "AUTH":
		m.login = rest
		m.reply(verb, "235 welcome")
	case "MAIL":
		m.mail(rest)
	case "RCPT":
		address := strings.Trim(strings.TrimPrefix(rest, "TO:"), "<>")
		if m.server.says("RCPT "+address) == "" {
			m.to = append(m.to, address)
		}
		m.reply("RCPT "+address, "250 ok")
	case "DATA":
		m.data()
	case "QUIT":
		m.reply(verb, "221 bye")
		m.ended = true
	default:
		m.reply(verb, "250 ok")
	}
}

// mail answers to MAIL FROM as the server behaves, and repeats the login where it refuses.
func (m *mailTalk) mail(string) {
	_, encoded, _ := strings.Cut(m.login, " ")
	decoded, _ := base64.StdEncoding.DecodeString(encoded)
	told := fmt.Sprintf("%s %s", m.login, strings.ReplaceAll(string(decoded), "\x00", " "))
	switch m.server.how {
	case hangs:
		m.server.inbox.arrived <- struct{}{}
		_, _ = io.Copy(io.Discard, m.in)
		m.ended = true
	case busy:
		m.reply("MAIL", "451 4.3.0 busy: "+told)
	case forbids:
		m.reply("MAIL", "550 5.7.1 forbidden: "+told)
	default:
		m.reply("MAIL", "250 ok")
	}
}

func (m *mailTalk) data() {
	m.reply("DATA", "354 go on")
	if m.server.says("DATA") != "" {
		return
	}
	var body bytes.Buffer
	for {
		text, err := m.in.ReadString('\n')
		if err != nil {
			return
		}
		if text == ".\r\n" {
			break
		}
		body.WriteString(strings.TrimPrefix(text, "."))
	}
	if m.server.says(".") == "" {
		m.server.inbox.put(delivery{body: body.Bytes(), to: m.to, uri: m.login})
	}
	m.to = nil
	m.reply(".", "250 taken")
}

func mailConfig(s *mailServer, hostport string) notify.Config {
	host, port, _ := net.SplitHostPort(hostport)
	c := notify.Config{
		Name: "oncall", Type: "email", Username: "mover", Password: secret.New(passwordCanary),
		SMTP: notify.SMTP{Host: host}, From: "Dashboard <alerts@example.org>", To: []string{"First <a@example.org>", "b@example.org"},
	}
	_, _ = fmt.Sscan(port, &c.SMTP.Port)
	if s != nil {
		c.CAFile = s.caFile
	}
	return c
}

func mailRig() rig {
	return rig{
		name:    "email",
		towards: func(t *testing.T, hostport string) notify.Channel { return open(t, mailConfig(nil, hostport)) },
		start: func(t *testing.T, how behaviour) (notify.Channel, *inbox) {
			server := startMail(t, func(s *mailServer) { s.how = how })
			return open(t, mailConfig(server, server.hostport)), server.inbox
		},
		read: readMail,
	}
}

// readMail returns the headers and parts of a message, decoded.
func readMail(t *testing.T, d delivery) []string {
	t.Helper()
	message, err := mail.ReadMessage(bytes.NewReader(d.body))
	if err != nil {
		t.Fatalf("%v: %s", err, d.body)
	}
	var texts []string
	for name, values := range message.Header {
		for _, v := range values {
			decoded, err := new(mime.WordDecoder).DecodeHeader(v)
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, name+": "+decoded)
		}
	}
	_, parameters, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	parts := multipart.NewReader(message.Body, parameters["boundary"])
	for {
		part, err := parts.NextRawPart()
		if err == io.EOF {
			return texts
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(quotedprintable.NewReader(part))
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, strings.ReplaceAll(string(text), "\r\n", "\n"))
	}
}
