// Package config reads the one YAML file into the Config types of every package, strictly, reporting all problems at once.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"go.yaml.in/yaml/v3"

	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/collector"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/exports"
	"dedup-dashboard/internal/markers/kinds"
	"dedup-dashboard/internal/markers/sql/effect"
	"dedup-dashboard/internal/series"
	"dedup-dashboard/internal/server"
)

// maxFile bounds a file in bytes, so that a wrong path never fills the memory.
const maxFile = 4 << 20

// A Config is a whole, valid configuration.
type Config struct {
	Server    server.Config
	DataDir   string
	Collector collector.Config
	History   series.Config
	Brokers   []broker.Config
	Stores    []markers.Config
	Pipelines []dedup.Pipeline
	// Scrapes are where consumers publish counters themselves, by the name in Pipeline.ReportedStore.
	Scrapes map[string]exports.Config
	// Effects are the checks for double effects, of the pipelines that have one.
	Effects []effect.Config
	Alerts  Alerts
	Auth    auth.Config
	Admin   deadletter.Config
}

// file is the shape of the YAML. Sections that belong to one package decode into its Config; those that cross packages
// are composed here.
type file struct {
	Server    serverSection    `yaml:"server"`
	Collector collector.Config `yaml:"collector"`
	History   historySection   `yaml:"history"`
	Brokers   []broker.Config  `yaml:"brokers"`
	Stores    []markers.Config `yaml:"stores"`
	Pipelines []pipeline       `yaml:"pipelines"`
	Alerts    alertsSection    `yaml:"alerts"`
	Auth      auth.Config      `yaml:"auth"`

	Admin deadletter.Config `yaml:"admin"`
}

// serverSection adds the directory that everything that lasts lives in.
type serverSection struct {
	server.Config `yaml:",inline"`
	DataDir       string `yaml:"data_dir"`
}

// historySection says how much history is kept.
type historySection struct {
	Retention Duration `yaml:"retention"`
	MaxSize   Size     `yaml:"max_size"`
}

// Load reads the file at path. Its error is Problems unless the file cannot be read.
func Load(path string) (*Config, error) {
	text, err := ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	return Parse(path, text)
}

// ReadFile reads a file that somebody wrote, and refuses one that is too large for that.
func ReadFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s is larger than %d MiB", path, maxFile>>20)
	}
	return text, err
}

// Parse reads a configuration from text; name stands for it in problems.
func Parse(name string, text []byte) (*Config, error) {
	var doc yaml.Node
	err := yaml.Unmarshal(text, &doc)
	c := newReport(name, &doc)
	if err != nil {
		c.addYAML(err)
		return nil, c.err()
	}
	raw := file{Server: serverSection{Config: server.DefaultConfig(), DataDir: "./data"}}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(&raw); err != nil && !errors.Is(err, io.EOF) {
		c.addYAML(err)
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		c.add("", "holds something after its YAML document; keep everything in one")
	}
	c.addEmpty()
	cfg := raw.build(c)
	if err := c.err(); err != nil {
		return nil, err
	}
	return cfg, nil
}

// build checks every section and composes the configuration.
func (f *file) build(c *report) *Config {
	c.addSecrets(f)
	cfg := &Config{
		Server: f.Server.Config, DataDir: filepath.Clean(f.Server.DataDir), Collector: f.Collector.WithDefaults(),
		Brokers: f.Brokers, Auth: f.Auth, Admin: f.Admin,
	}
	if f.Server.DataDir == "" {
		c.add("server.data_dir", "must not be empty; name a directory that the dashboard may write, as in ./data")
	}
	c.addErr("server", f.Server.Config.Validate())
	c.addErr("collector", f.Collector.Validate())
	cfg.History = f.history(c)
	checkEntries(c, "brokers", f.Brokers, func(b broker.Config) string { return b.Name }, broker.Config.Validate)
	f.checkStores(c)
	cfg.Stores = f.Stores
	cfg.Pipelines = f.buildPipelines(c)
	cfg.Scrapes = f.scrapes()
	cfg.Effects = f.buildEffectChecks(c)
	cfg.Alerts = f.Alerts.build(c)
	f.checkGroups(c)
	c.addErr("auth", f.Auth.Validate())
	c.addErr("admin", f.Admin.Validate())
	return cfg
}

func (f *file) history(c *report) series.Config {
	h := series.Config{
		Dir:       filepath.Join(f.Server.DataDir, "series"),
		Retention: time.Duration(f.History.Retention),
		MaxBytes:  int64(f.History.MaxSize),
		Interval:  f.Collector.WithDefaults().Interval,
	}
	c.addErr("history", h.Validate())
	return h
}

// checkEntries checks the entries of a list, of which each has a name of its own.
func checkEntries[T any](c *report, list string, entries []T, name func(T) string, check func(T) error) {
	names := map[string]int{}
	for i, e := range entries {
		path := c.entry(list, i, name(e))
		c.checkName(path, name(e), names, i)
		c.addErr(path, check(e))
	}
}

func (f *file) checkStores(c *report) {
	checkEntries(c, "stores", f.Stores, func(s markers.Config) string { return s.Name }, kinds.Validate)
	settled, open := kinds.Resolve(f.Stores)
	f.Stores = settled
	f.settleInserts(c)
	for _, err := range open {
		o, ok := errors.AsType[*kinds.Overlap](err)
		if !ok {
			c.addErr("stores", err)
			continue
		}
		at := func(i int) string {
			return c.entry("stores", o.Stores[i], f.Stores[o.Stores[i]].Name) + "." + o.Fields[i]
		}
		c.add(at(1), "%v (%s is line %d)", o, at(0), c.line(at(0)))
	}
}
