package series

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
)

// ErrTooOld is in the chain of an error of Append when a sample is more than two hours older than the newest one that
// is stored, as after the clock was set back by that much.
var ErrTooOld = errors.New("older than the newest stored sample by more than 2 hours; was the clock set back?")

// maxLabelBytes bounds a label value. Names of queues and pipelines are far shorter; anything longer is an accident or
// an attack, and would stay in memory and in every block for the whole retention.
const maxLabelBytes = 1024

// Append writes the samples of one round, all at the same time. A full disk or a refused sample is an error; the
// samples that could be written are kept. It may be called again with the next round: it heals by itself. Label values
// are stored as valid UTF-8. NaN is refused: a value that is not known must be left out.
func (db *DB) Append(ctx context.Context, at time.Time, samples []Sample) error {
	return db.write(ctx, samples, func(app storage.Appender, l labels.Labels, s Sample) error {
		if math.IsNaN(s.Value) {
			return errors.New("the value is not a number")
		}
		_, err := app.Append(0, l, at.UnixMilli(), s.Value)
		return err
	})
}

// MarkStale ends the series with these names and labels at the given time: they have no value until the next Append.
// Series that do not exist are passed over.
func (db *DB) MarkStale(ctx context.Context, at time.Time, samples []Sample) error {
	marker := math.Float64frombits(value.StaleNaN)
	return db.write(ctx, samples, func(app storage.Appender, l labels.Labels, _ Sample) error {
		refs, ok := app.(storage.GetRef)
		if !ok {
			return nil
		}
		ref, known := refs.GetRef(l, l.Hash())
		if ref == 0 {
			return nil
		}
		_, err := app.Append(ref, known, at.UnixMilli(), marker)
		return err
	})
}

// An adder puts one sample into a commit that is being prepared.
type adder func(storage.Appender, labels.Labels, Sample) error

func (db *DB) write(ctx context.Context, samples []Sample, add adder) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	db.appends.Lock()
	defer db.appends.Unlock()
	t, release, err := db.use()
	if err != nil {
		return err
	}
	defer release()
	if db.wounded.Load() {
		return fmt.Errorf("history is not being written until it was opened again: %w", db.faultOf(faultWriting))
	}
	if err := db.checkSpace(); err != nil {
		db.setFault(faultWriting, err)
		return err
	}

	db.writes.Add(1)
	refused, err := commit(ctx, t, samples, add)
	db.writes.Add(1)
	if err != nil {
		err = fmt.Errorf("write history in %s: %w", db.cfg.Dir, err)
		db.wound(err)
		return err
	}
	if err := refused.err(len(samples)); err != nil {
		db.setFault(faultWriting, err)
		return err
	}
	db.setFault(faultWriting, nil)
	return nil
}

// commit writes the samples at once. A sample that is refused does not take the others with it.
func commit(ctx context.Context, t *tsdb.DB, samples []Sample, add adder) (r refusals, err error) {
	defer recoverTo(&err, "commit")
	app := t.Appender(ctx)
	b := labels.NewScratchBuilder(8)
	for _, s := range samples {
		l, err := s.labels(&b)
		if err == nil {
			err = add(app, l, s)
		}
		if err != nil {
			r.add(s, err)
		}
	}
	return r, app.Commit()
}

// labels returns the labels under which the TSDB knows the sample's series.
func (s Sample) labels(b *labels.ScratchBuilder) (labels.Labels, error) {
	if !isIdentifier(s.Name) {
		return labels.EmptyLabels(), errors.New("its name is not a metric name")
	}
	b.Reset()
	b.Add(nameLabel, s.Name)
	for name, val := range s.Labels {
		if name == nameLabel || !isIdentifier(name) {
			return labels.EmptyLabels(), fmt.Errorf("%.60q is not a label name", name)
		}
		if len(val) > maxLabelBytes {
			return labels.EmptyLabels(), fmt.Errorf("the value of label %s has %d bytes, more than %d", name, len(val), maxLabelBytes)
		}
		if val != "" { // Prometheus holds an empty label for an absent one
			b.Add(name, labelValue(val))
		}
	}
	b.Sort()
	return b.Labels(), nil
}

// labelValue returns a label value as it is stored and asked for.
func labelValue(v string) string { return strings.ToValidUTF8(v, "\uFFFD") }

// isIdentifier reports whether s needs no quotes as the name of a metric or label of ours.
func isIdentifier(s string) bool {
	for i, r := range s {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

// refusals counts the samples of a round that could not be written.
type refusals struct {
	n     int
	first error
}

func (r *refusals) add(s Sample, err error) {
	r.n++
	if errors.Is(err, storage.ErrTooOldSample) || errors.Is(err, storage.ErrOutOfBounds) {
		err = ErrTooOld
	}
	if r.first == nil {
		r.first = fmt.Errorf("%.80q: %w", s.Name, err)
	}
}

func (r *refusals) err(of int) error {
	if r.n == 0 {
		return nil
	}
	return fmt.Errorf("history refused %d of %d samples, the first of %w", r.n, of, r.first)
}
