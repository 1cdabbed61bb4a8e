package list

import (
	"cmp"
	"math"
	"net/url"
	"slices"
	"strings"
	"testing"

	"dedup-dashboard/internal/dedup"
)

// query has a field for each sort of parameter.
type query struct {
	text, one string
	many      []dedup.Tier
	on        bool
	order     Order
	page      int
	after     int64
}

func (q *query) params() []Param {
	return []Param{
		Text("q", &q.text, 5), Choice("by", &q.one, "a", []string{"a", "b"}), Flag("on", &q.on),
		Many("tier", &q.many, dedup.ParseTier, dedup.Tier.String, "must be a tier"),
		SortBy(&q.order, Order{"age", true}, []string{"age", "id"}), PageNumber(&q.page), After("after", &q.after, 1, "must be a number"),
	}
}

func TestAQueryReadsItselfAndWritesItselfBackWithoutItsDefaults(t *testing.T) {
	for given, want := range map[string]string{
		"": "/l", "q=a+b&tier=severe&tier=warning": "/l?q=a+b&tier=severe&tier=warning", "tier=severe,warning,severe&tier=": "/l?tier=severe&tier=warning",
		"by=a&page=1&sort=-age&on=0&other=x": "/l", "by=b&on=1&page=3&sort=age&after=7": "/l?after=7&by=b&on=1&page=3&sort=age", "sort=-id": "/l?sort=-id",
	} {
		values, _ := url.ParseQuery(given)
		var q query
		if err := Read(values, q.params()...); err != nil {
			t.Errorf("%s: %v", given, err)
		}
		if got := Address("/l", q.params()...); got != want {
			t.Errorf("%s becomes %s, want %s", given, got, want)
		}
	}
	if got := (Address("/l", (&query{}).params()...)); got != "/l" {
		t.Errorf("the zero query is %s", got)
	}
}

func TestABadValueNamesItsParameter(t *testing.T) {
	for given, name := range map[string]string{
		"q=123456": "q", "by=c": "by", "tier=severe,odd": "tier", "sort=name": "sort", "sort=--id": "sort", "page=0": "page", "page=x": "page", "page=1000001": "page", "after=0": "after",
	} {
		values, _ := url.ParseQuery(given)
		err := Read(values, (&query{}).params()...)
		if dedup.KindOf(err) != dedup.Invalid || !strings.HasPrefix(dedup.PublicText(err), "The parameter "+name+" ") {
			t.Errorf("%s gives %v", given, err)
		}
	}
}

func TestABadValueSaysWhatItMayBeAndLeavesTheOtherParametersAsTheyAre(t *testing.T) {
	for given, want := range map[string]struct{ says, address string }{
		"by=c&q=a":               {"The parameter by must be a or b.", "/l?q=a"},
		"q=a&sort=name&page=2":   {"The parameter sort must be age or id, with a - before it to reverse.", "/l?page=2&q=a"},
		"page=x&tier=severe":     {"The parameter page must be a whole number from 1 to 1,000,000.", "/l?tier=severe"},
		"by=c&sort=name&after=7": {"The parameter by must be a or b.", "/l?after=7"},
	} {
		values, _ := url.ParseQuery(given)
		var q query
		err := Read(values, q.params()...)
		if got := Address("/l", q.params()...); dedup.PublicText(err) != want.says || got != want.address {
			t.Errorf("%s says %q and is left as %s", given, dedup.PublicText(err), got)
		}
	}
}

type row struct {
	name  string
	value float64
}

func rowColumns() []Column[row] {
	return []Column[row]{
		{Head: "Name", Key: "name", Up: true, Offered: Order{By: "name"}, Words: "name", Rank: func(r row) Rank { return ByText(r.name) }, Cell: func(r row) string { return r.name }},
		{Head: "Value", Key: "value", Number: true, Offered: Order{"value", true}, Words: "value, highest first", Rank: func(r row) Rank { return ByNumber(r.value) }, Cell: func(r row) string { return Whole(int(r.value)) }},
		{Head: "Picture"},
	}
}

func TestWhatIsUnknownComesLastEitherWayAndEqualsGoByTheTie(t *testing.T) {
	rows := []row{{"d", math.NaN()}, {"c", 1}, {"b", 2}, {"a", 1}}
	for order, want := range map[Order]string{{"value", false}: "acbd", {"value", true}: "bacd", {"name", true}: "dcba", {"picture", false}: "dcba"} {
		var got string
		for _, r := range Sorted(rows, rowColumns(), order, func(a, b row) int { return cmp.Compare(a.name, b.name) }) {
			got += r.name
		}
		if got != want {
			t.Errorf("%s gives %s, want %s", order, got, want)
		}
	}
}

func TestHeadsSortAndASecondClickReverses(t *testing.T) {
	heads := Heads(rowColumns(), Order{"value", true}, Order.String)
	var got []string
	for _, h := range heads {
		got = append(got, h.Href+"|"+h.Sorted)
	}
	if want := []string{"name|", "value|descending", "|"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if s := Sorts(rowColumns(), Order{"name", true}); len(s) != 3 || s[2].Value != "-name" || !s[2].Chosen {
		t.Errorf("the order that no form offers is not shown: %+v", s)
	}
}

func TestAListIsCutIntoPages(t *testing.T) {
	items := []int{1, 2, 3, 4, 5}
	for _, tt := range []struct {
		asked, number, first int
		page                 []int
		note                 bool
	}{{1, 1, 0, []int{1, 2}, false}, {3, 3, 4, []int{5}, false}, {9, 3, 4, []int{5}, true}, {0, 1, 0, []int{1, 2}, false}} {
		page, at := Cut(items, 2, tt.asked)
		if !slices.Equal(page, tt.page) || at.Number != tt.number || at.First != tt.first || at.Of != 3 || (at.Note != "") != tt.note {
			t.Errorf("page %d is %v %+v", tt.asked, page, at)
		}
	}
	if page := Page(items, 2, 4); len(page) != 0 {
		t.Errorf("a page behind the last has %v", page)
	}
	if _, at := Cut(items[:0], 2, 1); at.Of != 1 {
		t.Errorf("an empty list has %d pages", at.Of)
	}
	_, at := Cut(make([]int, 20), 1, 10)
	var near []string
	for _, l := range at.Near(1, Numbered("/l")) {
		near = append(near, l.Label)
	}
	if before, after := at.Beside(Numbered("/l")); strings.Join(near, " ") != "1 9 10 11 20" || before != "/l?page=9" || after != "/l?page=11" {
		t.Errorf("%v, %s, %s", near, before, after)
	}
}

func TestATableDefusesItsCellsAndEndsWithItsNotes(t *testing.T) {
	table := NewTable("x.csv", rowColumns()[:2], []row{{"=1+1", 7}})
	table.Notes = []string{"more is left out"}
	var b strings.Builder
	if err := table.Write(&b); err != nil || b.String() != "Name,Value\n'=1+1,7\n# more is left out,\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
}
