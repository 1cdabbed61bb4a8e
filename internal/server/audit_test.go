package server

import (
	"net/url"
	"strings"
	"testing"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
)

func TestTheAuditOffersEveryActionOfTheTableAndNamesItInWords(t *testing.T) {
	s := stocked(t, nil)
	offered := func(path string) map[string]string {
		labels := map[string]string{}
		for _, o := range s.page("operator", path).Find("select[name=action] option[value!='']").EachIter() {
			name, _ := o.Attr("value")
			labels[name] = oneLine(o)
		}
		return labels
	}
	acts, all := offered("/audit"), offered("/audit?view=entries")
	for _, k := range admin.ActionKinds() {
		if all[k.Name] != k.Label {
			t.Errorf("every entry: %s is offered as %q, want %q", k.Name, all[k.Name], k.Label)
		}
		if _, ok := acts[k.Name]; ok == k.Step {
			t.Errorf("one row for each action: %s is offered: %t", k.Name, ok)
		}
	}
	s.looked("inventory", inventoryDLQ, "100")
	rows := s.page("operator", "/audit?action=scan_dead_letters").Find(".entries tbody tr")
	if rows.Length() != 1 || !strings.Contains(oneLine(rows), "look at the messages of a queue") {
		t.Errorf("the look is %q", oneLine(rows))
	}
}

func TestTheAuditIsFilteredByQueueAndByPipeline(t *testing.T) {
	s := stocked(t, nil)
	doc := s.looked("inventory", inventoryDLQ, "100")
	s.planMoveOf("operator", doc, "requeue-selected", firstRef(doc))
	for query, want := range map[string]int{
		"?queue=" + inventoryDLQ: 2, "?queue=orders.dlq": 0, "?pipeline=inventory": 2, "?pipeline=payments": 0, "?queue=" + inventoryDLQ + "&action=plan_requeue": 1,
		"?queue=" + url.QueryEscape("%"): 0, "?view=entries&queue=" + inventoryDLQ: 3,
	} {
		if got := s.page("operator", "/audit"+query).Find(".entries tbody tr").Length(); got != want {
			t.Errorf("%s: %d rows, want %d", query, got, want)
		}
	}
	page := s.page("operator", "/audit?pipeline=inventory&queue="+inventoryDLQ)
	if got, _ := page.Find("input[name=queue]").Attr("value"); got != inventoryDLQ || page.Find("select[name=pipeline] option[selected]").AttrOr("value", "") != "inventory" {
		t.Errorf("the form does not keep the filter: %q", got)
	}
	if n := page.Find("#audit-queues option[value='" + inventoryDLQ + "']").Length(); n != 1 {
		t.Errorf("the queue is suggested %d times", n)
	}
}

func TestARowOfTheAuditNamesTheMarkersOfAnActionAndLeadsToThem(t *testing.T) {
	s := stocked(t, nil)
	var sel []string
	for _, in := range s.page("admin", "/pipelines/orders/markers?verdict="+url.QueryEscape(string(dedup.Orphan))).Find("input[name=sel]").EachIter() {
		sel = append(sel, in.AttrOr("value", ""))
	}
	if len(sel) < 5 {
		t.Fatalf("there are %d orphans", len(sel))
	}
	clear := func(of []string) {
		review := s.plan(url.Values{"store": {"orders"}, "do": {"clear-selected"}, "sel": of})
		s.ended(s.as("admin", "POST", review+"/execute", url.Values{"reason": {"their consumer is gone"}, "key": {of[0]}}.Encode()).Header.Get("Location"))
	}
	clear(sel[:1])
	key, _ := url.QueryUnescape(sel[0])
	href := "/markers/one?" + url.Values{"store": {"orders"}, "key": {key}}.Encode()
	row := s.page("operator", "/audit?action=clear_markers").Find(".entries tbody tr").First()
	if link := row.Find(".c-target a[href='" + href + "']"); oneLine(link) != key {
		t.Errorf("the row is %q, and leads to the marker as %q", oneLine(row), oneLine(link))
	}
	step := s.page("operator", "/audit?view=entries&action=clear_marker").Find(".entries tbody tr").First()
	if link := step.Find(".c-target a[href='" + href + "']"); oneLine(link) != "orders/"+key {
		t.Errorf("the entry is %q", oneLine(step))
	}
	if own := s.page("operator", href).Find(".entries .c-target a[href^='/markers/one']").Length(); own != 0 {
		t.Error("the page of the marker leads to itself")
	}
	clear(sel[1:5])
	row = s.page("operator", "/audit?action=clear_markers").Find(".entries tbody tr").First()
	if n := row.Find(".c-target a[href^='/markers/one']").Length(); n != 3 || !strings.Contains(oneLine(row), "and more") {
		t.Errorf("of four markers %d are named: %q", n, oneLine(row))
	}
	if plan := s.page("operator", "/audit?action=plan_clear").Find(".entries .c-target a[href^='/markers/one']").Length(); plan != 0 {
		t.Errorf("plans name %d markers that nobody touched", plan)
	}
}
