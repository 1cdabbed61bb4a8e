package series

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"dedup-dashboard/internal/dedup"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
)

// Query evaluates a PromQL expression at one time. Series that are stale, and results that are not a number, as 0/0, are
// left out. Labels come without the metric name. An expression that cannot be evaluated is an error of kind invalid.
func (db *DB) Query(ctx context.Context, expr string, at time.Time) ([]Value, error) {
	return db.query(ctx, expr, at, func(t *tsdb.DB) storage.Queryable { return t })
}

// query evaluates an expression over what is made of the TSDB.
func (db *DB) query(ctx context.Context, expr string, at time.Time, over func(*tsdb.DB) storage.Queryable) ([]Value, error) {
	return evaluate(ctx, db, values, func(ctx context.Context, t *tsdb.DB) (promql.Query, error) {
		return db.engine.NewInstantQuery(ctx, over(t), nil, expr, at)
	})
}

// QueryRange evaluates a PromQL expression at every step from from to to. Results that are not a number are left out.
func (db *DB) QueryRange(ctx context.Context, expr string, from, to time.Time, step time.Duration) ([]Line, error) {
	if err := checkRange(from, to, step); err != nil {
		return nil, err
	}
	return evaluate(ctx, db, lines, func(ctx context.Context, t *tsdb.DB) (promql.Query, error) {
		return db.engine.NewRangeQuery(ctx, t, nil, expr, from, to, step)
	})
}

// evaluate opens a query, and reads its result while it is open.
func evaluate[T any](ctx context.Context, db *DB, read func(*promql.Result) (T, error), open func(context.Context, *tsdb.DB) (promql.Query, error)) (T, error) {
	var none T
	ctx, t, done, err := db.read(ctx)
	if err != nil {
		return none, err
	}
	defer done()
	q, err := open(ctx, t)
	if err != nil {
		return none, queryError(err)
	}
	defer q.Close()
	res := q.Exec(ctx)
	if res.Err != nil {
		return none, queryError(res.Err)
	}
	return read(res)
}

func checkRange(from, to time.Time, step time.Duration) error {
	switch {
	case step < time.Millisecond:
		return invalid("The step of a range must be at least 1 ms")
	case to.Before(from):
		return invalid("The range ends before it begins")
	case to.Sub(from)/step >= maxQueryPoints:
		return invalid(fmt.Sprintf("The range has more than %d steps; take a shorter range or a longer step", maxQueryPoints))
	}
	return nil
}

func values(res *promql.Result) ([]Value, error) {
	switch v := res.Value.(type) {
	case promql.Scalar:
		if math.IsNaN(v.V) {
			return nil, nil
		}
		return []Value{{Labels: map[string]string{}, At: time.UnixMilli(v.T).UTC(), Value: v.V}}, nil
	case promql.Vector:
		out := make([]Value, 0, len(v))
		for _, s := range v {
			if s.H == nil && !math.IsNaN(s.F) {
				out = append(out, Value{Labels: identity(s.Metric), At: time.UnixMilli(s.T).UTC(), Value: s.F})
			}
		}
		return out, nil
	default:
		return nil, invalid(fmt.Sprintf("The PromQL expression must give one value per series, not a %s", v.Type()))
	}
}

func lines(res *promql.Result) ([]Line, error) {
	m, err := res.Matrix()
	if err != nil {
		return nil, queryError(err)
	}
	out := make([]Line, 0, len(m))
	for _, s := range m {
		points := make([]dedup.Point, 0, len(s.Floats))
		for _, p := range s.Floats {
			if !math.IsNaN(p.F) {
				points = append(points, dedup.Point{At: time.UnixMilli(p.T).UTC(), Value: p.F})
			}
		}
		if len(points) > 0 {
			out = append(out, Line{Labels: identity(s.Metric), Points: points})
		}
	}
	return out, nil
}

// queryError says whose fault it is: the expression's, the caller's deadline's, or the history's.
func queryError(err error) error {
	var (
		timeout  promql.ErrQueryTimeout
		canceled promql.ErrQueryCanceled
		many     promql.ErrTooManySamples
		stored   promql.ErrStorage
	)
	switch {
	case errors.Is(err, ErrClosed):
		return ErrClosed
	case errors.As(err, &timeout), errors.As(err, &canceled), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &dedup.Error{Kind: dedup.Unavailable, Public: "The query of the history took too long or was cancelled", Err: err}
	case errors.As(err, &many):
		return &dedup.Error{Kind: dedup.Invalid, Public: "The query reads too many samples; take a shorter range or fewer series", Err: err}
	case errors.As(err, &stored):
		return fmt.Errorf("read the history: %w", err)
	default:
		return invalid("The PromQL expression cannot be evaluated: " + err.Error())
	}
}

func invalid(public string) error { return &dedup.Error{Kind: dedup.Invalid, Public: public} }

// identity returns the labels of a series without its metric name.
func identity(l labels.Labels) map[string]string {
	m := l.Map()
	delete(m, nameLabel)
	return m
}
