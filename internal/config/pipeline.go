package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/exports"
	"dedup-dashboard/internal/markers/sql/effect"
	"dedup-dashboard/internal/message"
)

// pipeline is one entry of the section `pipelines`.
type pipeline struct {
	Name             string            `yaml:"name"`
	Broker           string            `yaml:"broker"`
	Vhost            string            `yaml:"vhost"`
	Queues           []string          `yaml:"queues"`
	Store            string            `yaml:"store"`
	Lock             string            `yaml:"lock"`
	DeadLetterQueues deadLetterQueues  `yaml:"dead_letter_queues"`
	Reported         reported          `yaml:"reported"`
	ID               identity          `yaml:"id"`
	MaxProcessing    Duration          `yaml:"max_processing"`
	Labels           map[string]string `yaml:"labels"`
	Limits           limits            `yaml:"limits"`

	EffectCheck *effect.Config `yaml:"effect_check"`
}

// reported says where the counters are that the consumers report.
type reported struct {
	Store      string          `yaml:"store"`
	Prometheus *exports.Config `yaml:"prometheus"`
}

// identity says where a message's id comes from.
type identity struct {
	From string `yaml:"from"`
}

// deadLetterQueues is the word auto, or a list of queues.
type deadLetterQueues struct {
	auto   bool
	queues []string
}

// UnmarshalYAML reads auto or a list.
func (d *deadLetterQueues) UnmarshalYAML(unmarshal func(any) error) error {
	var word string
	if err := unmarshal(&word); err == nil && word == "auto" {
		d.auto = true
		return nil
	}
	return unmarshal(&d.queues)
}

// limits are the tier limits; a nil field leaves the default.
type limits struct {
	DuplicateRate rateLimits    `yaml:"duplicate_rate"`
	AckLatency    latencyLimits `yaml:"ack_latency"`
	MinMessages   *float64      `yaml:"min_messages"`
	MinDuplicates *float64      `yaml:"min_duplicates"`
	Window        *Duration     `yaml:"window"`
}

type rateLimits struct {
	Warning   *Percent `yaml:"warning"`
	Severe    *Percent `yaml:"severe"`
	Emergency *Percent `yaml:"emergency"`
}

type latencyLimits struct {
	Warning *Duration `yaml:"warning"`
	Severe  *Duration `yaml:"severe"`
}

var validName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]*$`)

// defaultMaxProcessing is what processing takes at most unless configured.
const defaultMaxProcessing = 30 * time.Second

// checkName records a name that breaks the rule or stands twice.
func (c *report) checkName(path, name string, seen map[string]int, i int) {
	if !validName.MatchString(name) {
		c.add(path+".name", "%q is not a name; use lower case letters, digits and . _ -, beginning with a letter or digit", name)
		return
	}
	if first, twice := seen[name]; twice {
		c.add(path+".name", "%q is already the name of entry [%d]; names are unique", name, first)
		return
	}
	seen[name] = i
}

func (f *file) buildPipelines(c *report) []dedup.Pipeline {
	base := f.Alerts.Limits.over(dedup.DefaultLimits())
	if !c.checkLimits("alerts.limits", base) {
		base = dedup.DefaultLimits() // a mistake there is none of each pipeline
	}
	if len(f.Brokers) == 0 && len(f.Pipelines) > 0 && len(c.names("brokers")) == 0 {
		c.addUnread("brokers", "is missing; name the RabbitMQ clusters whose queues the pipelines watch")
	}
	seen := map[string]int{}
	built := make([]dedup.Pipeline, 0, len(f.Pipelines))
	for i, p := range f.Pipelines {
		path := c.entry("pipelines", i, p.Name)
		c.checkName(path, p.Name, seen, i)
		built = append(built, f.buildPipeline(c, path, p, base))
	}
	return built
}

func (f *file) buildPipeline(c *report, path string, p pipeline, base dedup.Limits) dedup.Pipeline {
	if p.Vhost == "" {
		p.Vhost = "/"
	}
	if p.ID.From == "" {
		p.ID.From = "message_id"
	}
	p.MaxProcessing = Duration(p.longestWork())
	if p.Broker == "" && len(f.Brokers) == 1 {
		p.Broker = f.Brokers[0].Name
	}
	if p.Reported.Store == "" && p.Reported.Prometheus == nil {
		p.Reported.Store = p.Store
	}
	f.checkPipeline(c, path, p)
	from := p.Reported.Store
	if p.Reported.Prometheus != nil {
		from = ScrapeName(p.Name)
	}
	l := p.Limits.over(base)
	c.checkLimits(path+".limits", l)
	return dedup.Pipeline{
		Name: p.Name, Broker: p.Broker, Vhost: p.Vhost, Queues: p.Queues, Store: p.Store, Lock: p.Lock,
		DeadLetterQueues: p.DeadLetterQueues.queues, DiscoverDeadLetters: p.DeadLetterQueues.auto || p.DeadLetterQueues.queues == nil,
		ReportedStore: from, IDFrom: p.ID.From, MaxProcessing: time.Duration(p.MaxProcessing),
		Labels: p.Labels, Limits: l,
	}
}

// ScrapeName names the source of the counters that the consumers of a pipeline publish themselves. No store can have it.
func ScrapeName(pipeline string) string { return "Prometheus of " + pipeline }

// checkReported records what is wrong with the place of the reported counters.
func (f *file) checkReported(c *report, path string, p pipeline, stores bool) {
	switch r := p.Reported; {
	case r.Prometheus != nil && r.Store != "":
		c.add(path+".reported", "names a store and Prometheus; consumers count in one of them: leave the other out")
	case r.Prometheus != nil:
		c.addErr(path+".reported.prometheus", r.Prometheus.Validate())
	case stores && r.Store != "" && r.Store != p.Store && !slices.Contains(c.names("stores"), r.Store):
		c.add(path+".reported.store", "no store is called %q; name one of the section stores", r.Store)
	}
}

// scrapes are the endpoints of the consumers by the name of their source.
func (f *file) scrapes() map[string]exports.Config {
	all := map[string]exports.Config{}
	for _, p := range f.Pipelines {
		if p.Reported.Prometheus != nil {
			c := *p.Reported.Prometheus
			if c.Queues == nil {
				c.Queues = p.Queues
			}
			all[ScrapeName(p.Name)] = c
		}
	}
	return all
}

func (f *file) checkPipeline(c *report, path string, p pipeline) {
	// A section that could not be read, or is missing, has its own problem.
	brokers, stores := !within("brokers", c.unread), !within("stores", c.unread)
	switch {
	case !brokers:
	case p.Broker == "" && len(c.names("brokers")) != 1:
		c.add(path+".broker", "is missing; there are several brokers: name one of them")
	case p.Broker != "" && !slices.Contains(c.names("brokers"), p.Broker):
		c.add(path+".broker", "no broker is called %q; name one of the section brokers", p.Broker)
	}
	if stores && p.Store != "" && !slices.Contains(c.names("stores"), p.Store) {
		c.add(path+".store", "no store is called %q; name one of the section stores, or leave it out for a scheme without markers", p.Store)
	}
	if stores && p.Lock != "" {
		f.checkLock(c, path+".lock", p)
	}
	f.checkReported(c, path, p, stores)
	if len(p.Queues) == 0 {
		c.add(path+".queues", "must name at least one queue that the consumers read")
	}
	seen := map[string]bool{}
	for i, q := range p.Queues {
		if q == "" || seen[q] {
			c.add(fmt.Sprintf("%s.queues[%d]", path, i), "%q is empty or stands twice; name each queue once", q)
		}
		seen[q] = true
	}
	if _, err := message.ParseIDSource(p.ID.From); err != nil {
		c.add(path+".id.from", "%v", err)
	}
	for label := range p.Labels {
		if !validName.MatchString(label) {
			c.add(path+".labels", "%q is not a label; use lower case letters, digits and . _ -", label)
		}
	}
}

// checkLock records what is wrong with the lock that stands beside the markers of a pipeline.
func (f *file) checkLock(c *report, path string, p pipeline) {
	i := slices.IndexFunc(f.Stores, func(s markers.Config) bool { return s.Name == p.Lock })
	switch {
	case !slices.Contains(c.names("stores"), p.Lock):
		c.add(path, "no store is called %q; name one of the section stores whose kind is redis-lock", p.Lock)
	case p.Store == "":
		c.add(path, "%q stands without store: name the store of the markers there; for a scheme of locks alone write store: %s and leave lock out", p.Lock, p.Lock)
	case p.Store == p.Lock:
		c.add(path, "%q is the store of the markers too: name there what says that work is done, or leave lock out", p.Lock)
	case i >= 0 && f.Stores[i].Kind != "" && !f.Stores[i].Scheme().Lock:
		c.add(path, "%q holds no locks but is of kind %s: name a store with preset redisson-lock or redis-token-lock", p.Lock, f.Stores[i].Kind)
	}
	if j := slices.IndexFunc(f.Stores, func(s markers.Config) bool { return s.Name == p.Store }); j >= 0 && p.Store != p.Lock && f.Stores[j].Scheme().Lock {
		c.add(strings.TrimSuffix(path, ".lock")+".store", "%q is a lock beside a lock: name the store of the markers, which say that work is done", p.Store)
	}
}

// buildEffectChecks gives each effect check its connection.
func (f *file) buildEffectChecks(c *report) []effect.Config {
	var built []effect.Config
	for i, p := range f.Pipelines {
		if p.EffectCheck == nil {
			continue
		}
		path := c.entry("pipelines", i, p.Name) + ".effect_check"
		check := p.EffectCheck.WithDefaults()
		check.Pipeline = p.Name
		if check.Store != "" && !f.effectStore(c, path, &check) {
			continue
		}
		c.addErr(path, check.Validate())
		built = append(built, check)
	}
	return built
}

// effectStore takes over the connection of the store that an effect check names, and reports whether it has one.
func (f *file) effectStore(c *report, path string, check *effect.Config) bool {
	if within("stores", c.unread) {
		return false
	}
	if check.SQL.Driver != "" || !check.SQL.DSN.IsZero() {
		c.add(path+".store", "stands beside sql; keep one of them: the connection of a store, or one of the check's own")
		return false
	}
	for _, s := range f.Stores {
		if s.Name != check.Store {
			continue
		}
		if s.SQL.Driver == "" {
			c.add(path+".store", "%q keeps no table; name a store of kind sql-table, or write sql: {driver, dsn}", check.Store)
			return false
		}
		check.SQL = s.SQL
		// What is wrong with the connection is said at the store.
		return !s.SQL.DSN.IsZero() && s.SQL.DSN.Err() == nil
	}
	c.add(path+".store", "no store is called %q; name one of the section stores, or write sql: {driver, dsn}", check.Store)
	return false
}

// override puts a value that is set in the place of another one.
func override[T any](to, set *T) {
	if set != nil {
		*to = *set
	}
}

// over lays the limits that are set over others.
func (l limits) over(base dedup.Limits) dedup.Limits {
	ratio := func(to *float64, v *Percent) { override(to, (*float64)(v)) }
	seconds := func(to *float64, v *Duration) {
		if v != nil {
			*to = time.Duration(*v).Seconds()
		}
	}
	ratio(&base.DuplicateWarning, l.DuplicateRate.Warning)
	ratio(&base.DuplicateSevere, l.DuplicateRate.Severe)
	ratio(&base.DuplicateEmergency, l.DuplicateRate.Emergency)
	seconds(&base.LatencyWarning, l.AckLatency.Warning)
	seconds(&base.LatencySevere, l.AckLatency.Severe)
	override(&base.MinMessages, l.MinMessages)
	override(&base.MinDuplicates, l.MinDuplicates)
	override(&base.Window, (*time.Duration)(l.Window))
	return base
}

// checkLimits records what is wrong with limits, and reports whether nothing is.
func (c *report) checkLimits(path string, l dedup.Limits) bool {
	before := len(c.problems)
	l.Check(func(field, why string) { c.add(path+"."+field, "%s", why) })
	return len(c.problems) == before
}
