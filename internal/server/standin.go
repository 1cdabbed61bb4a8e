package server

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/admin"
)

type letterFilter struct {
	terms [][2]string
	text  string
}

func (f letterFilter) String() string { return f.text }

func letterValue(l admin.Letter, key string) string {
	switch key {
	case "reason":
		if len(l.Deaths) > 0 {
			return l.Deaths[0].Reason
		}
	case "source":
		if len(l.Deaths) > 0 {
			return l.Deaths[len(l.Deaths)-1].Queue
		}
	case "route":
		return l.Exchange + "/" + l.RoutingKey
	case "exception":
		return l.Exception
	case "type":
		return l.Type
	case "class":
		return string(l.Prediction.Class)
	case "id":
		return l.ID
	case "hour":
		if len(l.Deaths) > 0 {
			return l.Deaths[0].Time.UTC().Truncate(time.Hour).Format("2006-01-02T15")
		}
	case "marker":
		if l.Marker == nil {
			return "none"
		}
		return string(l.Marker.State)
	}
	return ""
}

func (f letterFilter) Matches(l admin.Letter) bool {
	for _, t := range f.terms {
		if letterValue(l, t[0]) != t[1] {
			return false
		}
	}
	return true
}

func parseLetterFilter(text string) (letterFilter, error) {
	f := letterFilter{text: strings.TrimSpace(text)}
	rest := f.text
	for rest != "" {
		key, after, ok := strings.Cut(rest, ":")
		if !ok || !slices.Contains([]string{"reason", "source", "route", "exception", "type", "class", "id", "hour", "marker"}, key) {
			return f, errors.New("“" + key + "” is no part of a filter; write KEY:VALUE with reason, source, route, exception, type, hour, class, marker or id")
		}
		value := after
		if strings.HasPrefix(after, `"`) {
			value, after, ok = strings.Cut(after[1:], `"`)
			if !ok {
				return f, errors.New("a quotation mark is not closed")
			}
		} else {
			value, after, _ = strings.Cut(after, " ")
		}
		f.terms = append(f.terms, [2]string{key, value})
		rest = strings.TrimSpace(after)
	}
	return f, nil
}

func groupLetters(letters []admin.Letter, key admin.GroupKey) []admin.Group {
	groups := map[string]*admin.Group{}
	for _, l := range letters {
		value := letterValue(l, string(key))
		g := groups[value]
		if g == nil {
			g = &admin.Group{Value: value, Filter: string(key) + `:"` + value + `"`, Classes: admin.Tally{}}
			groups[value] = g
		}
		g.Count++
		g.Bytes += int64(len(l.Body))
		g.Classes[l.Prediction.Class]++
		if len(l.Deaths) > 0 {
			at := l.Deaths[0].Time
			if g.First.IsZero() || at.Before(g.First) {
				g.First = at
			}
			if at.After(g.Last) {
				g.Last = at
			}
		}
	}
	var list []admin.Group
	for _, g := range groups {
		list = append(list, *g)
	}
	slices.SortFunc(list, func(a, b admin.Group) int { return cmp.Or(b.Count-a.Count, cmp.Compare(a.Value, b.Value)) })
	return list
}
