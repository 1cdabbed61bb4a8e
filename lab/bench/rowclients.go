package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// otherEvery is how often each of the other clients does something.
const otherEvery = 5 * time.Millisecond

// otherClients are the consumers that work on the table while it is swept: one looks ids up, one claims and completes.
type otherClients struct {
	db     *sql.DB
	brand  brand
	random *rand.Rand
	serial int
}

func (t *rowTable) connect() (*otherClients, error) {
	db, err := sql.Open(t.brand.driver, t.server.AdminDSN(shopDatabase))
	if err != nil {
		return nil, err
	}
	return &otherClients{db: db, brand: t.brand, random: rand.New(rand.NewPCG(1, 2))}, nil
}

func (o *otherClients) close() { _ = o.db.Close() }

// during returns how long each lookup took while run ran.
func (o *otherClients) during(ctx context.Context, run func() error) ([]time.Duration, error) {
	ended, written := make(chan error, 1), make(chan error, 1)
	stop := make(chan struct{})
	go func() { ended <- run() }()
	go func() { written <- o.write(ctx, stop) }()
	took, err := o.read(ctx, func() bool { return len(ended) > 0 || len(written) > 0 })
	close(stop)
	return took, errors.Join(err, <-ended, <-written)
}

// read looks up one random id at a time.
func (o *otherClients) read(ctx context.Context, done func() bool) ([]time.Duration, error) {
	lookup, err := o.db.PrepareContext(ctx, "SELECT status, result FROM message_dedup WHERE message_id = "+o.brand.param(1))
	if err != nil {
		return nil, fmt.Errorf("prepare a lookup: %w", err)
	}
	defer lookup.Close()
	random := rand.New(rand.NewPCG(3, 4))
	var took []time.Duration
	tick := time.NewTicker(otherEvery)
	defer tick.Stop()
	for ; len(took) == 0 || !done(); <-tick.C {
		var status int
		var result string
		start := time.Now()
		if err := lookup.QueryRowContext(ctx, rowID(1+random.IntN(manyRows))).Scan(&status, &result); err != nil {
			return nil, fmt.Errorf("look up a row: %w", err)
		}
		took = append(took, time.Since(start))
	}
	return took, nil
}

// write inserts a row, completes it and writes to an old one, again and again.
func (o *otherClients) write(ctx context.Context, stop <-chan struct{}) error {
	tick := time.NewTicker(otherEvery)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return nil
		case <-tick.C:
		}
		o.serial++
		id := fmt.Sprintf("other-%09d", o.serial)
		if _, err := o.db.ExecContext(ctx, "INSERT INTO message_dedup (message_id, business_key, status, result) VALUES ("+
			o.brand.param(1)+", 'order:0', 0, '')", id); err != nil {
			return fmt.Errorf("insert a row: %w", err)
		}
		for _, id := range []string{id, rowID(1 + o.random.IntN(manyRows))} {
			if err := o.complete(ctx, id); err != nil {
				return err
			}
		}
	}
}

// complete writes what a consumer writes when its work is done.
func (o *otherClients) complete(ctx context.Context, id string) error {
	_, err := o.db.ExecContext(ctx, completeRow+o.brand.param(1), id)
	if err != nil {
		return fmt.Errorf("complete a row: %w", err)
	}
	return nil
}

const completeRow = "UPDATE message_dedup SET status = 1, updated_at = CURRENT_TIMESTAMP WHERE message_id = "

// rowID is the id of the n-th of the many rows, counted from 1.
func rowID(n int) string { return fmt.Sprintf("message-%012d", n) }
