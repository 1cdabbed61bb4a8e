package jobs_test

import (
	"context"
	"sync"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/lab/admintest"
)

// A crew works off the source queue of a scene.
type crew struct {
	channel *amqp.Channel // of its connection, to ask by
	mu      sync.Mutex
	worked  int64
	refused int64
}

// consume works off the source queue until the test ends: work says whether a message is acked or, else, rejected.
func (s *scene) consume(t *testing.T, work func(amqp.Delivery) bool) {
	t.Helper()
	connection, err := amqp.Dial(s.rabbit.AMQPURL(s.rabbit.Admin()))
	admintest.Must(t, err)
	channel, err := connection.Channel()
	admintest.Must(t, err)
	deliveries, err := channel.Consume(s.name, "", false, false, false, false, nil)
	admintest.Must(t, err)
	c := &crew{}
	c.channel, err = connection.Channel()
	admintest.Must(t, err)
	s.crew = c
	done := make(chan struct{})
	go func() {
		defer close(done)
		for d := range deliveries {
			good := work(d)
			if good {
				_ = d.Ack(false)
			} else {
				_ = d.Nack(false, false)
			}
			c.note(good)
		}
	}()
	t.Cleanup(func() { _ = connection.Close(); <-done })
}

func (c *crew) note(good bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.worked++
	if !good {
		c.refused++
	}
}

// through reports whether all that a job has moved was worked off, and what was rejected is a dead letter again.
func (c *crew) through(j jobs.Job, dead string) bool {
	c.mu.Lock()
	worked, refused := c.worked, c.refused
	c.mu.Unlock()
	q, err := c.channel.QueueDeclarePassive(dead, true, false, false, false, nil)
	if err != nil {
		return true // without its connection nobody works any more
	}
	return worked >= j.Moved && int64(q.Messages) == j.Limit-j.Moved+refused
}

// A patientJournal has a job that is about to judge what it has sent wait for the crew: what is judged is the same however slow that
// is.
type patientJournal struct {
	jobs.JobJournal
	scene *scene
}

func (p patientJournal) SaveJob(ctx context.Context, j jobs.Job, items []jobs.JobItem) error {
	err := p.JobJournal.SaveJob(ctx, j, items)
	if p.scene.crew == nil || j.State != jobs.JobWatching && !j.State.Final() {
		return err
	}
	for limit := time.Now().Add(2 * time.Minute); !p.scene.crew.through(j, p.scene.dead.Name) && time.Now().Before(limit); {
		<-time.After(20 * time.Millisecond)
	}
	return err
}

// soon has what a job has sent judged as soon as the crew is through.
func soon(d *jobs.DeadLettersDeps) { d.Watch = time.Second }
