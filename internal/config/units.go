package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// readUnit reads a scalar by parse. Its error is of the one type after which the decoder goes on, so that all problems are
// found at once; addYAML reads the place in it.
func readUnit(n *yaml.Node, parse func(string) error) error {
	err := errors.New("must be one value with its unit")
	if n.Kind == yaml.ScalarNode {
		err = parse(n.Value)
	}
	if err != nil {
		return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: column %d: %s", n.Line, n.Column, err)}}
	}
	return nil
}

// Percent is a ratio 0..1 written with its unit: 3%.
type Percent float64

// UnmarshalYAML reads "3%" or "0.5 %".
func (p *Percent) UnmarshalYAML(n *yaml.Node) error { return readUnit(n, p.parse) }

func (p *Percent) parse(text string) error {
	digits, ok := strings.CutSuffix(strings.TrimSpace(text), "%")
	if !ok {
		return fmt.Errorf("%q is not a percentage: write it with its unit, as in 3%%", text)
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	if err != nil || !(v >= 0 && v <= 100) {
		return fmt.Errorf("%q is not a percentage from 0%% to 100%%", text)
	}
	*p = Percent(v / 100)
	return nil
}

// Duration is a span of time written with its unit: 500ms, 30s, 2h, 30d.
type Duration time.Duration

// UnmarshalYAML reads what time.ParseDuration reads, and whole days as in 30d.
func (d *Duration) UnmarshalYAML(n *yaml.Node) error { return readUnit(n, d.parse) }

func (d *Duration) parse(text string) error {
	word := strings.TrimSpace(text)
	if days, ok := strings.CutSuffix(word, "d"); ok {
		n, err := strconv.Atoi(days)
		if err != nil || n < 0 || n > 36500 {
			return fmt.Errorf("%q is not a number of days, as in 30d", text)
		}
		*d = Duration(time.Duration(n) * 24 * time.Hour)
		return nil
	}
	v, err := time.ParseDuration(word)
	if err != nil || v < 0 {
		return fmt.Errorf("%q is not a span of time: write it with its unit, as in 500ms, 30s, 2h or 30d", text)
	}
	*d = Duration(v)
	return nil
}

// Size is a number of bytes written with its unit: 512MB, 2GB.
type Size int64

// UnmarshalYAML reads whole or broken numbers of kB, MB and GB (powers of 1000) and KiB, MiB and GiB (powers of 1024).
func (s *Size) UnmarshalYAML(n *yaml.Node) error { return readUnit(n, s.parse) }

func (s *Size) parse(text string) error {
	word := strings.TrimSpace(text)
	for _, u := range []struct {
		suffix string
		bytes  float64
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}} {
		digits, ok := strings.CutSuffix(word, u.suffix)
		if !ok {
			continue
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
		if err != nil || !(v > 0 && v*u.bytes < 1e15) {
			break
		}
		*s = Size(v * u.bytes)
		return nil
	}
	return fmt.Errorf("%q is not a size: write it with its unit, as in 512MB or 2GB", text)
}
