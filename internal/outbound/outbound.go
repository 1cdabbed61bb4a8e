// Package outbound asks other programs by HTTP: directly, trusting the authorities that are configured, and reading no more than is expected.
package outbound

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"
)

// UserAgent is what this program calls itself.
const UserAgent = "dedup-dashboard"

const connectTimeout = 5 * time.Second

// ErrNoCertificate says that a file is not one of certificate authorities.
var ErrNoCertificate = errors.New("holds no certificate in PEM form")

// Roots returns the system's certificate authorities with those of a PEM file, or nil without a file, which means the system's.
func Roots(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, ErrNoCertificate
	}
	return pool, nil
}

// Transport returns a transport that trusts these authorities. It ignores the proxy settings of the environment, so that credentials never
// travel through a proxy that was meant for the web.
func Transport(secured *tls.Config) *http.Transport {
	return &http.Transport{
		DialContext:            (&net.Dialer{Timeout: connectTimeout}).DialContext,
		TLSClientConfig:        secured,
		TLSHandshakeTimeout:    connectTimeout,
		MaxIdleConnsPerHost:    1,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}
}

// TooLarge ends an answer of more bytes than these.
type TooLarge int64

// Error says how large the answer may be.
func (e TooLarge) Error() string { return fmt.Sprintf("the answer is larger than %d MiB", e>>20) }

// Limited returns a body that fails, rather than ends, beyond its limit: a number that is cut in two would be read as a smaller one.
func Limited(body io.ReadCloser, limit int64) io.ReadCloser {
	return &limited{body, limit, limit}
}

type limited struct {
	io.ReadCloser
	left, limit int64
}

// Read implements io.Reader.
func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		var one [1]byte
		if n, err := l.ReadCloser.Read(one[:]); n == 0 {
			return 0, err
		}
		return 0, TooLarge(l.limit)
	}
	n, err := l.ReadCloser.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}
