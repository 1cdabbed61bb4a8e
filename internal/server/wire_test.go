package server

import (
	"compress/gzip"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// listen serves the site on a port of its own and returns its address.
func (s *site) listen() string {
	s.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	s.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			s.t.Error(err)
		}
		if err := <-served; err != nil {
			s.t.Error(err)
		}
	})
	return l.Addr().String()
}

// get asks over the network, without a browser's helpfulness.
func get(t *testing.T, c *http.Transport, url string, headers ...string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := c.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

func transport(t *testing.T) *http.Transport {
	c := &http.Transport{DisableCompression: true}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func TestLongAnswersAreCompressedAndShortOnesNot(t *testing.T) {
	s := newSite(t, nil, testUsers())
	s.snapshots.snap.Store(sampleSnapshot())
	address := "http://" + s.listen()
	c := transport(t)
	for path, packed := range map[string]bool{"/api/v1/pipelines": true, "/": true, "/healthz": false, "/api/v1/nothing": false} {
		res := get(t, c, address+path, "Accept-Encoding", "gzip", "Authorization", "Bearer "+viewerToken)
		if got := res.Header.Get("Content-Encoding") == "gzip"; got != packed {
			t.Errorf("%s: Content-Encoding %q", path, res.Header.Get("Content-Encoding"))
			continue
		}
		var body io.Reader = res.Body
		if packed {
			unpacked, err := gzip.NewReader(res.Body)
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			body = unpacked
		}
		if b, err := io.ReadAll(body); err != nil || len(b) == 0 {
			t.Errorf("%s: %d bytes, %v", path, len(b), err)
		}
	}
}

func TestLargeHeadersAreRefused(t *testing.T) {
	s := newSite(t, nil, testUsers())
	address := "http://" + s.listen()
	for size, want := range map[int]int{20 << 10: http.StatusOK, 40 << 10: http.StatusRequestHeaderFieldsTooLarge} {
		if res := get(t, transport(t), address+"/healthz", "X-Long", strings.Repeat("a", size)); res.StatusCode != want {
			t.Errorf("%d bytes of header: %s", size, res.Status)
		}
	}
}

// TestNobodyNeverGetsAnothersRightsUnderLoad asks as nobody and as admin at once, over shared connections.
func TestNobodyNeverGetsAnothersRightsUnderLoad(t *testing.T) {
	s := newSite(t, nil, testUsers())
	s.snapshots.snap.Store(sampleSnapshot())
	address := "http://" + s.listen()
	c := transport(t)
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for range 50 {
				r, err := http.NewRequest(http.MethodGet, address+"/api/v1/pipelines", nil)
				if err != nil {
					t.Error(err)
					return
				}
				want := http.StatusUnauthorized
				if worker%2 == 0 {
					r.Header.Set("Authorization", "Bearer "+adminToken)
					want = http.StatusOK
				}
				res, err := c.RoundTrip(r)
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, res.Body)
				_ = res.Body.Close()
				if res.StatusCode != want {
					t.Errorf("worker %d: %s", worker, res.Status)
				}
			}
		})
	}
	wg.Wait()
}

func TestTLSServesSecureCookiesAndStrictTransport(t *testing.T) {
	dir := t.TempDir()
	files := TLS{CertFile: filepath.Join(dir, "cert.pem"), KeyFile: filepath.Join(dir, "key.pem")}
	pool := writeCertificate(t, files)
	s := newSite(t, func(c *Config) { c.TLS = files }, testUsers())
	c := transport(t)
	c.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	res := get(t, c, "https://"+s.listen()+"/login")
	if res.StatusCode != http.StatusOK || !strings.HasPrefix(res.Header.Get("Strict-Transport-Security"), "max-age=") {
		t.Errorf("%s %v", res.Status, res.Header)
	}
	if c := cookieNamed(t, s.do("POST", "/login", signInForm("viewer", testPassword)), "__Host-dedup_session"); !c.Secure {
		t.Errorf("cookie %+v", c)
	}
}

// writeCertificate makes a certificate for 127.0.0.1.
func writeCertificate(t *testing.T, files TLS) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for path, block := range map[string][]byte{files.CertFile: cert, files.KeyFile: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})} {
		if err := os.WriteFile(path, block, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(cert)
	return pool
}
