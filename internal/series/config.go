package series

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// The settings that are used where Config leaves a field zero.
const (
	DefaultRetention = 30 * 24 * time.Hour
	DefaultMaxBytes  = 8 << 30
	DefaultInterval  = 15 * time.Second
	DefaultMinFree   = 64 << 20
)

// The bounds of the settings. A block of the history spans two hours, so a shorter retention could not be kept; a
// smaller size would not hold those two hours of a few thousand series.
const (
	minRetention = 2 * time.Hour
	maxRetention = 10 * 366 * 24 * time.Hour
	minMaxBytes  = 64 << 20
	minInterval  = time.Second
	maxInterval  = 5 * time.Minute
)

// lookbackIntervals is the number of intervals after which a value is not current any more.
const lookbackIntervals = 4

// Config says how much history is kept. A zero field other than Dir stands for its default.
type Config struct {
	// Dir is where the history lives. The directory is ours alone: nothing else may be kept in it.
	Dir string
	// Retention bounds the history by age, MaxBytes by size on disk.
	Retention time.Duration
	MaxBytes  int64
	// Interval is the collector's interval; a value older than four of them is not current any more.
	Interval time.Duration
	// MinFree is the free space in bytes on the disk of Dir below which nothing is written, so that a full disk never
	// tears a record. The history goes on by itself when there is more.
	MinFree int64
}

// Validate reports every setting that cannot work, each with what to do about it.
func (c Config) Validate() error {
	var errs []error
	c = c.withDefaults()
	refuse := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	refuse(c.Dir == "", "history directory: is empty; name a directory that this process may write")
	refuse(c.Retention < minRetention || c.Retention > maxRetention, "history retention: %s is outside %s to 10 years; the default is %s",
		c.Retention, minRetention, DefaultRetention)
	refuse(c.MaxBytes < minMaxBytes, "history size: %d bytes is less than %d MiB; the default is %d MiB", c.MaxBytes, minMaxBytes>>20, DefaultMaxBytes>>20)
	refuse(c.Interval < minInterval || c.Interval > maxInterval, "interval: %s is outside %s to %s; the default is %s",
		c.Interval, minInterval, maxInterval, DefaultInterval)
	refuse(c.MinFree < 0, "history free space: %d bytes is negative; the default is %d MiB", c.MinFree, DefaultMinFree>>20)
	return errors.Join(errs...)
}

// Lookback is the age at which a value stops being current: four intervals.
func (c Config) Lookback() time.Duration { return lookbackIntervals * c.withDefaults().Interval }

func (c Config) withDefaults() Config {
	c.Retention, c.MaxBytes = cmp.Or(c.Retention, DefaultRetention), cmp.Or(c.MaxBytes, DefaultMaxBytes)
	c.Interval, c.MinFree = cmp.Or(c.Interval, DefaultInterval), cmp.Or(c.MinFree, DefaultMinFree)
	return c
}
