package act

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/codec"
	"dedup-dashboard/internal/markers/sql"
	"dedup-dashboard/internal/markers/sql/dialect"
)

// knownFor is how long the description of a table is used: asking again for every row would open every table that may
// refer to it. That its columns are still the same is seen for every row.
const knownFor = 30 * time.Second

// knownTable is what the catalogue of a server said of the table.
type knownTable struct {
	server string
	at     time.Time
	table  *dialect.Table
	traits rowTraits
	// watched is the table that the watching account reads; nil before it was asked for.
	watched *sql.Identity
}

// rowTraits is what the catalogue says of a table that only matters for writing.
type rowTraits struct {
	// generated columns are computed by the server and cannot be written.
	generated map[string]bool
	// refreshed columns are set by the server at every UPDATE that does not set them.
	refreshed map[string]bool
	// hidden columns are left out of SELECT *.
	hidden map[string]bool
	// automatic columns are numbered by the server: a new row has another number.
	automatic map[string]bool
	// required columns take no NULL and have no default: who inserts a row must name them.
	required []string
	// obstacle says why rows cannot be deleted and restored safely; empty if they can.
	obstacle string
}

// recall returns the description of the table if it is of this server and recent.
func (a *actor) recall(server string) *knownTable {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known == nil || a.known.server != server || time.Since(a.known.at) > knownFor {
		return nil
	}
	known := *a.known
	return &known
}

// remember keeps a description; nil forgets the last one.
func (a *actor) remember(known *knownTable) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.known = known
}

// reshaped says whether an error may mean that the table, or a right on it, is not what is remembered.
func (a *actor) reshaped(err error) bool {
	if errors.Is(err, errTableChanged) {
		return true
	}
	refusal := a.d.Refusal(err)
	return refusal.Answered() && (refusal.Absent || refusal.Denied || a.d.fault(err) == faultOther)
}

// describe makes ready what is known of the table, if it is the one that was read and may be written to.
func (r *rowAct) describe(ctx context.Context, server dialect.Server) error {
	known := r.actor.recall(server.ID)
	if known == nil {
		var err error
		if known, err = r.catalogue(ctx, server); err != nil {
			return err
		}
	}
	read, err := r.readFrom(ctx, known)
	if err != nil {
		return err
	}
	if why := read.Elsewhere(sql.IdentityOf(server, known.table)); why != "" {
		return rowRefusal(why)
	}
	server.Zone = read.Zone
	// The layout notes in the table along which index it is walked: every action has a copy of its own.
	table := *known.table
	layout, err := sql.NewLayout(r.actor.cfg, r.d, server, &table)
	if err != nil {
		return rowRefusal(dedup.PublicText(err))
	}
	r.layout, r.traits = layout, known.traits
	if why := cmp.Or(r.traits.obstacle, r.business()); why != "" {
		return rowRefusal(why)
	}
	r.actor.remember(known)
	values, err := sql.DecodeKey(r.seen.Key, len(layout.Key))
	if err != nil {
		return rowRefusal(err.Error())
	}
	for _, v := range values {
		r.key = append(r.key, v)
	}
	return nil
}

// catalogue asks the server what it knows of the table.
func (r *rowAct) catalogue(ctx context.Context, server dialect.Server) (*knownTable, error) {
	table, err := r.d.Describe(ctx, r.conn, r.actor.cfg.Table)
	if errors.Is(err, dialect.ErrNoTable) {
		return nil, rowRefusal("the acting account sees no table " + codec.Printable(r.actor.cfg.Table) + ": " + r.d.actGrant(r.actor, nil))
	}
	if err != nil {
		return nil, err
	}
	traits, err := r.d.traits(ctx, r.conn, table)
	if err != nil {
		return nil, err
	}
	return &knownTable{server: server.ID, at: time.Now(), table: table, traits: traits}, nil
}

// readFrom returns from which table the row was read. An undo outlives failovers, so that its image may be of a server
// that is no more: there the watching account is asked which table it reads now.
func (r *rowAct) readFrom(ctx context.Context, known *knownTable) (sql.Identity, error) {
	if !r.undo {
		read, ok := sql.ReadIdentity(r.seen.Server)
		if !ok {
			return read, rowRefusal("another server answers, or it is not known which table was read: look at the marker again")
		}
		return read, nil
	}
	if known.watched != nil {
		return *known.watched, nil
	}
	read, err := r.actor.watched(ctx)
	if err != nil {
		return read, &ended{Result: dedup.NotDone, Text: "the watching account cannot say which table it reads, and nothing was restored: " + codec.Printable(err.Error())}
	}
	known.watched = &read
	return read, nil
}

// watched asks the watching account which table it reads.
func (a *actor) watched(ctx context.Context) (sql.Identity, error) {
	ctx, cancel := context.WithTimeout(ctx, statementLimit)
	defer cancel()
	server, err := a.d.Server(ctx, a.watch)
	if err != nil {
		return sql.Identity{}, err
	}
	table, err := a.d.Describe(ctx, a.watch, a.cfg.Table)
	if err != nil {
		return sql.Identity{}, err
	}
	server.Zone = cmp.Or(a.zone, server.Zone)
	if !dialect.ZonePattern.MatchString(server.Zone) {
		return sql.Identity{}, errors.New("its time zone " + codec.Printable(server.Zone) + " is none")
	}
	return sql.IdentityOf(server, table), nil
}

// business says why the rows of the table are more than markers; empty where the configuration says that they are not.
func (r *rowAct) business() string {
	if r.actor.cfg.Rows == markers.RowsMarkers {
		return ""
	}
	known := map[string]bool{r.actor.cfg.Columns.AutoIncrement: true}
	for _, c := range r.layout.Watched {
		known[c.Name] = true
	}
	more := slices.DeleteFunc(slices.Clone(r.traits.required), func(name string) bool { return known[name] })
	if len(more) == 0 {
		return ""
	}
	return "a row holds more than a marker, which every INSERT must name: " + describeColumns(more) +
		". Clearing it would delete the work too. If the rows are nothing but markers, write rows: markers for the store"
}

// allColumns makes sure that the table has the columns that are known, and that the account may read them all: an image
// without one would not be the row. It reads no row. Once a row is locked, columns can no longer change.
func (r *rowAct) allColumns(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, statementLimit)
	defer cancel()
	rows, err := r.tx.QueryContext(ctx, "SELECT * FROM "+r.table()+" LIMIT 0")
	if err != nil {
		return err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	visible := 0
	for _, c := range r.layout.Table.Columns {
		if slices.Contains(names, c.Name) {
			visible++
		} else if !r.traits.hidden[c.Name] {
			return errTableChanged
		}
	}
	if visible < len(names) {
		return errTableChanged
	}
	return rows.Err()
}

// errTableChanged refuses one action: the next one reads the description of the table again.
const errTableChanged = rowRefusal("the columns of the table changed at this moment: nothing was done, try again")

// where is the condition for the row by its primary key, whose values are the first arguments.
func (r *rowAct) where() string { return dialect.Equals(r.d, r.layout.Key, 1) }

func (r *rowAct) table() string { return r.layout.Table.Quoted(r.d) }

// writable are the columns that are not computed by the server.
func (r *rowAct) writable() []dialect.Column {
	return slices.DeleteFunc(slices.Clone(r.layout.Table.Columns), func(c dialect.Column) bool { return r.traits.generated[c.Name] })
}
