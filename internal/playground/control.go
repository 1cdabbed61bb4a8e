package playground

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"dedup-dashboard/internal/playground/servers"
)

// A control serves the ledger on a loopback port and, on request, takes a server away and brings it back:
//
//	GET  /ledger                          the truth as JSON
//	POST /redis/stop      /redis/start    the stores go and come, all of them
//	POST /rabbitmq/stop   /rabbitmq/start the broker goes and comes
//	POST /producers/stop                  no new messages; answers when every message is settled
type control struct {
	shop   *Shop
	broker *servers.RabbitMQ
	stores stores

	mu       sync.Mutex // one server command at a time
	server   *http.Server
	listener net.Listener
}

func startControl(shop *Shop, broker *servers.RabbitMQ, stores stores) (*control, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("serve the ledger: %w", err)
	}
	c := &control{shop: shop, broker: broker, stores: stores, listener: listener}
	mux := http.NewServeMux()
	mux.Handle("GET /ledger", shop.Ledger())
	mux.HandleFunc("POST /redis/stop", c.command(stores.stop))
	mux.HandleFunc("POST /redis/start", c.command(stores.restart))
	mux.HandleFunc("POST /rabbitmq/stop", c.command(broker.Stop))
	mux.HandleFunc("POST /rabbitmq/start", c.command(broker.Restart))
	mux.HandleFunc("POST /producers/stop", c.command(func(ctx context.Context) error {
		shop.StopProducers()
		return shop.Drain(ctx)
	}))
	// A page of another site must not be able to press these buttons.
	c.server = &http.Server{Handler: http.NewCrossOriginProtection().Handler(mux), ReadHeaderTimeout: 5 * time.Second}
	go c.serve()
	return c, nil
}

func (c *control) serve() {
	// Serve returns when close is called; the playground can do without the ledger's page otherwise.
	_ = c.server.Serve(c.listener)
}

// command runs one command at a time and answers when it is done.
func (c *control) command(run func(context.Context) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		ctx, cancel := context.WithTimeout(r.Context(), 60*time.Second)
		defer cancel()
		if err := run(ctx); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprintln(w, "ok")
	}
}

func (c *control) url() string { return "http://" + c.listener.Addr().String() }

// close ends the server and the command under way.
func (c *control) close() error {
	err := c.server.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
