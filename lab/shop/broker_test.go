package shop

import (
	"context"
	"net/http"
	"os"
	"sync"
	"testing"

	"dedup-dashboard/lab/servers"
	"dedup-dashboard/lab/servers/serverstest"
)

// shared is a broker for the tests that leave it running, because starting one takes longer than most of them.
var shared struct {
	once   sync.Once
	dir    string
	broker *servers.RabbitMQ
	err    error
}

// SharedBroker returns the broker that tests share, with a virtual host "/" that is new. They run one after the other.
func SharedBroker(t *testing.T) *servers.RabbitMQ {
	t.Helper()
	serverstest.Needed(t)
	shared.once.Do(func() {
		if shared.dir, shared.err = os.MkdirTemp("", "shop-"); shared.err == nil {
			shared.broker, shared.err = servers.StartRabbitMQ(context.Background(), servers.RabbitMQOptions{Dir: shared.dir})
		}
	})
	err := shared.err
	if err == nil {
		err = shared.broker.API(t.Context(), http.MethodDelete, "/api/vhosts/%2F", nil, nil)
	}
	if err == nil {
		err = shared.broker.PutVHost(t.Context(), "/")
	}
	if err != nil {
		t.Fatal(err)
	}
	return shared.broker
}

// StopSharedBroker ends the broker that tests share, if one of them asked for it.
func StopSharedBroker() {
	if shared.broker != nil {
		shared.broker.Kill()
	}
	if shared.dir != "" {
		_ = os.RemoveAll(shared.dir)
	}
}
