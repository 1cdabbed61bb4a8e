package redis_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/kinds"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/markerstest"
)

func wantFault(t *testing.T, err error, words string) {
	t.Helper()
	if dedup.KindOf(err) != dedup.Unavailable || !strings.Contains(dedup.PublicText(err), words) {
		t.Errorf("error %v, want one that says %q", err, words)
	}
}

func open(t *testing.T, url string) markers.Store {
	t.Helper()
	return markerstest.OpenStore(t, markerstest.Config(t, "redis-text-status", url))
}

func TestAServerThatRefusesUsIsNamedWithItsRemedy(t *testing.T) {
	t.Parallel()
	locked, _ := markerstest.StartRedis(t, "--requirepass", "right")
	free, _ := markerstest.StartRedis(t)
	cluster, _ := markerstest.StartRedis(t, "--cluster-enabled", "yes")
	replica, rdb := markerstest.StartRedis(t, "--replica-serve-stale-data", "no")
	if err := rdb.Do(t.Context(), "replicaof", "127.0.0.1", "1").Err(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ url, words string }{
		"wrong password":      {"redis://:wrong@" + locked.Addr(), "WRONGPASS"},
		"no password":         {locked.URL(), "NOAUTH"},
		"no such database":    {"redis://" + free.Addr() + "/99", "no such logical database"},
		"nobody listens":      {"redis://127.0.0.1:1", "refused the connection"},
		"TLS on a plain port": {"rediss://" + free.Addr(), "TLS"},
		"replica cut off":     {replica.URL(), "MASTERDOWN"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := open(t, c.url).Stats(t.Context())
			wantFault(t, err, c.words)
		})
	}
	t.Run("a cluster is refused by the walk and then by the stats", func(t *testing.T) {
		store := open(t, cluster.URL())
		_, err := store.Pass(t.Context())
		wantFault(t, err, "name some of its nodes in redis.cluster")
		run(t, store)
		await(t, store, "the refusal shows", func(_ dedup.StoreStats, err error) bool {
			return err != nil && strings.Contains(dedup.PublicText(err), "Redis Cluster")
		})
	})
}

func TestACertificateIsCheckedAndItsFaultNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := certificate(t, dir)
	_, rdb := markerstest.StartRedis(t)
	port := freePort(t)
	if err := rdb.Do(t.Context(), "config", "set", "tls-cert-file", cert, "tls-key-file", key, "tls-ca-cert-file", cert,
		"tls-auth-clients", "no", "tls-port", port).Err(); err != nil {
		t.Fatalf("this Redis has no TLS: %v", err)
	}
	url := "rediss://localhost:" + port
	_, err := open(t, url).Stats(t.Context())
	wantFault(t, err, "redis.ca_file")
	cfg := markerstest.Config(t, "redis-text-status", "rediss://127.0.0.1:"+port)
	cfg.Redis.CAFile = cert
	_, err = markerstest.OpenStore(t, cfg).Stats(t.Context())
	wantFault(t, err, "redis.server_name")
	cfg.Redis.ServerName = "localhost"
	if _, err = markerstest.OpenStore(t, cfg).Stats(t.Context()); err != nil {
		t.Errorf("with authority and name: %v", err)
	}
}

func TestTheDocumentedRightsSufficeAndEachIsNeeded(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	fillMarkers(t, rdb, markerstest.Mix{Done: 300, Processing: 20, NoExpiry: 5, GaveUp: 3, Foreign: 10})
	rdb.HIncrBy(t.Context(), "dedupstats:orders", "processed", 7)
	rules := documentedRules(t, "Redis 7.0:")
	url := "redis://dashboard:PASSWORD@" + server.Addr() + "/0"
	setUser := func(t *testing.T, rules []string) {
		args := []any{"acl", "setuser", "dashboard", "reset"}
		for _, r := range rules {
			args = append(args, r)
		}
		if err := rdb.Do(t.Context(), args...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("the whole line is enough for everything", func(t *testing.T) {
		setUser(t, rules)
		store := open(t, url)
		markerstest.WantStates(t, markerstest.MustPass(t, store), map[dedup.State]int64{dedup.Done: 300, dedup.Processing: 25})
		if _, err := store.Stats(t.Context()); err != nil {
			t.Error(err)
		}
		reported, err := store.Reported(t.Context(), "orders")
		if err != nil || reported.Outcomes["processed"] != 7 {
			t.Errorf("reported %+v, %v", reported, err)
		}
		report, err := store.Check(t.Context(), 20)
		if err != nil || len(report.Missing) != 0 || len(report.Samples) != 20 {
			t.Errorf("check: %+v, %v", report, err)
		}
		setUser(t, rules)
		other := open(t, "redis://dashboard:PASSWORD@"+server.Addr()+"/3")
		if _, err := other.Stats(t.Context()); err != nil {
			t.Errorf("another database: %v", err)
		}
	})
	for _, rule := range rules {
		if !strings.HasPrefix(rule, "+") && !strings.HasPrefix(rule, "%") || rule == "+select" {
			continue
		}
		t.Run("without "+rule+" the check and the errors name it", func(t *testing.T) {
			setUser(t, slices.DeleteFunc(slices.Clone(rules), func(r string) bool { return r == rule }))
			store := open(t, url)
			report, err := store.Check(t.Context(), 20)
			if err != nil || !strings.Contains(strings.Join(report.Missing, " "), rule) {
				t.Errorf("check: missing %q, %v", report.Missing, err)
			}
			var words []string
			for _, try := range []func(context.Context) error{
				func(ctx context.Context) error { _, err := store.Stats(ctx); return err },
				func(ctx context.Context) error { _, err := store.Pass(ctx); return err },
				func(ctx context.Context) error { _, err := store.Reported(ctx, "orders"); return err },
			} {
				if err := try(t.Context()); err != nil {
					words = append(words, dedup.PublicText(err))
				}
			}
			if all := strings.Join(words, "\n"); !strings.Contains(all, rule) || !strings.Contains(all, "NOPERM") {
				t.Errorf("errors: %s", all)
			}
		})
	}
}

func TestTheDocumentedRightsForRedis6SufficeAndEachIsNeeded(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t, "--rename-command", "PEXPIRETIME", "")
	fillMarkers(t, rdb, markerstest.Mix{Done: 30, Processing: 2, GaveUp: 3})
	rules := documentedRules(t, "Redis 6:")
	for _, without := range append([]string{""}, rules...) {
		if without != "" && (!strings.HasPrefix(without, "+") || without == "+select") {
			continue
		}
		args := []any{"acl", "setuser", "dashboard", "reset"}
		for _, r := range rules {
			if r != without {
				args = append(args, r)
			}
		}
		if err := rdb.Do(t.Context(), args...).Err(); err != nil {
			t.Fatal(err)
		}
		report, err := open(t, "redis://dashboard:PASSWORD@"+server.Addr()+"/0").Check(t.Context(), 20)
		if err != nil || strings.Join(report.Missing, " ") != without || without == "" && len(report.Samples) != 20 {
			t.Errorf("without %q: %+v, %v", without, report, err)
		}
	}
}

// documentedRules reads the rules of the ACL line below the heading in docs/stores.md.
func documentedRules(t *testing.T, heading string) []string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/stores.md")
	if err != nil {
		t.Fatal(err)
	}
	_, below, ok := strings.Cut(string(text), heading)
	_, line, found := strings.Cut(below, "ACL SETUSER dashboard ")
	if !ok || !found {
		t.Fatalf("docs/stores.md has no ACL line below %q", heading)
	}
	line, _, _ = strings.Cut(line, "\n")
	return strings.Fields(line)
}

func TestAServerThatHangsEndsWithTheCallersDeadline(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	store := open(t, server.URL())
	if err := rdb.Do(t.Context(), "client", "pause", "60000", "all").Err(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := store.Stats(ctx)
	wantFault(t, err, "did not answer in time")
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("took %s", took)
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// certificate writes a certificate for localhost, its own authority, and its key.
func certificate(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, bytes []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("cert.pem", "CERTIFICATE", der), write("key.pem", "PRIVATE KEY", pkcs8)
}

func TestNoErrorShowsThePassword(t *testing.T) {
	t.Parallel()
	const password = "hunter2-very-secret"
	for _, url := range []string{
		"redis://user:" + password + "@127.0.0.1:1/0",
		"http://user:" + password + "@127.0.0.1/0",
		"redis://user:" + password + "%zz@127.0.0.1/0",
		"redis://user:" + password + "@127.0.0.1:bad/0",
	} {
		cfg := markerstest.Config(t, "redis-text-status", "redis://127.0.0.1")
		cfg.Redis.URL = secret.New(url)
		store, err := kinds.Open(cfg, markerstest.Log(t))
		if err == nil {
			_, err = store.Stats(t.Context())
			_ = store.Close()
		}
		if err == nil || strings.Contains(err.Error(), password) {
			t.Errorf("error: %v", err)
		}
	}
}
