package sql

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/codec"
	"dedup-dashboard/internal/markers/pace"
	"dedup-dashboard/internal/markers/sql/dialect"
)

// Check looks for the table and its columns first: with one of them missing or denied there is nothing to count, and the
// report says so. Its samples are the last rows in the order of the primary key.
func (s *store) Check(ctx context.Context, n int) (markers.Report, error) {
	var r markers.Report
	conn, err := s.table.db.Conn(ctx)
	if err != nil {
		return r, s.table.explain.Explain(err)
	}
	defer conn.Close()
	server, err := s.table.dialect.Server(ctx, conn)
	if err != nil {
		return r, s.table.explain.Explain(err)
	}
	r.Server = server.Version + ", " + server.Role()
	layout, err := s.table.prepare(ctx, conn)
	var problem *dedup.Error
	if errors.As(err, &problem) {
		r.Findings = append(r.Findings, layoutFinding(problem))
		return r, nil
	}
	if err != nil {
		return r, s.table.explain.Explain(err)
	}
	if r.Missing, err = s.missingGrants(ctx, conn, layout); err != nil || len(r.Missing) > 0 {
		return r, s.table.explain.Explain(err)
	}
	w := s.newWalk(nil)
	w.limit = pace.CheckKeys
	if err := w.run(ctx); err != nil {
		return r, s.table.explain.Explain(err)
	}
	r.Pass, r.Coverage, r.Keys = w.tally.pass, w.checked(), w.tally.pass.Examined
	if estimate := layout.Table.Estimate; estimate != nil {
		r.Keys = max(r.Keys, *estimate)
	}
	if r.Samples, err = s.newest(ctx, conn, layout, n); err != nil {
		return r, s.table.explain.Explain(err)
	}
	r.Unmapped, r.Remedy = s.table.cfg.SuggestRows(r.Examples(n))
	r.Findings = append(sqlFindings(s.table.cfg, layout, w), s.waitsFinding(ctx, conn, layout)...)
	r.Findings = append(r.Findings, s.insertsFinding(ctx, conn, layout)...)
	r.Findings = append(r.Findings, s.statementsFinding(ctx, conn, layout)...)
	return r, nil
}

// checked is the share of the table that a walk with a limit has covered: all of it if it came to the end.
func (w *walk) checked() float64 {
	if w.tally.pass.Examined < w.limit || w.looking {
		return 1
	}
	return w.coverage()
}

func layoutFinding(problem *dedup.Error) dedup.Finding {
	f := dedup.Finding{Kind: "column_missing", Tier: dedup.Severe, Text: "The table is not as the configuration says: no marker can be read.",
		Evidence: problem.Public, Remedy: "Correct columns and table, or add a primary key."}
	if errors.Is(problem, dialect.ErrNoTable) {
		f.Kind, f.Text, f.Remedy = "table_missing", "The table of the markers is not there: no marker can be read.",
			"Correct table and the database in sql.dsn, or grant SELECT on the table to the account."
	}
	return f
}

// missingGrants reads nothing of each column that watching needs, which asks for the right alone.
func (s *store) missingGrants(ctx context.Context, conn *sql.Conn, l *Layout) ([]string, error) {
	var denied []string
	for _, c := range l.Watched {
		query := s.table.dialect.Quote(c.Name) + " FROM " + l.Table.Quoted(s.table.dialect) + " LIMIT 0"
		_, err := l.read(ctx, conn, query, nil, func([]sql.RawBytes) error { return nil })
		if s.table.dialect.Refusal(err).Denied {
			denied = append(denied, c.Name)
		} else if err != nil {
			return nil, err
		}
	}
	if len(denied) == 0 {
		return nil, nil
	}
	return s.table.dialect.Grants(ctx, conn, denied, l.Table, l.Server), nil
}

// newest returns the last n rows in the order of the primary key.
func (s *store) newest(ctx context.Context, conn *sql.Conn, l *Layout, n int) ([]dedup.Marker, error) {
	query := l.Selection(false) + " FROM " + s.table.dialect.FromTable(l.Table) + l.ordered(" DESC") + " LIMIT " + strconv.Itoa(n)
	var all []dedup.Marker
	_, err := l.read(ctx, conn, query, nil, func(values []sql.RawBytes) error {
		if r := l.Row(values); r.hasID() {
			all = append(all, l.marker(r))
		}
		return nil
	})
	return all, err
}

func (s *store) waitsFinding(ctx context.Context, conn *sql.Conn, l *Layout) []dedup.Finding {
	_, err := s.table.dialect.Waits(ctx, conn, l.Table, l.Server)
	if !errors.Is(err, dialect.ErrHidden) {
		return nil
	}
	return []dedup.Finding{{Kind: "lock_waits_hidden", Tier: dedup.Warning, Text: "The account may not see lock waits: sessions that hold up others are not shown.",
		Evidence: "account " + codec.Printable(l.Server.Account), Remedy: s.table.dialect.WaitsGrant(l.Server.Account)}}
}

// insertsFinding says why the ids of inserts cannot be counted, where the configuration lets them be.
func (s *store) insertsFinding(ctx context.Context, conn *sql.Conn, l *Layout) []dedup.Finding {
	if s.inserts == nil || insertRefusal(s.table.cfg) != "" {
		return nil
	}
	var id autoID
	column, why := l.autoColumn()
	if why == "" {
		var err error
		if id, err = s.inserts.dialect.autoID(ctx, conn, l, column); err != nil {
			id.why = "ids cannot be counted: " + s.inserts.describe(err)
		}
		why = id.why
	}
	if why == "" {
		return nil
	}
	remedy := "See what the id gap needs in docs/figures.md; without it the rate comes from another source, or cannot be told."
	if id.grant != "" {
		why, remedy = strings.TrimSuffix(why, ": "+id.grant), id.grant
	}
	return []dedup.Finding{{Kind: "inserts_not_counted", Tier: dedup.Warning, Text: "The id gap cannot tell the duplicate rate of this table.", Evidence: why, Remedy: remedy}}
}

// statementsFinding says why the server's counts of statements cannot be read.
func (s *store) statementsFinding(ctx context.Context, conn *sql.Conn, l *Layout) []dedup.Finding {
	if s.statements == nil || s.Scheme().Refuses(dedup.MethodStoreHits) != "" {
		return nil
	}
	r := newStatementReader(s.table)
	source, err := r.dialect.statements(ctx, conn, l)
	if err == nil && source.why == "" {
		_, err = r.read(ctx, conn, l, source)
	}
	why, remedy := source.why, source.better
	if s.table.dialect.Refusal(err).Denied {
		why, remedy = "the account may not read what the server counts of statements", r.dialect.statementGrants(l.Server.Account)
	} else if err != nil {
		why, remedy = s.table.explain.Describe(err), "See store hits in docs/figures.md."
	}
	if why == "" {
		return nil
	}
	return []dedup.Finding{{Kind: "statements_not_counted", Tier: dedup.Normal, Text: "Store hits cannot tell the duplicate rate of this table.", Evidence: why, Remedy: remedy}}
}

func sqlFindings(c markers.Config, l *Layout, w *walk) []dedup.Finding {
	var all []dedup.Finding
	add := func(kind string, tier dedup.Tier, text, evidence, remedy string) {
		all = append(all, dedup.Finding{Kind: kind, Tier: tier, Text: text, Evidence: evidence, Remedy: remedy})
	}
	pass := w.tally.pass
	for i := range l.IDs {
		if id := l.IDs[i]; !l.Table.Indexed(&id) && i == 0 {
			add("id_not_indexed", dedup.Severe, "No index begins with the id column: consumers find their markers slowly, and single markers cannot be looked up.",
				"column "+id.Name, "Create a unique index on the id column: without one, two deliveries at once are both first.")
		}
		if id := l.IDs[i]; slices.ContainsFunc(id.Ignores, func(d dedup.IDDifference) bool { return d != dedup.BlanksDiffer }) {
			add("id_ignores_case", dedup.Warning, "The id column takes ids that differ in "+ignoredBy(id)+" for the same: one of two such messages is never processed.",
				"column "+id.Name+", collation "+cmp.Or(id.Collation, "of type "+id.Type), "Give the column a binary collation, such as utf8mb4_bin; in PostgreSQL the type text with a deterministic collation.")
		}
	}
	if e := strings.ToLower(l.Table.Engine); e != "" && e != "innodb" {
		add("table_without_transactions", dedup.Severe, "The table's engine has no transactions: reading it locks writers out, and a crash can leave half of the work.",
			"engine "+l.Table.Engine, "ALTER TABLE … ENGINE=InnoDB.")
	}
	if pass.Matched == 0 {
		add("no_markers", dedup.Warning, "The table holds no marker.", fmt.Sprintf("%d rows examined", pass.Examined), "Check table and columns.id.")
	}
	if n := pass.States[dedup.StateUnknown]; n > 0 {
		add("markers_undecodable", dedup.Warning, "Some rows have a status that the configuration does not know.",
			fmt.Sprintf("%d of %d", n, pass.Matched), "Add the statuses to states, or to terminal and transitions.")
	}
	if n := w.tally.nullIDs; n > 0 {
		add("null_ids", dedup.Severe, "Some rows have no id: a unique key admits any number of them, so nothing is deduplicated there.",
			fmt.Sprintf("%d of %d rows examined", n, pass.Examined), "Declare the id column NOT NULL, and find the publisher that leaves the id out.")
	}
	if n := w.tally.future; n > 0 {
		add("times_in_the_future", dedup.Severe, "Some rows changed in the future: they were written in another time zone, or by another clock.",
			fmt.Sprintf("%d of %d", n, pass.Matched), "Set the zone of the consumers' sessions in sql.dsn, such as time_zone=%27%2B08%3A00%27 (MySQL) or timezone=Asia/Shanghai (PostgreSQL).")
	}
	if l.Created == nil && l.Updated == nil {
		add("rows_undated", dedup.Warning, "No column says when a row was made or changed: ages and completions are unknown.",
			"columns.created and columns.updated are empty", "Name a time column, or add one.")
	}
	return all
}
