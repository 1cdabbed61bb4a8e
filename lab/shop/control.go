package shop

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"dedup-dashboard/lab/servers"
)

// A control takes the dashboard's notifications on a loopback port. Once the shop is open it serves the ledger there too and, on
// request, takes a server away and brings it back:
//
//	GET  /ledger                          the truth as JSON
//	GET  /notifications                   the newest notifications that came, with their times
//	POST /notifications                   takes one, as the dashboard's channels of type webhook send it
//	POST /duplicates?pipeline=&share=     from now on the producer sends this share of its messages twice, 0..1
//	POST /redis/stop      /redis/start    the stores go and come, all of them
//	POST /rabbitmq/stop   /rabbitmq/start the broker goes and comes
//	POST /producers/stop                  no new messages; answers when every message is settled
type control struct {
	mu       sync.Mutex // one server command at a time
	mux      *http.ServeMux
	server   *http.Server
	listener net.Listener
}

// startControl begins to take notifications: the dashboard is told where before there is a shop.
func startControl() (*control, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("serve the ledger: %w", err)
	}
	c := &control{mux: http.NewServeMux(), listener: listener}
	c.mux.Handle("/notifications", new(Receiver))
	// A page of another site must not be able to press these buttons.
	c.server = &http.Server{Handler: http.NewCrossOriginProtection().Handler(c.mux), ReadHeaderTimeout: 5 * time.Second}
	go c.serve()
	return c, nil
}

// open shows the shop's ledger and takes commands.
func (c *control) open(shop *Shop, broker *servers.RabbitMQ, stores stores) {
	c.mux.Handle("GET /ledger", shop.Ledger())
	c.mux.HandleFunc("POST /redis/stop", c.command(stores.stop))
	c.mux.HandleFunc("POST /redis/start", c.command(stores.restart))
	c.mux.HandleFunc("POST /rabbitmq/stop", c.command(broker.Stop))
	c.mux.HandleFunc("POST /rabbitmq/start", c.command(broker.Restart))
	c.mux.HandleFunc("POST /producers/stop", c.command(func(ctx context.Context) error {
		shop.StopProducers()
		return shop.Drain(ctx)
	}))
	c.mux.HandleFunc("POST /duplicates", duplicates(shop))
}

// duplicates turns the knob of a pipeline.
func duplicates(shop *Shop) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var share float64
		err := parseFloat(r.FormValue("share"), 1, &share)
		if err == nil {
			err = shop.SetDuplicates(r.FormValue("pipeline"), share)
		} else {
			err = fmt.Errorf("share %q: %w", r.FormValue("share"), err)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		fmt.Fprintln(w, "ok")
	}
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
