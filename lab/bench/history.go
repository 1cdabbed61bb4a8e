package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"dedup-dashboard/internal/series"
)

// headSpan is how much history is only in the log and in memory when the process is killed. The log is at its fattest
// just before three hours, when its first two become a block.
const headSpan = 3*time.Hour - time.Minute

// measureHistory makes a history of 30 days, kills the process that is writing it, and measures what a new one needs to
// read it. Everything but the last three hours is written as blocks, without going through the log; the last three hours
// are appended round by round by a process that is killed in the middle of a round.
func measureHistory(ctx context.Context, b *bench) error {
	dir := filepath.Join(b.folder, "history")
	made, err := b.makeHistory(ctx, dir, time.Now())
	if err != nil {
		return err
	}
	b.table.add("history: samples in 30 days of 200 pipelines x 40 series", float64(made.samples)/1e6, "million", target{})
	b.table.add("history: disk per sample in blocks", float64(made.bytes)/float64(made.samples), "bytes", target{})

	cmd, err := child(ctx, "open history", dir, made.end.Format(time.RFC3339))
	if err != nil {
		return err
	}
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("open the history: %w", err)
	}
	var o opened
	if err := json.Unmarshal(out, &o); err != nil {
		return fmt.Errorf("read what the child measured: %w", err)
	}
	b.table.add("history: series.Open returns after kill -9", o.Return, "s", target{atMost: 0.1})
	b.table.add("history: ready after kill -9, log of 3 h replayed", o.Ready, "s", target{atMost: 2})
	b.table.add("history: process memory (RSS) when ready", o.ReadyRSS, "MiB", target{atMost: 150})
	b.table.add("history: append one round of 8,000 samples, median of 20", 1e3*o.Append, "ms", target{atMost: 100})
	b.table.add("history: last value of 1,600 counters, as at every start", 1e3*o.Last, "ms", target{atMost: 500})
	b.table.add("history: changes of 1,600 counters over 24 h, median of 20", 1e3*o.Changes, "ms", target{atMost: 50})
	b.table.add("history: chart of one series over 30 days, 500 steps", 1e3*o.Chart, "ms", target{atMost: 100})
	b.table.add("history: process memory (RSS) after these queries", o.WorkRSS, "MiB", target{})
	return nil
}

// madeHistory says what makeHistory made.
type madeHistory struct {
	end     time.Time // of the last complete round
	samples uint64    // in blocks
	bytes   int64     // of these blocks
}

// makeHistory leaves the history behind that a process has which was killed by now, or up to two hours before it.
func (b *bench) makeHistory(ctx context.Context, dir string, now time.Time) (madeHistory, error) {
	b.note("writing 30 days of history")
	border := now.Add(-headSpan).Truncate(smallestBlock)
	made := madeHistory{end: border.Add(headSpan)}
	var err error
	if made.samples, err = writeBlocks(ctx, dir, border); err != nil {
		return made, err
	}
	if made.bytes, err = diskSize(dir); err != nil {
		return made, err
	}
	cmd, err := child(ctx, "write history", dir, border.Format(time.RFC3339))
	if err != nil {
		return made, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return made, err
	}
	if err := cmd.Start(); err != nil {
		return made, fmt.Errorf("start the writer: %w", err)
	}
	line, readErr := bufio.NewReader(out).ReadString('\n') // it says that it is in the middle of a round
	if err := cmd.Process.Kill(); err != nil {
		return made, fmt.Errorf("kill the writer: %w", err)
	}
	_ = cmd.Wait()
	if readErr != nil {
		return made, fmt.Errorf("the writer ended by itself: %q: %w", line, readErr)
	}
	return made, nil
}

// writeHistory is the process that is killed. It appends the last hours round by round. It closes the history once,
// five minutes before the end: that writes out full chunks, as upkeep does every minute when time runs as it should.
func writeHistory(ctx context.Context, args []string) error {
	dir, border, err := historyArgs(args)
	if err != nil {
		return err
	}
	db, err := openReady(ctx, dir)
	if err != nil {
		return err
	}
	rounds := int(headSpan / historyInterval)
	samples := pastSamples(0)
	step := func(n int) error {
		for i := range samples {
			samples[i].Value += float64((n*31 + i*17) % 50)
		}
		return db.Append(ctx, border.Add(time.Duration(n)*historyInterval), samples)
	}
	for n := range rounds {
		if err := step(n); err != nil {
			return err
		}
		if n != rounds-20 {
			continue
		}
		if err := db.Close(); err != nil {
			return err
		}
		if db, err = openReady(ctx, dir); err != nil {
			return err
		}
	}
	fmt.Println("appending")
	// These rounds are a millisecond apart, so that it does not matter how many there are before the kill.
	for n := 1; ; n++ {
		if err := db.Append(ctx, border.Add(headSpan-historyInterval+time.Duration(n)*time.Millisecond), samples); err != nil {
			return err
		}
	}
}

// opened is what the process measured that opened the history; times are in seconds, sizes in MiB.
type opened struct {
	Return, Ready, Append, Last, Changes, Chart float64
	ReadyRSS, WorkRSS                           float64
}

// openHistory is the process that opens what the killed one left behind.
func openHistory(ctx context.Context, args []string) error {
	dir, end, err := historyArgs(args)
	if err != nil {
		return err
	}
	var o opened
	start := time.Now()
	db, err := series.Open(historyConfig(dir), quietLog())
	if err != nil {
		return err
	}
	o.Return = time.Since(start).Seconds()
	if err := waitReady(ctx, db); err != nil {
		return err
	}
	o.Ready = time.Since(start).Seconds()
	o.ReadyRSS = memory("self", "VmRSS")
	if err := holds(ctx, db, end); err != nil {
		return err
	}
	if err := o.work(ctx, db, end); err != nil {
		return err
	}
	o.WorkRSS = memory("self", "VmRSS")
	if err := json.NewEncoder(os.Stdout).Encode(o); err != nil {
		return err
	}
	return db.Close()
}

// holds fails when the history does not hold every series at its beginning, in its last hours and at its end: then the
// figures would be those of a smaller one.
func holds(ctx context.Context, db *series.DB, end time.Time) error {
	for _, ago := range []time.Duration{29 * 24 * time.Hour, 2 * time.Hour, historyInterval} {
		vs, err := db.Query(ctx, `count({__name__=~"dedup_.+"})`, end.Add(-ago))
		if err != nil {
			return err
		}
		if want := float64(historyPipelines * historyPerName); len(vs) != 1 || vs[0].Value != want {
			return fmt.Errorf("the history holds %v at %s before its end, want %v series", vs, ago, want)
		}
	}
	return nil
}

// work measures what the collector and the pages do with the history.
func (o *opened) work(ctx context.Context, db *series.DB, end time.Time) (err error) {
	samples := pastSamples(1e9)
	at := end.Add(time.Minute)
	o.Append, err = median(20, func() error {
		at = at.Add(historyInterval)
		return db.Append(ctx, at, samples)
	})
	if err != nil {
		return err
	}
	o.Last, err = median(1, func() error { return wantSeries(db.Last(ctx, series.ReportedOutcomes)) })
	if err != nil {
		return err
	}
	o.Changes, err = median(20, func() error {
		return wantSeries(db.Changes(ctx, series.ReportedOutcomes, at, 24*time.Hour))
	})
	if err != nil {
		return err
	}
	one := series.BrokerAcks + "{pipeline=" + series.Quote(pipelineName(7)) + "}"
	o.Chart, err = median(3, func() error {
		lines, err := db.QueryRange(ctx, one, at.Add(-historyDays*24*time.Hour), at, historyDays*24*time.Hour/500)
		if err == nil && (len(lines) != 1 || len(lines[0].Points) < 490) {
			err = fmt.Errorf("the history does not hold 30 days: %d lines", len(lines))
		}
		return err
	})
	return err
}

// wantSeries fails when an answer is not one value for each outcome of each pipeline.
func wantSeries[T any](got []T, err error) error {
	if err == nil && len(got) != 8*historyPipelines {
		err = fmt.Errorf("want %d series, got %d", 8*historyPipelines, len(got))
	}
	return err
}

func historyArgs(args []string) (dir string, at time.Time, err error) {
	if len(args) != 2 {
		return "", time.Time{}, fmt.Errorf("want a directory and a time, got %q", args)
	}
	at, err = time.Parse(time.RFC3339, args[1])
	return args[0], at, err
}

func openReady(ctx context.Context, dir string) (*series.DB, error) {
	db, err := series.Open(historyConfig(dir), quietLog())
	if err != nil {
		return nil, err
	}
	return db, waitReady(ctx, db)
}

func waitReady(ctx context.Context, db *series.DB) error {
	select {
	case <-db.Ready():
		if moved := db.Status().Quarantined; len(moved) > 0 {
			return fmt.Errorf("the history was damaged and moved to %s", moved)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the history: %w: %w", ctx.Err(), db.Err())
	}
}

func quietLog() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
}

func diskSize(dir string) (size int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	return size, err
}
