package collector

import (
	"errors"
	"fmt"
	"time"
)

// The intervals that hold unless configured, and their bounds: a shorter interval would cost the broker more than its
// counters, which move every 5 s, could tell.
const (
	defaultInterval = 15 * time.Second
	defaultTimeout  = 10 * time.Second
	minInterval     = 2 * time.Second
	maxInterval     = 5 * time.Minute
)

// WithDefaults fills what is not configured. The timeout stays below the interval.
func (c Config) WithDefaults() Config {
	if c.Interval == 0 {
		c.Interval = defaultInterval
	}
	if c.Timeout == 0 {
		c.Timeout = min(defaultTimeout, c.Interval*4/5)
	}
	return c
}

// Validate returns every problem of the section, joined. Each begins with the path of its key.
func (c Config) Validate() error {
	c = c.WithDefaults()
	var errs []error
	if c.Interval < minInterval || c.Interval > maxInterval {
		errs = append(errs, fmt.Errorf("interval: %s is outside %s to %s", c.Interval, minInterval, maxInterval))
	}
	if c.Timeout <= 0 || c.Timeout >= c.Interval {
		errs = append(errs, fmt.Errorf("timeout: %s must be above 0s and below the interval of %s", c.Timeout, c.Interval))
	}
	return errors.Join(errs...)
}
