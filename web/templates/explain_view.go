package templates

import (
	"strconv"
	"strings"
)

// How tells how a duplicate rate was found: what each source says of it, best first.
type How struct {
	// Line is the whole in one sentence, which opens to the rows; empty when no source has spoken yet.
	Line string
	Rows []HowRow
	// Pipeline is the name under which consumers report, Store the name of the store. Reports and Listens ask for the lines that make a source speak.
	Pipeline string
	Store    string
	Reports  bool
	Listens  bool
	// Measured is what the last exact measurement found, and how far the live figure was off then.
	Measured Text
}

// A HowRow is one source.
type HowRow struct {
	Source string
	// Counts says what the source counts.
	Counts string
	Figure Figure
	N      string
	Age    Moment
	// Uses are the parts that the figure plays: shown, cross-check, disputed, in reserve, refused, agrees.
	Uses   []string
	Why    Text
	Better Text
}

// DuplicatesWhy explains the duplicates of one window: where they come from, and what is like them and is none.
type DuplicatesWhy struct {
	Window string
	// Origins are the parts of the bar; Sentence says it in words, Missing why there is no bar.
	Origins  []Origin
	Sentence string
	Missing  Text
	Hits     []Neighbour
	// Neighbours are counted apart and never added to the duplicates.
	Neighbours []Neighbour
}

// An Origin is a part of the duplicates. Left and Wide are percentages of the bar.
type Origin struct {
	Label string
	// Class is sent, again or either: that which may be the one or the other.
	Class  string
	Figure Figure
	Left   string
	Wide   string
}

// A Neighbour is a figure with its meaning, and a link where there is more to see.
type Neighbour struct {
	Label   string
	Meaning string
	Figure  Figure
	// Some says that there are some of them, which needs eyes.
	Some bool
	Href string
	Link string
}

// reportSnippet counts what became of a delivery; docs/consumers.md has all of the contract.
func reportSnippet(pipeline string) string {
	return strings.Join([]string{
		`def report(stats, outcome):`,
		`    """Counts what became of a delivery."""`,
		`    try:`,
		`        stats.hincrby(` + strconv.Quote("dedupstats:"+pipeline) + `, outcome, 1)`,
		`    except Exception:`,
		`        log.exception("not counted")  # never fail the message for it`,
	}, "\n")
}

// listenSnippet is what lets the events of a store come. Names stand whole and quoted, so that no name is another one to YAML.
func listenSnippet(store string) string {
	return strings.Join([]string{
		`redis-cli CONFIG SET notify-keyspace-events 'K$gxe'   # and in redis.conf, so that it lasts`,
		``,
		`stores:`,
		`  - name: ` + strconv.Quote(store),
		`    events: true   # beside the other keys of this store`,
		``,
		`dashboard check   # names the ACL rules that the account lacks, and what else is in the way`,
	}, "\n")
}
