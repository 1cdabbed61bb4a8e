// Package letter is what pages of dead letters, their moves and their jobs have in common: words, addresses, rights, and how a move is planned.
package letter

import (
	"net/url"

	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// QueueAddress is the page of a dead-letter queue of a pipeline; without a queue, of its first one.
func QueueAddress(base, pipeline, queue string) string {
	at := base + "/pipelines/" + url.PathEscape(pipeline) + "/dead-letters"
	if queue == "" {
		return at
	}
	return at + "?" + url.Values{"queue": {queue}}.Encode()
}

// ParkingAddress is the page of the parking queue that belongs to a dead-letter queue.
func ParkingAddress(base, pipeline, queue string) string {
	return base + "/pipelines/" + url.PathEscape(pipeline) + "/dead-letters?" + url.Values{"queue": {queue}, "parking": {"1"}}.Encode()
}

// MoveAddress is the review of a plan.
func MoveAddress(base, id string) string { return base + "/moves/" + url.PathEscape(id) }

// JobAddress is the page of a job.
func JobAddress(base, id string) string { return base + "/jobs/" + url.PathEscape(id) }

// Key names a letter of a scan in an address and in the hidden fields of forms.
type Key struct {
	Pipeline, Queue, Scan, Ref string
}

// Values are those of an address.
func (k Key) Values() url.Values {
	return url.Values{"pipeline": {k.Pipeline}, "queue": {k.Queue}, "scan": {k.Scan}, "ref": {k.Ref}}
}

// Address is the page of the letter.
func (k Key) Address(base string) string {
	return base + "/dead-letters/message?" + k.Values().Encode()
}

// Fields are those of a form.
func (k Key) Fields() []templates.Fact {
	return []templates.Fact{{Label: "pipeline", Value: k.Pipeline}, {Label: "queue", Value: k.Queue}, {Label: "scan", Value: k.Scan}, {Label: "ref", Value: k.Ref}}
}

// KeyOf reads which letter a request names.
func KeyOf(values url.Values) (Key, error) {
	k := Key{values.Get("pipeline"), values.Get("queue"), values.Get("scan"), values.Get("ref")}
	for _, part := range []struct{ name, value string }{{"pipeline", k.Pipeline}, {"queue", k.Queue}, {"scan", k.Scan}, {"ref", k.Ref}} {
		if part.value == "" || len(part.value) > web.MaxRef {
			return k, list.Bad(part.name, "must name one, with at most 255 bytes")
		}
	}
	if !web.IsPipeline(k.Pipeline) {
		return k, web.NoPipeline(k.Pipeline)
	}
	return k, nil
}

// Crumbs lead to a dead-letter queue of a pipeline.
func Crumbs(base, pipeline, queue string) []templates.Crumb {
	crumbs := []templates.Crumb{show.Crumb("Dead letters", base+"/dead-letters"), show.Crumb(pipeline, base+"/pipelines/"+url.PathEscape(pipeline))}
	if queue != "" {
		crumbs = append(crumbs, show.Crumb(queue, QueueAddress(base, pipeline, queue)))
	}
	return crumbs
}
