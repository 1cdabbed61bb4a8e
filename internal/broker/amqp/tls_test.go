package amqp

import (
	"crypto/tls"
	"crypto/x509"
	"dedup-dashboard/internal/broker"
	"encoding/pem"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"
)

// securesByTLS puts TLS before the broker, with a certificate for 127.0.0.1.
func (b *movingBroker) securesByTLS(t *testing.T) {
	issuer := httptest.NewTLSServer(nil)
	defer issuer.Close()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: issuer.TLS.Certificates})
	must(t, err)
	var group sync.WaitGroup
	group.Go(func() { forward(&group, listener, b.rabbit.AMQPAddr()) })
	defer group.Wait()
	defer listener.Close()

	authority := filepath.Join(t.TempDir(), "authority.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: issuer.Certificate().Raw})
	must(t, os.WriteFile(authority, text, 0o600))
	queue := declare(t, b.admin(t), "tls.dead", amqp.Table{})
	secured := func(c *broker.Config) { c.Act.AMQPURL = "amqps://" + listener.Addr().String() + "/" }
	_, err = b.open(t, secured).Source(t.Context(), queue, 1, false)
	checkAct(t, err, broker.TLS, "set ca_file")
	source, err := b.open(t, func(c *broker.Config) { secured(c); c.CAFile = authority }).Source(t.Context(), queue, 1, false)
	must(t, err)
	must(t, source.Close())
}

// asksForACertificate puts TLS before the broker that takes only clients with a certificate.
func (b *movingBroker) asksForACertificate(t *testing.T) {
	issuer := httptest.NewTLSServer(nil)
	defer issuer.Close()
	pair := issuer.TLS.Certificates[0]
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: issuer.TLS.Certificates, ClientAuth: tls.RequireAnyClientCert})
	must(t, err)
	var group sync.WaitGroup
	group.Go(func() { forward(&group, listener, b.rabbit.AMQPAddr()) })
	defer group.Wait()
	defer listener.Close()

	authority, key := filepath.Join(t.TempDir(), "authority.pem"), filepath.Join(t.TempDir(), "key.pem")
	must(t, os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}), 0o600))
	private, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	must(t, err)
	must(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600))
	queue := declare(t, b.admin(t), "certified.dead", amqp.Table{})
	secured := func(c *broker.Config) {
		c.Act.AMQPURL, c.Act.AMQPURLs, c.CAFile = "", []string{"amqp://127.0.0.1:1/", "amqps://" + listener.Addr().String() + "/"}, authority
	}
	_, err = b.open(t, secured).Source(t.Context(), queue, 1, false)
	checkAct(t, err, broker.TLS, "cert_file")
	source, err := b.open(t, func(c *broker.Config) { secured(c); c.CertFile, c.KeyFile = authority, key }).Source(t.Context(), queue, 1, false)
	must(t, err)
	must(t, source.Close())
}

// forward passes each connection on until the listener is closed.
func forward(group *sync.WaitGroup, listener net.Listener, to string) {
	for {
		near, err := listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", to)
		if err != nil {
			_ = near.Close()
			continue
		}
		pass := func(from, to net.Conn) {
			_, _ = io.Copy(to, from)
			_ = to.Close()
			_ = from.Close()
		}
		group.Go(func() { pass(near, far) })
		group.Go(func() { pass(far, near) })
	}
}
