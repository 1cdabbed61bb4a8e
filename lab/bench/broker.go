package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/servers"
)

const (
	manyQueues   = 5000
	pageOfQueues = 500
	pollRounds   = 5
)

// measureBroker compares one poll of a real broker with 5,000 queues with reading the same pages and throwing them away.
func measureBroker(ctx context.Context, b *bench) error {
	b.note("starting a RabbitMQ with %d queues", manyQueues)
	server, err := servers.StartRabbitMQ(ctx, servers.RabbitMQOptions{Dir: filepath.Join(b.folder, "rabbitmq")})
	if err != nil {
		return err
	}
	defer server.Kill()
	names := make([]string, manyQueues)
	for i := range names {
		names[i] = fmt.Sprintf("queue-%04d", i)
	}
	if err := declareQueues(server, names); err != nil {
		return err
	}
	user, password := server.Admin()
	client, err := broker.New(broker.Config{Name: "bench", ManagementURL: server.ManagementURL(), Username: user,
		Password: secret.New(password), Timeout: time.Minute})
	if err != nil {
		return err
	}
	defer client.Close()
	raw := rawReader{client: &http.Client{Transport: &http.Transport{}}, url: server.ManagementURL(), user: user, password: password}
	defer raw.client.CloseIdleConnections()
	return comparePolls(ctx, b.table, client, raw)
}

// comparePolls polls in turns with the raw reading, so that other work on the machine weighs on both.
func comparePolls(ctx context.Context, t *table, client *broker.Client, raw rawReader) error {
	poll := func() error {
		sample, err := client.Sample(ctx)
		if err == nil && len(sample.Queues) != manyQueues {
			err = fmt.Errorf("the poll found %d queues, want %d", len(sample.Queues), manyQueues)
		}
		return err
	}
	var bare, polls []time.Duration
	for range pollRounds {
		took, err := durations(1, func() error { return raw.pages(ctx) })
		if err != nil {
			return err
		}
		bare = append(bare, took...)
		if took, err = durations(1, poll); err != nil {
			return err
		}
		polls = append(polls, took...)
	}
	slices.Sort(bare)
	slices.Sort(polls)
	half := pollRounds / 2
	t.add("broker: 10 pages of 500 queues, raw, median of 5", bare[half].Seconds(), "s", target{})
	t.add("broker: one poll of 5,000 queues", polls[half].Seconds(), "s", target{})
	t.add("broker: poll / raw", polls[half].Seconds()/bare[half].Seconds(), "ratio", target{atMost: 1.3})
	return nil
}

func declareQueues(server *servers.RabbitMQ, names []string) error {
	connection, err := amqp.Dial(server.AMQPURL(server.Admin()))
	if err != nil {
		return fmt.Errorf("connect to declare queues: %w", err)
	}
	defer connection.Close()
	channel, err := connection.Channel()
	if err != nil {
		return fmt.Errorf("open a channel to declare queues: %w", err)
	}
	for _, name := range names {
		// Without waiting for each answer; the last one is waited for, and comes after all others.
		if _, err := channel.QueueDeclare(name, false, false, false, name != names[len(names)-1], nil); err != nil {
			return fmt.Errorf("declare queue %s: %w", name, err)
		}
	}
	return nil
}

// rawReader reads pages of queues without looking at them.
type rawReader struct {
	client         *http.Client
	url            string
	user, password string
}

func (r rawReader) pages(ctx context.Context) error {
	for page := 1; page <= manyQueues/pageOfQueues; page++ {
		address := r.url + "/api/queues?page_size=" + strconv.Itoa(pageOfQueues) + "&page=" + strconv.Itoa(page)
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return err
		}
		request.SetBasicAuth(r.user, r.password)
		answer, err := r.client.Do(request)
		if err != nil {
			return fmt.Errorf("read page %d: %w", page, err)
		}
		_, err = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusOK {
			return fmt.Errorf("read page %d: %s %w", page, answer.Status, err)
		}
	}
	return nil
}
