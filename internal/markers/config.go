package markers

import (
	"cmp"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/codec"
	"dedup-dashboard/internal/markers/pace"
	"dedup-dashboard/internal/secret"
)

// Config describes one dedup store: where it is, how a marker is written, and how much of the store's time we may take.
// A preset fills every field of its kind; what the YAML sets wins over the preset.
type Config struct {
	Name   string `yaml:"name"`
	Preset string `yaml:"preset"`
	Kind   string `yaml:"kind"`
	Redis  Redis  `yaml:"redis"`
	// SQL, Table and Columns say where the markers of kind sql-table are.
	SQL     SQL     `yaml:"sql"`
	Table   string  `yaml:"table"`
	Columns Columns `yaml:"columns"`
	// Rows is markers where a row is nothing but a marker although it has columns beside Columns that every INSERT must name.
	// Empty means that such rows are taken for business rows, which are never cleared.
	Rows string `yaml:"rows"`
	// Retakes is never where no consumer takes a row again that it finds. Empty means that with OnFail keep one may, in place.
	Retakes string `yaml:"retakes"`
	// Transactional says that marker and work are written in one transaction: a marker in flight never shows.
	Transactional bool `yaml:"transactional"`
	// InsertFirst says that a consumer begins each delivery with exactly one INSERT of its row, before anything else, so that a
	// delivery that meets a row burns an id of Columns.AutoIncrement. InsertSettle is how long after an INSERT its row is
	// counted: twice the longest that processing takes, at least.
	InsertFirst  bool          `yaml:"insert_first"`
	InsertSettle time.Duration `yaml:"insert_settle"`
	// Terminal and Transitions declare the statuses of a business row: Transitions names for each status those that may
	// follow it. A row whose status is not terminal counts as stuck once it is older than StuckAfter.
	Terminal    []string            `yaml:"terminal"`
	Transitions map[string][]string `yaml:"transitions"`
	StuckAfter  time.Duration       `yaml:"stuck_after"`
	// Match is the Redis key pattern of the markers; Exclude lists patterns of keys that are not ours although they match.
	Match   string   `yaml:"match"`
	Exclude []string `yaml:"exclude"`
	// ID is a regular expression with one group that takes the message id out of a key. Empty means that the literal
	// beginning of Match is stripped, as where the YAML has a match of its own and no id: a preset's id is for its own match.
	ID string `yaml:"id"`
	// Underived says that an id which the YAML leaves to Match does not follow from it. UnmarshalYAML sets it.
	Underived bool `yaml:"-"`
	// Fields says which fields of a hash tell what of a marker of kind redis-hash.
	Fields Fields `yaml:"fields"`
	// Key says how keys are encoded. Match, Exclude, ID and Retry.Match speak of keys after decoding.
	Key   codec.Key   `yaml:"key"`
	Value codec.Value `yaml:"value"`
	// States lists the values of each state, after decoding. The word any as a value of present stands for every value
	// that no other state lists.
	States map[dedup.State][]string `yaml:"states"`
	// Mark is before or after: whether a marker is first written before or after the work.
	Mark  string `yaml:"mark"`
	TTL   TTL    `yaml:"ttl"`
	Retry Retry  `yaml:"retry"`
	// OnInFlight is ack, nack or wait, OnFail delete, keep or ack: what consumers do.
	OnInFlight string `yaml:"on_inflight"`
	OnFail     string `yaml:"on_fail"`
	// OnFailed is what a consumer does with a delivery whose marker is failed: ack, nack, or run, which takes the marker again.
	// Empty means the same as OnInFlight, and ack where consumers wait: a consumer that finds a marker of any kind leaves it.
	OnFailed string `yaml:"on_failed"`
	// Acks is each or batch: each where a consumer settles every delivery of a channel before it takes up the next one, batch
	// where it works on several at once, or acks several at once. Empty means that it is not known, as batch.
	Acks string `yaml:"acks"`
	// Unasked is true where consumers ack some messages without asking for their marker, as those of other types or with a body that cannot be read.
	Unasked bool `yaml:"unasked"`
	// Events is true where the store's notifications are to be followed (Redis keyspace notifications, K$gxe). Ask is the
	// command that consumers send exactly once for each delivery to ask whether they may work, as SETNX; empty where there is
	// none or it is not known.
	Events bool       `yaml:"events"`
	Ask    string     `yaml:"ask"`
	Sweep  pace.Sweep `yaml:"sweep"`
	Act    Act        `yaml:"act"`
	// Yields are the keys that a more specific store of the same database takes. Resolve fills them.
	Yields []Yield `yaml:"-"`
}

// A Yield is a part of a store's keys that belongs to another store, whose pattern is more specific.
type Yield struct {
	// Field is match or retry.match: what would have claimed the keys.
	Field string
	// Pattern and Except are patterns of raw keys: the other store has those that match Pattern and none of Except.
	Pattern string
	Except  []string
	// To is the name of the other store, Claim what it wrote: match "msg:dedup:*".
	To    string
	Claim string
}

// Redis says how to reach a Redis server.
type Redis struct {
	// URL is redis://user:password@host:port/db, rediss:// for TLS, or unix://.
	URL secret.Secret `yaml:"url"`
	// CAFile is a PEM file with the authorities that may sign the server's certificate; empty means the system's.
	CAFile string `yaml:"ca_file"`
	// CertFile and KeyFile are our own certificate and key, for servers that ask for one.
	CertFile string `yaml:"cert_file"`
	KeyFile  string `yaml:"key_file"`
	// ServerName is the name that the server's certificate must carry; empty means the host of the URL.
	ServerName string `yaml:"server_name"`
	// Sentinel finds the server by its Sentinels; the host of the URL is then of no use.
	Sentinel Sentinel `yaml:"sentinel"`
	// Cluster are host:port of some nodes of a Redis Cluster, which tell the others; the host of the URL is then of no use.
	Cluster []string `yaml:"cluster"`
}

// Sentinel says which Sentinels know where a primary is, so that fail-overs are followed.
type Sentinel struct {
	// Master is the name that the Sentinels monitor it by.
	Master string `yaml:"master"`
	// Addresses are host:port of each Sentinel.
	Addresses []string `yaml:"addresses"`
	// Username and Password are those of the Sentinels, empty where they ask for none.
	Username string        `yaml:"username"`
	Password secret.Secret `yaml:"password"`
}

// IsZero reports whether no Sentinels are asked.
func (s Sentinel) IsZero() bool {
	return s.Master == "" && len(s.Addresses) == 0 && s.Username == "" && s.Password.IsZero()
}

// Fields names the fields of a hash that is a marker. No other field is read by a pass; Time and Owner may be empty.
type Fields struct {
	Status string `yaml:"status"`
	// Time holds since when the marker is in its state, in TimeUnit since 1970: s or ms.
	Time     string `yaml:"time"`
	TimeUnit string `yaml:"time_unit"`
	// Owner names the consumer that wrote the marker.
	Owner string `yaml:"owner"`
}

// TTL holds the times to live that consumers set. Done markers are recognised by a remaining life above Processing, and
// dated by their expiry minus Done, so both must be what the consumers use. Present markers live for Done, locks for
// Processing, which is their lease.
type TTL struct {
	Processing time.Duration `yaml:"processing"`
	Done       time.Duration `yaml:"done"`
}

// Retry describes the retry counters of a scheme that gives up; an empty Match means that there are none.
type Retry struct {
	Match string `yaml:"match"`
	// GiveUp is the count from which a message is acked without its work.
	GiveUp int           `yaml:"give_up"`
	TTL    time.Duration `yaml:"ttl"`
}

// Act holds the credentials for changing markers. They are never used for watching.
type Act struct {
	Redis Redis `yaml:"redis"`
	SQL   SQL   `yaml:"sql"`
}

// UnmarshalYAML lays the YAML over the preset that it names. The signature is one of the two that YAML packages look
// for, and the one under which unknown keys are still refused.
func (c *Config) UnmarshalYAML(unmarshal func(any) error) error {
	var named map[string]any
	if err := unmarshal(&named); err != nil {
		return err
	}
	name, _ := named["preset"].(string)
	// Validate names an unknown preset together with all other problems.
	preset, known := Preset(name)
	if known {
		*c = preset
	}
	type plain Config
	if err := unmarshal((*plain)(c)); err != nil {
		return err
	}
	if c.Kind == SQLTable && c.Transactional {
		c.inOneTransaction(named)
	}
	// A preset without a match of its own has an id for every match.
	if named["id"] == nil && preset.Match != "" && c.Match != preset.Match {
		c.ID, c.Underived = "", !codec.ParseGlob(c.Match).Simple
	}
	return nil
}

// inOneTransaction says what follows for consumers from marker and work in one transaction, where the YAML does not: a second delivery waits
// for the row of the first, and a failure takes the row away.
func (c *Config) inOneTransaction(named map[string]any) {
	if named["on_inflight"] == nil && c.OnInFlight != "" {
		c.OnInFlight = InFlightWait
	}
	if named["on_fail"] == nil {
		c.OnFail = "delete"
	}
}

// WithDefaults fills the fields that have a sound default in every scheme.
func (c Config) WithDefaults() Config {
	if c.Kind == SQLTable {
		c.InsertSettle = cmp.Or(c.InsertSettle, defaultInsertSettle)
	}
	d := defaultSweep(c.Kind)
	c.Sweep.Duty, c.Sweep.Count, c.Sweep.Every = cmp.Or(c.Sweep.Duty, d.Duty), cmp.Or(c.Sweep.Count, d.Count), cmp.Or(c.Sweep.Every, d.Every)
	c.Key.Codec, c.Value.Codec = cmp.Or(c.Key.Codec, codec.Raw), cmp.Or(c.Value.Codec, codec.Raw)
	c.Value.TimeUnit = cmp.Or(c.Value.TimeUnit, codec.Millis)
	if c.Act.Redis.Sentinel.IsZero() && len(c.Act.Redis.Cluster) == 0 { // whoever acts has another account at the same servers
		c.Act.Redis.Sentinel, c.Act.Redis.Cluster = c.Redis.Sentinel, c.Redis.Cluster
	}
	return c
}

// The kinds of stores.
const (
	// RedisString keeps each marker in a Redis string of its own.
	RedisString = "redis-string"
	// RedisHash keeps each marker in a Redis hash of its own.
	RedisHash = "redis-hash"
	// RedisLock holds locks: a Redisson hash, or a string with a token, for as long as a message is being worked on.
	RedisLock = "redis-lock"
	// SQLTable keeps each marker in a row of a table.
	SQLTable = "sql-table"
)

// defaultInsertSettle is how long after an INSERT its row is counted, unless the configuration says otherwise.
const defaultInsertSettle = time.Minute
