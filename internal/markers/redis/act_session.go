package redis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/codec"
	"dedup-dashboard/internal/markers/pace"
	"dedup-dashboard/internal/markers/redis/client"
	"dedup-dashboard/internal/markers/redis/events"
	"dedup-dashboard/internal/markers/redis/layout"
)

// session is one action on one marker, over one connection that nobody else has.
type session struct {
	actor    *actor
	layout   *layout.Layout
	node     *client.Node
	conn     *redis.Conn
	watchFor time.Duration
	own      *events.OwnActs
	// seen is the marker to act on: what it must still be, or what is to be restored.
	seen dedup.Sighting
	// fields are the decoded value of a hash that was seen.
	fields map[string]string
	// server and role are those of the connection once identify was called.
	server string
	role   string
	// relative is true for servers that tell the remaining life only, not the expiry: those before Redis 7.0.
	relative bool
	// at is the expiry that the action sets, in milliseconds since 1970.
	at int64
	// lost is true in a session that finds out what another has done.
	lost bool
}

// open begins a session with the server that holds the key: no answer that names another is ever followed, since what was seen was seen here.
func (a *actor) open(ctx context.Context, seen dedup.Sighting) (*session, error) {
	m, err := a.servers.Map(ctx)
	if err != nil {
		return nil, err
	}
	n, err := m.For(seen.Key)
	if err != nil {
		a.servers.Outdated()
		return nil, err
	}
	s := &session{actor: a, layout: a.layout, node: n, conn: n.EphemeralConn(), watchFor: a.watchFor, own: a.own, seen: seen}
	if seen.Type == typeHash {
		// inadmissible has refused what cannot be read.
		s.fields, _ = hashFields(seen.Value)
	}
	return s, nil
}

// errAborted is the answer to EXEC after a watched key was touched: nothing was done.
var errAborted = errors.New("a watched key was touched")

// refusedError is why an action is not safe.
type refusedError string

func (r refusedError) Error() string { return string(r) }

// identify learns which server answers on this connection, and returns a refusal if it cannot be written to.
func (s *session) identify(ctx context.Context) error {
	pipe := s.conn.Pipeline()
	// Servers before 7.0 take one section at a time.
	server, replication := pipe.Info(ctx, "server"), pipe.Info(ctx, "replication")
	if _, err := pipe.Exec(ctx); err != nil {
		return err
	}
	i := client.ParseInfo(server.Val() + "\r\n" + replication.Val())
	s.server, s.role = i["run_id"], i["role"]
	if i.Mode() == "cluster" && !s.actor.servers.Cluster() {
		return refusedError(client.OfCluster)
	}
	return nil
}

// begin watches the keys of the action on the server that was seen, or for a restore on any primary.
func (s *session) begin(ctx context.Context, anyServer bool) error {
	if err := s.identify(ctx); err != nil {
		return err
	}
	switch {
	case !anyServer && s.seen.Server == "":
		return refusedError("it is not known which server it was seen on")
	case !anyServer && s.server != s.seen.Server:
		return refusedError("another server answers since: a restart or a failover; look at the marker again")
	case s.role != "master" && s.actor.servers.Cluster():
		return &dedup.Error{Kind: dedup.Unavailable, Public: "node " + s.node.Addr + " of the Redis Cluster is no primary any more: the cluster fails over; try again"}
	case s.role != "master":
		return refusedError("the server is a replica (role " + codec.Printable(s.role) + "): point act.redis.url at its primary")
	}
	keys := []any{"watch", s.seen.Key}
	if s.seen.Retry != nil && !s.apart() {
		keys = append(keys, s.seen.Retry.Key)
	}
	return s.conn.Do(ctx, keys...).Err()
}

// exec runs the commands as one transaction, which the server carries out only if no watched key was touched. The
// commands are sent when the server has agreed to MULTI, not with it: one that refuses MULTI would carry out what
// follows, one by one and whatever was touched. Once EXEC is sent its answer is waited for, even if the caller leaves.
func (s *session) exec(ctx context.Context, commands ...[]any) ([]any, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	if err := s.conn.Do(ctx, "multi").Err(); err != nil {
		return nil, err
	}
	pipe := s.conn.Pipeline()
	for _, c := range commands {
		pipe.Do(ctx, c...)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, err
	}
	answers, err := s.conn.Do(ctx, "exec").Slice()
	switch {
	case errors.Is(err, redis.Nil):
		return nil, errAborted
	case client.IsAnswer(err, "EXECABORT"), unserved(err):
		return nil, err
	case err != nil:
		return nil, &events.LostError{Err: err}
	case len(answers) != len(commands):
		return nil, &events.LostError{Err: fmt.Errorf("%d answers to %d commands", len(answers), len(commands))}
	}
	return answers, nil
}

// unserved reports whether a node of a cluster has carried out nothing because it does not hold the keys, or not now.
func unserved(err error) bool {
	return client.Redirected(err) || client.IsAnswer(err, "TRYAGAIN") || client.IsAnswer(err, "CLUSTERDOWN")
}

// watch watches the marker, and returns what is there now and whether it is what was seen. A marker without expiry is held for
// watchFor and must be the same at the end.
func (s *session) watch(ctx context.Context) (reading, bool, error) {
	if err := s.begin(ctx, false); err != nil {
		return reading{}, false, err
	}
	now, err := s.read(ctx, s.seen.Key)
	if err != nil || !s.same(now) || now.expires != layout.NoExpiry {
		return now, err == nil && s.same(now), err
	}
	if err := pace.Sleep(ctx, s.watchFor); err != nil {
		return now, false, err
	}
	now, err = s.read(ctx, s.seen.Key)
	return now, err == nil && s.same(now), err
}
