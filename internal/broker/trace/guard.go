package trace

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/secret"
)

const (
	// maxOrder bounds what a guard is told.
	maxOrder = 1 << 20
	// guardPatience is how long a guard tries on to reach a broker that does not answer. Nobody else may be there to do it, and a process that waits
	// costs next to nothing; but a broker that is away for longer mostly comes back as a new process, which does not trace, or never.
	guardPatience = time.Hour
	// noteEvery is the time between two looks whether somebody else has taken over.
	noteEvery = 15 * time.Second

	guardReady = "ready"
	guardDone  = "done"
)

// An order tells a guard what to switch off. It goes through a pipe, and is never written down: it holds a password.
type order struct {
	Intent   string    `json:"intent"` // its path
	Broker   string    `json:"broker"`
	Vhost    string    `json:"vhost"`
	Nodes    []string  `json:"nodes"`
	Username string    `json:"username"`
	Password string    `json:"password"`
	CAFile   string    `json:"ca_file"`
	CertFile string    `json:"cert_file"`
	KeyFile  string    `json:"key_file"`
	Deadline time.Time `json:"deadline"`
}

// RunGuard switches tracing off once its input ends or its deadline passes, unless it is told that this was done. It is the whole work of a process
// of its own, so that tracing ends whatever ends the one that began it. It has one reader, whom it tells on out when it is ready; afterwards
// it says nothing, because nobody may be there.
func RunGuard(in io.Reader, out io.Writer) error {
	input := bufio.NewReaderSize(in, 64<<10)
	o, nodes, err := readOrder(input)
	if err != nil {
		return err
	}
	defer nodes.close()
	if _, err := fmt.Fprintln(out, guardReady); err != nil {
		return err
	}
	told := make(chan string, 1)
	go func() {
		word, _ := input.ReadString('\n')
		told <- word
	}()
	select {
	case word := <-told:
		if word == guardDone+"\n" {
			return nil
		}
	case <-time.After(time.Until(o.Deadline)):
	}
	return o.switchOff(nodes)
}

func readOrder(input *bufio.Reader) (o order, _ nodes, err error) {
	line, err := input.ReadBytes('\n')
	if err != nil || len(line) > maxOrder {
		return o, nil, errors.New("this command is started by the dashboard itself while it traces; it is of no use by hand")
	}
	if err := json.Unmarshal(line, &o); err != nil {
		return o, nil, errors.New("the order of a guard cannot be read") // without its text, which holds a password
	}
	account := broker.Measure{Act: broker.Act{Username: o.Username, Password: secret.New(o.Password)}, ManagementURLs: o.Nodes}
	all, err := openNodes(broker.Config{Name: o.Broker, CAFile: o.CAFile, CertFile: o.CertFile, KeyFile: o.KeyFile}, account)
	return o, all, err
}

// looks are the waits after which a guard sees that tracing is still off: a request of the process that died may have been under way.
func looks() []time.Duration {
	const s = time.Second
	return []time.Duration{s / 2, s / 2, s, 2 * s, nodeTimeout}
}

// switchOff switches off and notes when it was done, for the next start.
func (o order) switchOff(nodes nodes) error {
	ctx, cancel := context.WithTimeout(context.Background(), guardPatience)
	defer cancel()
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		o.awaitOther(ctx)
		cancel()
	}()
	var noted error
	err := nodes.offForGood(ctx, o.Vhost, looks(), func() {
		i, ours, err := o.note()
		if ours {
			i.Off = time.Now()
			err = i.write(o.Intent)
		}
		noted = err
	})
	cancel()
	<-watched
	return errors.Join(err, noted)
}

// note reads the note of the trace on disk, and reports whether it is still that of this order: not of a later trace, and not removed.
func (o order) note() (i intent, ours bool, err error) {
	i, ok, err := readIntent(o.Intent)
	return i, ok && i.Vhost == o.Vhost && i.Deadline.Equal(o.Deadline), err
}

// awaitOther waits until a later process has switched off in our place, for then the note is gone. To go on would end a trace of that one.
func (o order) awaitOther(ctx context.Context) {
	every(ctx, noteEvery, func() bool {
		_, ours, err := o.note()
		return ours || err != nil
	})
}

// every does something again and again, with some time before each, until ctx ends or it says that it was the last time.
func every(ctx context.Context, apart time.Duration, do func() (again bool)) {
	ticker := time.NewTicker(apart)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if !do() {
			return
		}
	}
}
