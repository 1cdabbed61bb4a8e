package templates

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/a-h/templ"
)

// region makes an element fetch itself again when the event stream hints that its topic changed, and after every
// reconnection. Pages without a bundle or a stream carry none of it.
func region(f Frame, self, topic string, every int) templ.Attributes {
	if !f.Bundle || f.Live == "" {
		return nil
	}
	return templ.Attributes{
		"hx-get":     self,
		"hx-trigger": topic + " from:body throttle:2s, resync from:body",
		"hx-swap":    "outerMorph",
		"data-every": strconv.Itoa(every),
	}
}

// following is a region of a page that follows something that runs: it also asks by itself, because what runs may end
// before the stream stands, and nobody sends a hint of what becomes of it later.
func following(f Frame, self string) templ.Attributes {
	a := region(f, self, "operation", 15)
	if a != nil {
		a["hx-trigger"] = fmt.Sprintf("%s, every %ds", a["hx-trigger"], f.Refresh)
	}
	return a
}

// emptyCell marks a cell that has nothing to say, so that narrow screens leave it out.
func emptyCell(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return ""
		}
	}
	return "nothing"
}

func ariaSort(c Column) templ.Attributes {
	if c.Sorted == "" {
		return nil
	}
	return templ.Attributes{"aria-sort": c.Sorted}
}

// refresh is the content of the refresh meta element.
func (f Frame) refresh() string { return fmt.Sprintf("%d; url=%s", f.Refresh, f.Reload) }

// scheme is the value of the color-scheme meta element, which paints the canvas before the stylesheet is there.
func (f Frame) scheme() string {
	if f.Theme == "" {
		return "light dark"
	}
	return f.Theme
}

// at marks the entry of the navigation that leads to this page, or to what this page is part of.
func (f Frame) at(entry string) templ.Attributes {
	part := strings.HasPrefix(f.Path, entry+"/")
	switch entry {
	case "/":
		part = strings.HasPrefix(f.Path, "/pipelines/") && !strings.Contains(f.Path, "/dead-letters")
	case "/alerts":
		part = part || f.Path == "/silences" || strings.HasPrefix(f.Path, "/silences/")
	case "/dead-letters":
		part = part || strings.HasPrefix(f.Path, "/pipelines/") && strings.Contains(f.Path, "/dead-letters")
	}
	switch {
	case f.Path == entry:
		return templ.Attributes{"aria-current": "page"}
	case part:
		return templ.Attributes{"aria-current": "true"}
	}
	return nil
}

func (f Frame) assets() string {
	if f.Bundle {
		return "bundle"
	}
	return "none"
}

// commonZones are offered in the settings; any name of the IANA database is accepted.
func commonZones() []string {
	return []string{
		"UTC", "America/Los_Angeles", "America/New_York", "America/Sao_Paulo", "Europe/London", "Europe/Berlin",
		"Asia/Kolkata", "Asia/Shanghai", "Asia/Tokyo", "Australia/Sydney",
	}
}

func whole(n int) string { return Number(float64(n)) }

func matching(n, total int) string {
	switch {
	case total == 0:
		return ""
	case n == total:
		return whole(total)
	default:
		return whole(n) + " of " + whole(total) + " match the filter"
	}
}

func sortedBy(columns []Column) string {
	for _, c := range columns {
		if c.Sorted != "" {
			return "sorted by " + c.Label + ", " + c.Sorted
		}
	}
	return "worst first"
}

// windowClass tells the stylesheet how many columns the windows take on a narrow screen.
func (v PipelineView) windowClass() string { return "of-" + strconv.Itoa(min(len(v.Windows), 4)) }

// names lists the measures of the group.
func (g UnknownGroup) names() string { return strings.Join(g.Names, "; ") }

func (v PipelineView) lastWindow() string {
	if len(v.Windows) == 0 {
		return "no window"
	}
	return v.Windows[len(v.Windows)-1].Label
}

func (v PipelineView) markersMissing() Empty {
	if v.Store == "" {
		return Empty{Heading: "No markers", Text: "This pipeline names no store, so there is nothing to read."}
	}
	return Empty{Heading: "No markers known yet", Text: "They are shown after the first complete pass over the store."}
}

// width is the share of a state as a percentage of the bar; what is there is never invisible.
func (s StateCount) width() string {
	if s.Share == 0 {
		return "0"
	}
	return px(max(float64(s.Share)/10, 0.5)) + "%"
}

// explained reports whether a reason or a cause has a row of its own.
func (r PipelineRow) explained() bool { return r.Why.Short != "" || r.Cause.Short != "" }

// rowspan lets tier and risk stand beside the reason, which has a row of its own.
func rowspan(r PipelineRow) templ.Attributes {
	if !r.explained() {
		return nil
	}
	return templ.Attributes{"rowspan": "2"}
}

func (v PipelineView) riskWords() string {
	if v.RiskDriver == "" {
		return "risk"
	}
	return "risk by " + v.RiskDriver
}

// listFrame is the frame of the list of markers: a live reading costs the store something, so that it is only made when
// somebody asks for it.
func (v MarkersView) listFrame() Frame {
	f := v.Frame
	if v.Cost != "" {
		f.Live = ""
	}
	return f
}

// followingJob is the region of a job: it looks by itself too while the job runs.
func followingJob(f Frame, self string) templ.Attributes {
	a := region(f, self, "job", 15)
	if a != nil && f.Refresh > 0 && !f.Slow {
		a["hx-trigger"] = "job from:body throttle:1s, resync from:body, every 2s"
	}
	return a
}

// followingMeasurement is the region of a measurement: it looks by itself too while that runs.
func followingMeasurement(f Frame, self string) templ.Attributes {
	a := region(f, self, "measurement", 15)
	if a != nil && f.Refresh > 0 {
		a["hx-trigger"] = "measurement from:body throttle:1s, resync from:body, every 2s"
	}
	return a
}

// plainNumber writes a number for a machine, without separators: 2,318 would be no value of a progress element.
func plainNumber(n int) string { return strconv.Itoa(n) }

func pressed(on bool) string { return strconv.FormatBool(on) }

// moveButton gives what cannot be undone the look of danger.
func moveButton(danger bool) string {
	if danger {
		return "danger"
	}
	return "primary"
}
