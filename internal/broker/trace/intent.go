package trace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/dedup"
)

// An intent says on disk what is about to be switched on, so that whoever comes after a crash knows what to switch off. It holds no password.
type intent struct {
	Broker string   `json:"broker"`
	Vhost  string   `json:"vhost"`
	Nodes  []string `json:"nodes"`
	// Metadata are those of the vhost before, for a person who finds them changed.
	Metadata map[string]any `json:"metadata"`
	Began    time.Time      `json:"began"`
	Deadline time.Time      `json:"deadline"`
	// Off is when the guard saw that tracing was off again; zero while it has not.
	Off time.Time `json:"off,omitzero"`
}

// intentPath is where the intent of a broker lies: there is one at most, for there is one trace at a time.
func (t *Tracer) intentPath() string {
	return filepath.Join(t.options.DataDir, "traces", t.config.Name+".json")
}

func newIntent(name string, v broker.Vhost, on nodes, now, deadline time.Time) intent {
	i := intent{Broker: name, Vhost: v.Name, Metadata: v.Metadata, Began: now, Deadline: deadline}
	for _, node := range on {
		i.Nodes = append(i.Nodes, node.Place())
	}
	return i
}

// write puts the intent on disk, and returns when it is there whatever happens.
func (i intent) write(path string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("write down what is to be traced: %w", err)
		}
	}()
	text, err := json.MarshalIndent(i, "", "  ")
	if err != nil {
		return err
	}
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(folder, ".trace-*")
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return err
	}
	return errors.Join(syncFolder(folder), syncFolder(filepath.Dir(folder)))
}

func syncFolder(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// readIntent returns the intent of a broker; false where there is none.
func readIntent(path string) (i intent, ok bool, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return intent{}, false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &i)
	}
	if err != nil {
		return intent{}, false, fmt.Errorf("read what was traced: %s: %w", path, err)
	}
	return i, true, nil
}

// LeftTraces returns what earlier processes switched on, and nobody saw off, at brokers that are not configured any more: no account is there to
// switch it off with, and Err says what a person can do. The intents stay on disk until the broker is configured again. The error names
// intents that cannot be read.
func LeftTraces(dataDir string, configured func(broker string) bool) ([]dedup.ClearedTrace, error) {
	paths, err := filepath.Glob(filepath.Join(dataDir, "traces", "*.json"))
	if err != nil {
		return nil, err
	}
	var left []dedup.ClearedTrace
	for _, path := range paths {
		if configured(strings.TrimSuffix(filepath.Base(path), ".json")) {
			continue
		}
		i, ok, readErr := readIntent(path)
		err = errors.Join(err, readErr)
		if ok && i.Off.IsZero() {
			left = append(left, dedup.ClearedTrace{Broker: i.Broker, Vhost: i.Vhost, Began: i.Began,
				Err: fmt.Sprintf("the configuration has no broker %s any more; see at %s whether tracing is on, run: %s, and delete %s",
					i.Broker, strings.Join(i.Nodes, ", "), broker.CtlLine("trace_off", "-p", i.Vhost), path)})
		}
	}
	return left, err
}

func removeIntent(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget what was traced: %w", err)
	}
	return nil
}
