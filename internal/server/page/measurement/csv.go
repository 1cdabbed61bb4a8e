package measurement

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/web"
)

// repeatedCSV answers the duplicated messages of a measurement as a table: a row for each way that copies of one came.
func (s pages) repeatedCSV(r *web.Request) (web.Response, error) {
	m, err := s.asked(r)
	if err != nil {
		return nil, err
	}
	if m.Result == nil {
		return nil, web.NotFound("This measurement has no result")
	}
	var ways []way
	for _, p := range m.Result.Repeated {
		for _, o := range p.Origins {
			ways = append(ways, way{p, o})
		}
	}
	table := list.NewTable(m.Pipeline+"-duplicates.csv", wayColumns(), ways)
	if left := m.Result.RepeatedIDs - int64(len(m.Result.Repeated)); left > 0 {
		table.Notes = append(table.Notes, list.Whole(left)+" duplicated messages are left out: those that were duplicated the least")
	}
	return web.CSV{Table: table}, nil
}

// way is a way that copies of a duplicated message came.
type way struct {
	dedup.RepeatedID
	by dedup.Origin
}

func wayColumns() []list.Column[way] {
	seconds := func(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) }
	return []list.Column[way]{
		{Head: "id", Cell: func(w way) string { return w.ID }},
		{Head: "deliveries", Cell: func(w way) string { return list.Whole(w.Deliveries) }},
		{Head: "duplicates", Cell: func(w way) string { return list.Whole(w.Duplicates) }},
		{Head: "redelivered", Cell: func(w way) string { return list.Whole(w.Redelivered) }},
		{Head: "first (UTC)", Cell: func(w way) string { return w.First.UTC().Format(time.RFC3339Nano) }},
		{Head: "done before", Cell: func(w way) string { return strconv.FormatBool(w.Before) }},
		{Head: "gap (seconds)", Cell: func(w way) string { return seconds(w.Gap) }},
		{Head: "after work (seconds)", Cell: func(w way) string { return seconds(w.Done) }},
		{Head: "exchange", Cell: func(w way) string { return w.by.Exchange }},
		{Head: "routing key", Cell: func(w way) string { return w.by.RoutingKey }},
		{Head: "user_id", Cell: func(w way) string { return w.by.UserID }},
		{Head: "app_id", Cell: func(w way) string { return w.by.AppID }},
		{Head: "headers", Cell: func(w way) string {
			headers := ""
			for _, name := range sortedNames(w.by.Headers) {
				headers += name + ": " + w.by.Headers[name] + "\n"
			}
			return headers
		}},
		{Head: "copies of this origin", Cell: func(w way) string { return list.Whole(w.by.Copies) }},
		{Head: "duplicates of this origin", Cell: func(w way) string { return list.Whole(w.by.Duplicates) }},
	}
}

func sortedNames(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
