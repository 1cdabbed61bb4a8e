package jobs

import (
	"context"
	"sync"
	"testing"
	"time"
)

// A slowDisk is a journal whose first write waits until it is let go on, or another write has come.
type slowDisk struct {
	JobJournal
	entered chan struct{}
	proceed chan struct{}

	mu    sync.Mutex
	begun int
	moved int64
}

func (d *slowDisk) SaveJob(_ context.Context, j Job, _ []JobItem) error {
	d.mu.Lock()
	d.begun++
	first := d.begun == 1
	d.mu.Unlock()
	if first {
		close(d.entered)
		<-d.proceed
	}
	d.mu.Lock()
	d.moved = j.Moved
	d.mu.Unlock()
	return nil
}

func slowJob() (*liveJob, *slowDisk) {
	disk := &slowDisk{entered: make(chan struct{}), proceed: make(chan struct{})}
	return &liveJob{deps: &DeadLettersDeps{Journal: disk, Now: time.Now, Changed: func(string) {}}}, disk
}

func TestAnOlderPictureOfAJobIsNeverWrittenAfterANewerOne(t *testing.T) {
	j, disk := slowJob()
	moved := func(n int64) {
		j.mu.Lock()
		j.job.Moved = n
		j.mu.Unlock()
	}
	moved(10)
	var writers sync.WaitGroup
	write := func(done chan<- struct{}) {
		writers.Go(func() {
			if err := j.save(t.Context()); err != nil {
				t.Error(err)
			}
			close(done)
		})
	}
	older, newer := make(chan struct{}), make(chan struct{})
	write(older)
	<-disk.entered
	moved(12)
	write(newer)
	select { // a newer picture that overtakes is written by now
	case <-newer:
	case <-time.After(200 * time.Millisecond):
	}
	close(disk.proceed)
	writers.Wait()
	if disk.moved != 12 {
		t.Errorf("the journal has %d moved, of 12", disk.moved)
	}
}

func TestARunThatWaitsForTheBrokerDoesNotWaitForTheDisk(t *testing.T) {
	j, disk := slowJob()
	returned := make(chan struct{})
	go func() {
		j.waiting(JobRunning, "the broker reads nothing")
		j.waiting(JobRunning, "")
		close(returned)
	}()
	select {
	case <-returned:
	case <-time.After(30 * time.Second):
		t.Error("it waits for the write")
	}
	close(disk.proceed)
	j.aside.Wait()
	if state := j.snapshot().State; state != JobRunning {
		t.Errorf("it is %s", state)
	}
}
