package job

import (
	"cmp"
	"net/http"
	"net/url"
	"time"

	"dedup-dashboard/internal/admin/jobs"

	"dedup-dashboard/internal/server/letter"
	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

func (s pages) jobItemLine(item jobs.JobItem, now time.Time) templates.JobItemLine {
	l := templates.JobItemLine{
		Number: templates.Number(item.Seq), At: show.Moment(item.At, now), ID: show.Key(item.ID), Target: show.Name(item.Target),
		Outcome: show.ShortName(item.Outcome), Grade: letter.OutcomeTier(item.Outcome), Text: templates.Sentence(show.ReadableTimes(show.Capital(item.Text), now)),
	}
	if item.ID == "" {
		l.ID = show.Name("without an id")
	} else {
		l.Lookup = s.site.Base + "/lookup?" + url.Values{"id": {item.ID}}.Encode()
	}
	markFate(&l, item)
	if item.Class != "" {
		l.Class, l.Tier = letter.ClassWord(item.Class), letter.ClassTier(item.Class)
	}
	return l
}

// jobItems answers a page of the messages of a job, in the order in which they were taken.
func (s pages) jobItems(r *web.Request) (web.Response, error) {
	var q itemsQuery
	wrong := list.Read(r.URL.Query(), q.params()...)
	j, err := s.jobAsked(r)
	if err != nil {
		return nil, cmp.Or(wrong, err)
	}
	now, base := r.Now(), s.site.Base
	self := letter.JobAddress(base, j.ID)
	v := templates.JobItemsView{
		Frame: s.site.Frame(r, "Messages of a job"), Heading: "Messages of this job", CSV: self + "/items.csv",
		Crumbs: append(letter.Crumbs(base, j.Plan.Request.Pipeline, j.Plan.Request.Queue), templates.Crumb{Label: show.Key(jobHeading(j)), Href: self}),
		Empty:  templates.Empty{Heading: "No more messages", Text: "The list ends here.", Href: self, Link: "Back to the job"},
	}
	if wrong != nil {
		v.Empty, v.All = web.BadFilter(wrong, self+"/items"), self+"/items"
		return web.Page{Status: http.StatusBadRequest, Component: templates.JobItems(v)}, nil
	}
	items, err := s.itemsAsked(r, q, j.ID)
	if err != nil {
		return nil, err
	}
	for _, item := range items {
		v.Rows = append(v.Rows, s.jobItemLine(item, now))
	}
	if len(items) == itemsPerJob {
		v.Next = itemsQuery{items[len(items)-1].Seq, q.became}.address(self)
	}
	if q.after > 0 {
		v.First = itemsQuery{became: q.became}.address(self)
	}
	if q.became != "" {
		v.Heading, v.All = "Messages of this job: "+letter.FateWord(q.became), self+"/items"
	}
	return web.Page{Component: templates.JobItems(v)}, nil
}

// itemsQuery is the state of the list of messages of a job that lives in its address: from which message on, and what became of them;
// empty for any of them.
type itemsQuery struct {
	after  int64
	became string
}

func (q *itemsQuery) params() []list.Param {
	return []list.Param{
		list.After("after", &q.after, 0, "must be the number of an item"),
		list.Choice("became", &q.became, "", jobs.Fates()),
	}
}

// address is the list of the messages of a job, whose page is self.
func (q itemsQuery) address(self string) string { return list.Address(self+"/items", q.params()...) }

// itemsAsked returns a page of the messages of a job.
func (s pages) itemsAsked(r *web.Request, q itemsQuery, id string) ([]jobs.JobItem, error) {
	if q.became == "" {
		return s.letters.JobItems(r.Context(), r.Asker(), id, q.after, itemsPerJob)
	}
	return s.letters.JobItemsThat(r.Context(), r.Asker(), id, q.became, q.after, itemsPerJob)
}

// everyItem returns all that is told of the messages of a job.
func (s pages) everyItem(r *web.Request, id string) ([]jobs.JobItem, error) {
	const atOnce = 1000
	var all []jobs.JobItem
	for after := int64(0); len(all) < jobs.MaxJobItems; {
		some, err := s.letters.JobItems(r.Context(), r.Asker(), id, after, atOnce)
		if err != nil {
			return nil, err
		}
		if all = append(all, some...); len(some) < atOnce {
			break
		}
		after = some[len(some)-1].Seq
	}
	return all, nil
}

// jobItemsCSV answers with every message of a job.
func (s pages) jobItemsCSV(r *web.Request) (web.Response, error) {
	items, err := s.everyItem(r, r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	return web.CSV{Table: list.NewTable("job-"+r.PathValue("id")+".csv", itemColumns(), items)}, nil
}

func itemColumns() []list.Column[jobs.JobItem] {
	return []list.Column[jobs.JobItem]{
		{Head: "no", Cell: func(i jobs.JobItem) string { return list.Whole(i.Seq) }},
		{Head: "time", Cell: func(i jobs.JobItem) string { return list.Seconds(i.At) }},
		{Head: "id", Cell: func(i jobs.JobItem) string { return templates.Escape(i.ID) }},
		{Head: "target", Cell: func(i jobs.JobItem) string { return templates.Escape(i.Target) }},
		{Head: "class", Cell: func(i jobs.JobItem) string { return string(i.Class) }},
		{Head: "outcome", Cell: func(i jobs.JobItem) string { return templates.Escape(i.Outcome) }},
		{Head: "text", Cell: func(i jobs.JobItem) string { return templates.Escape(i.Text) }},
		{Head: "ref", Cell: func(i jobs.JobItem) string { return i.Ref }},
		{Head: "became", Cell: func(i jobs.JobItem) string { return i.Became }},
	}
}
