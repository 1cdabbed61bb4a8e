package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/codec"
	"dedup-dashboard/internal/markers/pace"
)

// Explainer words errors for people: which server, what it said, what to do.
type Explainer struct {
	Addr string
	User string
	Tls  bool
	// Sentinels say where the server is, whose name is Addr.
	Sentinels bool
	// Cluster says that the server is a Redis Cluster, and Addr is what is known of its nodes.
	Cluster bool
	// Patterns are the key patterns that the user must be allowed to read.
	Patterns []string
}

// ExplainerOf words the errors of the servers that a configuration names.
func ExplainerOf(r markers.Redis, options *redis.Options) Explainer {
	return Explainer{Addr: options.Addr, User: options.Username, Tls: options.TLSConfig != nil, Sentinels: !r.Sentinel.IsZero(), Cluster: len(r.Cluster) > 0}
}

// OfCluster is why one server that is a node of a cluster is no store.
const OfCluster = "this Redis is a node of a Redis Cluster and holds a part of the markers alone: name some of its nodes in redis.cluster"

// Explain returns err as a *dedup.Error. It passes nil, the end of the caller's context and its own results through.
func (e Explainer) Explain(err error) error { return pace.Explained(err, e.Describe) }

// Located returns an explainer for the node of a cluster that an error names.
func (e Explainer) Located(err error) Explainer {
	var node *NodeError
	if errors.As(err, &node) {
		e.Addr = node.Addr
	}
	return e
}

// Describe says what an error means and what to do.
func (e Explainer) Describe(err error) string {
	e = e.Located(err)
	var answer redis.Error
	if errors.As(err, &answer) {
		return e.describeAnswer(answer.Error())
	}
	server := "Redis at " + e.Addr
	var dns *net.DNSError
	var timeout net.Error
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	switch {
	case e.Sentinels && (errors.Is(err, syscall.ECONNREFUSED) || errors.As(err, &dns)):
		return server + ", where the Sentinels say that it is, cannot be reached: it is failing over, or the address that they know is not one of ours: " + codec.Printable(err.Error())
	case e.Cluster && (errors.Is(err, syscall.ECONNREFUSED) || errors.As(err, &dns)):
		return server + ", a node of the Redis Cluster, cannot be reached: it is down or failing over, or the address that the cluster tells is not one of ours: " + codec.Printable(err.Error())
	case errors.Is(err, syscall.ECONNREFUSED):
		return server + " refused the connection: check that it runs and that redis.url names its host and port"
	case errors.As(err, &dns):
		return server + " has no address: check the host name in redis.url and the name service"
	case errors.As(err, &unknown):
		return server + " showed a certificate of an unknown authority: set redis.ca_file to the authority that signed it"
	case errors.As(err, &name):
		return server + " showed a certificate for another name: set redis.server_name, or use the name in the certificate"
	case errors.As(err, &invalid):
		return server + " showed a certificate that is not valid: " + invalid.Error()
	case errors.As(err, &record):
		return server + " does not speak TLS on this port: write redis:// in redis.url, or its TLS port"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		if e.Tls {
			server += " (TLS, as rediss:// asks)"
		}
		return server + " did not answer in time: it is paused, overloaded or blocked by a long command, or a firewall drops packets"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return server + " closed the connection: it stopped or restarted, or it expects TLS (rediss://)"
	}
	return server + " cannot be read: " + codec.Printable(err.Error())
}

// describeAnswer words an error answer of the server by its first word, which Redis keeps stable for clients.
func (e Explainer) describeAnswer(answer string) string {
	server := "Redis at " + e.Addr
	code, _, _ := strings.Cut(answer, " ")
	switch code {
	case "WRONGPASS":
		return server + " refused the user name or password (WRONGPASS): check redis.url of this store"
	case "NOAUTH":
		return server + " asks for a password (NOAUTH): write it into redis.url as redis://user:password@host:6379/0"
	case "NOPERM":
		return e.DescribePermission(answer)
	case "LOADING":
		return server + " is loading its data from disk (LOADING): it answers when that is done"
	case "MASTERDOWN":
		return server + " is a replica without its primary (MASTERDOWN): restore the link, or point redis.url at the primary"
	case "CLUSTERDOWN":
		return server + " belongs to a cluster that is down (CLUSTERDOWN): bring back its missing nodes or slots"
	case "MOVED", "ASK", "TRYAGAIN":
		if e.Cluster {
			return server + " does not hold the key any more (" + code + "): its slot moves to another node of the cluster, or the cluster fails over; try again"
		}
		return OfCluster
	case "BUSY":
		return server + " is busy with a script (BUSY): it answers when the script ends"
	case "WRONGTYPE":
		return server + " holds another type under a key that should be read (WRONGTYPE)"
	}
	switch {
	case strings.Contains(answer, "max number of clients"):
		return server + " has no free connection (max number of clients reached): raise maxclients or close idle clients"
	case strings.Contains(answer, "AUTH") && strings.Contains(answer, "without any password"):
		return server + " has no password set, but redis.url holds one: remove it, or set it on the server"
	case strings.Contains(answer, "cluster support disabled"):
		return server + " is no node of a Redis Cluster: leave redis.cluster out"
	case strings.Contains(answer, "DB index is out of range"):
		return server + " has no such logical database: check the number at the end of redis.url"
	}
	return server + " answered " + codec.Printable(answer)
}

// DeniedCommand finds the command in a NOPERM answer that refuses one.
var DeniedCommand = regexp.MustCompile(`'([a-z|-]+)' command`)

// grant names the ACL rule that a NOPERM answer asks for.
func (e Explainer) grant(answer string) string {
	if m := DeniedCommand.FindStringSubmatch(answer); m != nil {
		return "+" + m[1]
	}
	return strings.Join(e.Patterns, " ")
}

// DescribePermission says which right a NOPERM answer asks for.
func (e Explainer) DescribePermission(answer string) string {
	user := e.User
	if user == "" {
		user = "default"
	}
	what := "read the keys of this store"
	if m := DeniedCommand.FindStringSubmatch(answer); m != nil {
		what = "run " + strings.ToUpper(strings.ReplaceAll(m[1], "|", " "))
	}
	return fmt.Sprintf("Redis at %s does not let user %s %s (NOPERM): grant it with ACL SETUSER %s %s", e.Addr, user, what, user, e.grant(answer))
}

// IsAnswer reports whether err is an answer of the server rather than a failure to get one.
func IsAnswer(err error, code string) bool {
	var answer redis.Error
	return errors.As(err, &answer) && strings.HasPrefix(answer.Error(), code)
}

// ACLPattern writes a key pattern as an ACL rule for reading. A rule is one word, so that what is no plain text stands
// as a question mark.
func ACLPattern(pattern string) string {
	var b strings.Builder
	b.WriteString("%R~")
	for i := range len(pattern) {
		if c := pattern[i]; c > ' ' && c < 0x7f {
			b.WriteByte(c)
		} else {
			b.WriteByte('?')
		}
	}
	return b.String()
}
