package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/tsdb/index"

	"dedup-dashboard/internal/series"
)

const (
	historyInterval = 15 * time.Second
	historyDays     = 30
	smallestBlock   = 2 * time.Hour
	samplesPerChunk = 120
	// pastShapes is how many different sequences of values there are. Each is encoded once and shared by many series,
	// so that 1.4 thousand million samples are written in seconds; on disk they take the room of as many different ones.
	pastShapes = 32
)

// writeBlocks writes the blocks that a history of 30 days up to end has on disk, in the sizes to which compaction would
// have brought them, and returns the number of samples.
func writeBlocks(ctx context.Context, dir string, end time.Time) (samples uint64, err error) {
	all := pastLabels()
	from := end.Add(-historyDays * 24 * time.Hour).Truncate(smallestBlock)
	for n := 0; from.Before(end); n++ {
		length := blockLength(from, end)
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		written, err := writeBlock(ctx, filepath.Join(dir, blockName(n)), blockName(n), all, from, from.Add(length))
		if err != nil {
			return 0, fmt.Errorf("write block of %s: %w", from, err)
		}
		samples += written
		from = from.Add(length)
	}
	return samples, nil
}

// blockLength returns the longest of the TSDB's block ranges that begins at from and ends by end.
func blockLength(from, end time.Time) time.Duration {
	for _, length := range []time.Duration{27 * smallestBlock, 9 * smallestBlock, 3 * smallestBlock} {
		if from.UnixMilli()%length.Milliseconds() == 0 && !from.Add(length).After(end) {
			return length
		}
	}
	return smallestBlock
}

// blockName returns a ULID: the names of the blocks must be in the order of time.
func blockName(n int) string { return fmt.Sprintf("01%024d", n+1) }

// pastLabels returns the series of the history in the order that an index wants.
func pastLabels() []labels.Labels {
	var all []labels.Labels
	for _, s := range pastSamples(0) {
		b := labels.NewBuilder(labels.FromMap(s.Labels))
		all = append(all, b.Set("__name__", s.Name).Labels())
	}
	slices.SortFunc(all, labels.Compare)
	return all
}

func writeBlock(ctx context.Context, dir, name string, all []labels.Labels, from, to time.Time) (uint64, error) {
	w, err := chunks.NewWriter(filepath.Join(dir, "chunks"), chunks.WithSegmentSize(64<<20))
	if err != nil {
		return 0, err
	}
	ix, err := index.NewWriter(ctx, filepath.Join(dir, "index"))
	if err != nil {
		return 0, err
	}
	for _, symbol := range symbols(all) {
		if err := ix.AddSymbol(symbol); err != nil {
			return 0, err
		}
	}
	shapes, perSeries, err := encodeShapes(from, to)
	if err != nil {
		return 0, err
	}
	for i, l := range all {
		metas := slices.Clone(shapes[i%len(shapes)])
		if err := w.WriteChunks(metas...); err != nil { // fills in the references
			return 0, err
		}
		if err := ix.AddSeries(storage.SeriesRef(i+1), l, metas...); err != nil {
			return 0, err
		}
	}
	if err := w.Close(); err != nil {
		return 0, err
	}
	if err := ix.Close(); err != nil {
		return 0, err
	}
	samples := perSeries * uint64(len(all))
	return samples, writeMeta(dir, name, from, to, samples, len(all), len(all)*len(shapes[0]))
}

func symbols(all []labels.Labels) []string {
	set := make(map[string]struct{})
	for _, l := range all {
		l.Range(func(l labels.Label) { set[l.Name], set[l.Value] = struct{}{}, struct{}{} })
	}
	return slices.Sorted(maps.Keys(set))
}

// encodeShapes encodes counters that rise by uneven steps, one for each shape.
func encodeShapes(from, to time.Time) (shapes [][]chunks.Meta, perSeries uint64, err error) {
	random := rand.New(rand.NewPCG(1, uint64(from.Unix())))
	perSeries = uint64(to.Sub(from) / historyInterval)
	for range pastShapes {
		value, at := float64(random.IntN(1_000_000)), from.UnixMilli()
		var metas []chunks.Meta
		for left := perSeries; left > 0; {
			c := chunkenc.NewXORChunk()
			app, err := c.Appender()
			if err != nil {
				return nil, 0, err
			}
			meta := chunks.Meta{Chunk: c, MinTime: at}
			for n := 0; n < samplesPerChunk && left > 0; n++ {
				value += float64(random.IntN(50))
				app.Append(0, at, value)
				meta.MaxTime = at
				at += historyInterval.Milliseconds()
				left--
			}
			metas = append(metas, meta)
		}
		shapes = append(shapes, metas)
	}
	return shapes, perSeries, nil
}

func writeMeta(dir, name string, from, to time.Time, samples uint64, seriesN, chunksN int) error {
	meta, err := json.Marshal(map[string]any{
		"ulid": name, "minTime": from.UnixMilli(), "maxTime": to.UnixMilli(), "version": 1,
		"stats":      map[string]any{"numSamples": samples, "numFloatSamples": samples, "numSeries": seriesN, "numChunks": chunksN},
		"compaction": map[string]any{"level": 1, "sources": []string{name}},
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "meta.json"), meta, 0o600)
}

// historyConfig is the configuration under which the bench reads and writes the history.
func historyConfig(dir string) series.Config {
	return series.Config{Dir: dir, Retention: historyDays * 24 * time.Hour, MaxBytes: 64 << 30, Interval: historyInterval}
}
