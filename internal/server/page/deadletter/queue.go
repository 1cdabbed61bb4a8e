package deadletter

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"dedup-dashboard/internal/admin/deadletter"

	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/letter"
	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// queuePage is what the page of a dead-letter queue is made of.
type queuePage struct {
	snap *dedup.Snapshot
	p    *dedup.PipelineStatus
	q    query
	view deadletter.QueueView
	// missing says why this reader cannot look at or move its messages; empty when they can.
	missing string
	// silent says why nothing but the counted figures can be shown; empty when more can.
	silent string
	now    time.Time
	base   string
	path   string
	// plan is where the forms of the page go to make a plan.
	plan string
	who  auth.Principal
	// whole may see bodies as they are.
	whole bool
}

// deadQueue answers the page of one dead-letter queue, or of its parking queue.
func (s pages) deadQueue(r *web.Request) (web.Response, error) {
	d, err := s.queuePage(r)
	if err != nil {
		return nil, err
	}
	if !d.q.filter.Absolute() {
		// The address, and every form and link of the page, holds the times with their offset: they mean the same a minute later, to a
		// colleague elsewhere, and to the plan that is made from here.
		v := r.URL.Query()
		v.Set("filter", d.q.filter.String())
		return web.Redirect{To: d.path + "?" + v.Encode()}, nil
	}
	if d.q.queue == "" && d.q.bad != nil {
		return nil, d.q.bad
	}
	if d.q.queue == "" {
		return web.Page{Component: templates.NoDeadQueue(s.noDeadQueue(r, d))}, nil
	}
	frame := s.site.Frame(r, "Dead letters of "+show.ShortName(d.p.Pipeline.Name))
	frame.Live = web.Live("pipeline:" + d.p.Pipeline.Name)
	status, view := http.StatusOK, d.page(frame)
	switch {
	case d.q.bad != nil:
		status = http.StatusBadRequest
		view.Notes = append(view.Notes, show.Problem(dedup.TierUnknown, show.ErrorText(d.q.bad), ""))
	case d.q.wrong != "":
		status = http.StatusUnprocessableEntity
	}
	return web.Page{Status: status, Component: templates.DeadQueue(view)}, nil
}

func (s pages) queuePage(r *web.Request) (queuePage, error) {
	name := r.PathValue("name")
	now := r.Now()
	q := parseDeadQuery(r.URL.Query(), now)
	snap := s.deps.Snapshots.Snapshot()
	p, ok := snap.Pipeline(name)
	if !ok {
		return queuePage{}, web.MissingPipeline(snap, name)
	}
	d := queuePage{
		snap: snap, p: p, q: q, now: now, base: s.site.Base, path: letter.QueueAddress(s.site.Base, name, ""), plan: web.KeepZone(r, s.site.Base+"/dead-letters/plan"),
		who: r.Who, whole: r.Who.Can(auth.Admin), missing: letter.WhyNot(r, s.site, s.deps.Letters, name),
	}
	if d.q.queue == "" {
		d.q.queue = deepest(p)
	}
	if d.q.queue == "" {
		return d, nil
	}
	d.view = asCounted(p, d.q.queue)
	switch {
	case s.deps.Letters == nil:
		d.silent = letter.NoAccess
		return d, d.known()
	case !r.Who.Can(auth.Operator): // who may not look is not asked for: the service would note the attempt
		d.silent = "What is in the queue is seen by those with the role " + auth.Operator.String() + "; you are signed in as " + r.Who.Role.String()
		return d, d.known()
	}
	ask := s.deps.Letters.Queue
	if d.q.parking {
		ask = s.deps.Letters.ParkingQueue
	}
	view, err := ask(r.Context(), r.Asker(), name, d.q.queue)
	switch {
	case err != nil && (d.q.parking || dedup.KindOf(err) != dedup.Unavailable):
		return d, err
	case err != nil:
		d.silent = dedup.PublicText(err)
	default:
		d.view = view
	}
	return d, nil
}

// known refuses a queue that the pipeline does not have.
func (d queuePage) known() error {
	var names []string
	for _, q := range d.p.DeadLetterQueues {
		if q.Name == d.q.queue {
			return nil
		}
		names = append(names, show.Within(q.Name))
	}
	return web.NotFound("The pipeline " + d.p.Pipeline.Name + " has no dead-letter queue of this name: it has " + strings.Join(names, ", "))
}

// deepest is the dead-letter queue with the most messages; the first one while no depth is known.
func deepest(p *dedup.PipelineStatus) string {
	name, most := "", -1.0
	for _, q := range p.DeadLetterQueues {
		depth := -0.5
		if q.Depth.Known() {
			depth = q.Depth.Value
		}
		if depth > most {
			name, most = q.Name, depth
		}
	}
	return name
}

// asCounted is a queue as the last round counted it, without anything that only looking at it can tell.
func asCounted(p *dedup.PipelineStatus, queue string) deadletter.QueueView {
	v := deadletter.QueueView{Pipeline: p.Pipeline.Name, Queue: dedup.DeadLetterQueue{QueueRef: dedup.QueueRef{Vhost: p.Pipeline.Vhost, Name: queue}}}
	for _, q := range p.DeadLetterQueues {
		if q.Name == queue {
			v.Queue = q
		}
	}
	return v
}

func (d queuePage) page(frame templates.Frame) templates.DeadQueueView {
	name := d.p.Pipeline.Name
	v := templates.DeadQueueView{
		LivePage: show.LivePage(frame, d.q.address(d.path), d.snap, d.now), Crumbs: letter.Crumbs(d.base, name, ""), Name: show.Key(d.view.Queue.Name), Kind: "Dead letters in",
		Parking: d.q.parking,
		Depth:   show.Reading(d.view.Queue.Depth, d.now), Facts: d.facts(),
	}
	if d.q.parking {
		v.Kind, v.Other, v.OtherWord = "Parking queue", letter.QueueAddress(d.base, name, d.q.queue), "Its dead-letter queue"
		v.Crumbs = letter.Crumbs(d.base, name, d.q.queue)
	} else if d.silent == "" {
		v.Other, v.OtherWord = letter.ParkingAddress(d.base, name, d.q.queue), "Parking queue: what was discarded"
	}
	for _, q := range d.p.DeadLetterQueues {
		if q.QueueRef == d.view.Queue.QueueRef { // which may have been looked at since it was counted
			q.Depth = d.view.Queue.Depth
		}
		v.Queues = append(v.Queues, templates.Tab{
			Label: show.ShortName(q.Name), Count: show.Reading(q.Depth, d.now).Text, Href: letter.QueueAddress(d.base, name, q.Name), Active: q.Name == d.q.queue,
		})
	}
	if d.view.Job != "" {
		v.Job = letter.JobAddress(d.base, d.view.Job)
	}
	if d.view.Absent != "" {
		v.NoQueue = "no such queue yet"
		v.Missing = templates.Sentence("This queue does not exist yet: the first discard from " + show.Within(d.view.Absent) + " makes it.")
		return v
	}
	if d.silent != "" {
		v.Missing = templates.Sentence(show.EndSentence(d.silent))
		return v
	}
	v.Look, v.Whole = d.look(), d.wholeForm()
	if d.view.Scan != nil {
		scan := d.scanView(*d.view.Scan)
		v.Scan = &scan
	}
	return v
}

func (d queuePage) facts() []templates.Fact {
	q := d.view.Queue
	facts := show.Facts{{Label: "Virtual host", Value: show.ShortName(q.Vhost)}}
	add := facts.Add
	add("Type", show.ShortName(q.Type))
	add("Found by", templates.Sentence(q.Found).Short)
	if q.Consumers.Known() {
		add("Consumers", templates.Number(q.Consumers.Value))
	}
	add("Shared with", show.Sharers(q.Shared))
	if !d.q.parking {
		if shared := show.SharedQueue(d.snap, d.p, q.QueueRef); shared != nil {
			add("Coming in", show.Arrivals(shared.Inflow))
		} else if in := show.Figures(d.p, time.Hour).DeadLetterInflow; in.Known() {
			add("Coming in", show.Arrivals(in))
		}
	}
	return facts
}

// look offers to look at the queue, after what that does to it.
func (d queuePage) look() templates.LookForm {
	l := templates.LookForm{
		Action: d.path + "/scan", Queue: d.q.queue, Parking: d.q.parking, Refused: refusal(d.view.WhyNoScan), Missing: templates.Sentence(d.missing),
		Effects: show.Texts(d.view.Effects, d.now), Again: d.view.Scan != nil,
	}
	for _, n := range []int{100, 1000, deadletter.MaxScan} {
		label := "the first " + templates.Number(n)
		l.Limits = append(l.Limits, templates.Choice{Value: strconv.Itoa(n), Label: label, Chosen: n == 1000})
	}
	return l
}

// refusal says why a queue is not looked at; empty when it may be.
func refusal(why string) templates.Text {
	if why == "" {
		return templates.Text{}
	}
	return templates.Sentence("Its messages are not looked at: " + show.EndSentence(why))
}

// wholeForm moves the whole queue where single messages cannot be picked out of it.
func (d queuePage) wholeForm() templates.WholeForm {
	w := templates.WholeForm{Action: d.plan, Queue: d.q.queue, Name: d.p.Pipeline.Name}
	switch {
	case d.view.WhyNoMove != "" && d.view.WhyNoMove == d.view.WhyNoScan:
	case d.view.WhyNoMove != "" && d.missing == "":
		w.Why, w.Missing = templates.Sentence("Nothing can be moved out of this queue."), templates.Sentence(show.EndSentence(d.view.WhyNoMove))
	case d.view.WhyNotSelective != "" && d.missing == "":
		w.Why = templates.Sentence("Only the whole queue can be moved, because what is left out would have to be put back.")
		if d.view.WhyNotSelective != d.view.WhyNoScan {
			w.Why = templates.Sentence("Only the whole queue can be moved: " + show.EndSentence(d.view.WhyNotSelective))
		}
		w.Buttons = []templates.Choice{{Value: "requeue-whole", Label: "Preview requeue of the whole queue"}, {Value: "discard-whole", Label: "Preview discard of the whole queue"}}
		if d.q.parking {
			w.Buttons = []templates.Choice{{Value: "restore-whole", Label: "Preview restore of the whole queue"}}
		}
		if w.Denied = letter.NeedsAdmin(d.who, "Moving a whole queue"); w.Denied != "" && !d.q.parking && d.view.OperatorLimit > 0 {
			w.First, w.FirstWord = "requeue-head", "Preview requeue of the first "+templates.Number(d.view.OperatorLimit)
		}
	}
	return w
}

// scanSentence says how much of a queue was looked at, when and by whom.
func scanSentence(scan deadletter.Scan, now time.Time) string {
	return fmt.Sprintf("%s of %s looked at, at %s, by %s", templates.Number(len(scan.Letters)), templates.Number(scan.Ready), show.Moment(scan.At, now).Text,
		show.ShortName(scan.By))
}

// scan looks at the head of a dead-letter queue and leads back to its page.
func (s pages) scan(r *web.Request) (web.Response, error) {
	service, err := s.service()
	if err != nil {
		return nil, err
	}
	name, queue := r.PathValue("name"), r.PostForm.Get("queue")
	if queue == "" || len(queue) > web.MaxRef {
		return nil, list.Bad("queue", "must name one, with at most 255 bytes")
	}
	limit, err := strconv.Atoi(r.PostForm.Get("limit"))
	if err != nil || limit < 1 || limit > deadletter.MaxScan {
		return nil, list.Bad("limit", "must be a whole number from 1 to "+templates.Number(deadletter.MaxScan))
	}
	back := letter.QueueAddress(s.site.Base, name, queue)
	look := queue
	if r.PostForm.Get("parking") == "1" {
		back = letter.ParkingAddress(s.site.Base, name, queue)
		if look, err = parkingName(r, service, name, queue); err != nil {
			return nil, err
		}
	}
	if _, err := service.Scan(r.Context(), r.Asker(), deadletter.ScanRequest{Pipeline: name, Queue: look, Limit: limit}); err != nil {
		return nil, err
	}
	return web.Redirect{To: back + "#found"}, nil
}

// parkingName is the name of the parking queue that belongs to a dead-letter queue.
func parkingName(r *web.Request, service queues, pipeline, queue string) (string, error) {
	view, err := service.ParkingQueue(r.Context(), r.Asker(), pipeline, queue)
	if err != nil {
		return "", err
	}
	return view.Queue.Name, nil
}

// hiddenState are the parameters that the filter form keeps.
func (d queuePage) hiddenState() []templates.Fact {
	hidden := []templates.Fact{{Label: "queue", Value: d.q.queue}}
	if d.q.parking {
		hidden = append(hidden, templates.Fact{Label: "parking", Value: "1"})
	}
	if d.q.by != deadletter.ByReason {
		hidden = append(hidden, templates.Fact{Label: "by", Value: string(d.q.by)})
	}
	return hidden
}

// letterPath is the page of a letter of the scan.
func (d queuePage) letterPath(scan deadletter.Scan, ref string) string {
	return letter.Key{Pipeline: d.p.Pipeline.Name, Queue: scan.Queue.Name, Scan: scan.ID, Ref: ref}.Address(d.base)
}

// exportAddress is a table of the scan under the filter.
func (d queuePage) exportAddress(kind string, scan deadletter.Scan) string {
	v := url.Values{"scan": {scan.ID}}
	if d.q.text != "" {
		v.Set("filter", d.q.text)
	}
	return strings.TrimSuffix(d.path, "/dead-letters") + "/dead-letters." + kind + "?" + v.Encode()
}
