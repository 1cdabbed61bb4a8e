package journal

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
)

// The expressions of the indexes on the audit; they must be written as there.
const (
	targetOf    = `CASE WHEN json_valid(entry) THEN json_extract(entry, '$.target') END`
	operationOf = `CASE WHEN json_valid(entry) THEN json_extract(entry, '$.operation') END`
)

// Entries returns a page of the audit, newest first. It does not check the chain. An entry that cannot be decoded was
// tampered with: it comes with its number and says so.
func (a *Audit) Entries(ctx context.Context, q admin.TrailQuery) ([]admin.Entry, error) {
	db, _, _, err := a.opened(ctx)
	if err != nil {
		return nil, err
	}
	where, args := trailFilter(q)
	return list(ctx, db, "read audit", func(row scanner) (admin.Entry, error) {
		var number int64
		var text string
		err := row.Scan(&number, &text)
		return parseEntry(number, text), err
	}, "SELECT number, entry FROM audit WHERE "+where+" ORDER BY number DESC LIMIT ?", append(args, q.Limit)...)
}

func trailFilter(q admin.TrailQuery) (string, []any) {
	where, args := []string{"1"}, []any{}
	and := func(condition string, values ...any) {
		where, args = append(where, condition), append(args, values...)
	}
	if q.Before > 0 {
		and("number < ?", q.Before)
	}
	switch {
	case q.Below: // what begins with the target and a slash lies before the target and "0", the character after the slash
		and("("+targetOf+" = ? OR "+targetOf+" > ? AND "+targetOf+" < ?)", q.Target, q.Target+"/", q.Target+"0")
	case q.Target != "":
		and(targetOf+" = ?", q.Target)
	}
	if len(q.Within) > 0 {
		about, values := trailScopes(q.Within)
		and(about, values...)
	}
	if q.Operation != "" {
		and(operationOf+" = ?", q.Operation)
	}
	for _, f := range []struct{ name, value string }{{"who", q.Who}, {"action", q.Action}, {"phase", q.Phase}} {
		if f.value != "" {
			and(field(f.name)+" = ?", f.value)
		}
	}
	if !q.From.IsZero() {
		and(field("at")+" >= ?", trailTime(q.From))
	}
	if !q.To.IsZero() {
		and(field("at")+" < ?", trailTime(q.To))
	}
	return strings.Join(where, " AND "), args
}

// trailScopes selects what is about any of some queues, stores and pipelines. The target of a queue is BROKER/VHOST/QUEUE, and more behind
// a slash where a message or a job is meant; the actions tell it from that of a marker, STORE/KEY, and that of a pipeline.
func trailScopes(scopes []admin.TrailScope) (string, []any) {
	parts, args := []string{"0"}, []any{}
	for _, s := range scopes {
		switch {
		case s.Queue != "":
			parking, err := dedup.ParkingQueue(dedup.QueueRef{Name: s.Queue})
			if err != nil {
				parking.Name = s.Queue
			}
			parts = append(parts, "(instr('/' || "+targetOf+" || '/', ?) > 0 OR instr('/' || "+targetOf+" || '/', ?) > 0) AND NOT "+actionAbout(admin.AboutMarkers))
			args = append(args, "/"+s.Queue+"/", "/"+parking.Name+"/")
		case s.Store != "":
			parts = append(parts, "("+targetOf+" = ? OR "+targetOf+" > ? AND "+targetOf+" < ?) AND NOT "+actionAbout(admin.AboutLetters, admin.AboutJobs, admin.AboutPipelines))
			args = append(args, s.Store, s.Store+"/", s.Store+"0")
		case s.Pipeline != "":
			parts = append(parts, targetOf+" = ? AND "+actionAbout(admin.AboutPipelines))
			args = append(args, s.Pipeline)
		}
	}
	return "(" + strings.Join(parts, " OR ") + ")", args
}

// actionAbout is the condition that an entry is about one of these subjects, which name themselves: no text of a user is in it.
func actionAbout(subjects ...admin.Subject) string {
	var names []string
	for _, k := range admin.ActionKinds() {
		if slices.Contains(subjects, k.About) {
			names = append(names, "'"+k.Name+"'")
		}
	}
	return "coalesce(" + field("action") + ", '') IN (" + strings.Join(names, ", ") + ")"
}

func parseEntry(number int64, text string) admin.Entry {
	var e entryJSON
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		return admin.Entry{Number: number, Phase: "damaged", Detail: "this entry cannot be read: it was changed"}
	}
	at, _ := time.Parse(time.RFC3339Nano, e.At) // the zero time shows that it is not known
	return admin.Entry{
		Number: number, At: at, Operation: e.Operation, Phase: e.Phase, Who: e.Who, Role: e.Role, Method: e.Method,
		From: e.From, Action: e.Action, Target: e.Target, Detail: e.Detail,
		Reason: e.Reason, Before: e.Before, After: e.After, Hash: e.Hash,
	}
}
