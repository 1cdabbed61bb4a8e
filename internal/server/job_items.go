package server

import (
	"net/url"
	"strconv"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/web/templates"
)

func (s *Server) jobItemLine(item admin.JobItem, now time.Time) templates.JobItemLine {
	l := templates.JobItemLine{
		Number: templates.Number(float64(item.Seq)), At: moment(item.At, now), ID: templates.Plain(item.ID, keyLimit), Target: templates.Plain(item.Target, nameLimit),
		Outcome: templates.Plain(item.Outcome, nameLimit).Short, Grade: outcomeTier(item.Outcome), Text: templates.Sentence(readableTimes(capital(item.Text), now)),
	}
	if item.ID == "" {
		l.ID = templates.Plain("without an id", nameLimit)
	} else {
		l.Lookup = s.cfg.base() + "/lookup?" + url.Values{"id": {item.ID}}.Encode()
	}
	markFate(&l, item)
	if item.Class != "" {
		l.Class, l.Tier = classWord(item.Class), classTier(item.Class)
	}
	return l
}

// jobItems answers a page of the messages of a job, in the order in which they were taken.
func (s *Server) jobItems(r *request) (response, error) {
	after, err := afterItem(r.URL.Query())
	if err != nil {
		return nil, err
	}
	became, err := fateOf(r.URL.Query())
	if err != nil {
		return nil, err
	}
	service, j, err := s.jobAsked(r)
	if err != nil {
		return nil, err
	}
	items, err := fatedItems(r, service, j.ID, became, after, itemsPerJob)
	if err != nil {
		return nil, err
	}
	now, base := time.Now().In(zone(r)), s.cfg.base()
	self := jobAddress(base, j.ID)
	v := templates.JobItemsView{
		Frame: s.frame(r, "Messages of a job"), Heading: "Messages of this job", CSV: self + "/items.csv",
		Crumbs: append(deadCrumbs(base, j.Plan.Request.Pipeline, j.Plan.Request.Queue), templates.Crumb{Label: templates.Plain(jobHeading(j), keyLimit), Href: self}),
		Empty:  templates.Empty{Heading: "No more messages", Text: "The list ends here.", Href: self, Link: "Back to the job"},
	}
	for _, item := range items {
		v.Rows = append(v.Rows, s.jobItemLine(item, now))
	}
	if len(items) == itemsPerJob {
		next := url.Values{"after": {strconv.FormatInt(items[len(items)-1].Seq, 10)}}
		if became != "" {
			next.Set("became", became)
		}
		v.Next = self + "/items?" + next.Encode()
	}
	if after > 0 {
		v.First = self + "/items"
	}
	if became != "" {
		v.Heading, v.All = "Messages of this job: "+fateWord(became), self+"/items"
		if after > 0 {
			v.First = fateAddress(self, became)
		}
	}
	return page{component: templates.JobItems(v)}, nil
}

func afterItem(values url.Values) (int64, error) {
	text := values.Get("after")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, badParameter("after", "must be the number of an item")
	}
	return n, nil
}

// everyItem returns all that is told of the messages of a job.
func everyItem(r *request, service jobReader, id string) ([]admin.JobItem, error) {
	const atOnce = 1000
	var all []admin.JobItem
	for after := int64(0); len(all) < admin.MaxJobItems; {
		some, err := service.JobItems(r.Context(), r.asker(), id, after, atOnce)
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
func (s *Server) jobItemsCSV(r *request) (response, error) {
	service, err := s.letters()
	if err != nil {
		return nil, err
	}
	items, err := everyItem(r, service, r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	rows := [][]string{{"no", "time", "id", "target", "class", "outcome", "text", "ref", "became"}}
	for _, i := range items {
		rows = append(rows, []string{
			strconv.FormatInt(i.Seq, 10), i.At.UTC().Format(time.RFC3339), templates.Escape(i.ID), templates.Escape(i.Target), string(i.Class), templates.Escape(i.Outcome), templates.Escape(i.Text), i.Ref, i.Became,
		})
	}
	return csvBody{filename: "job-" + r.PathValue("id") + ".csv", rows: rows}, nil
}
