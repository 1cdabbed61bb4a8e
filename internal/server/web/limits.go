package web

import (
	"regexp"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/web/templates"
)

// MaxKey is the longest key that fits an address; longer ones have no page of their own.
const MaxKey = 2000

// MaxRef bounds what an address may name: references are hashes, ids are ours, and a queue has at most 255 bytes.
const MaxRef = 255

// MaxText bounds a text that is searched, in bytes.
const MaxText = 200

// MaxHeaderBytes is the most bytes of the headers of a request, its address among them.
const MaxHeaderBytes = 32 << 10

// IsPipeline reports whether a name has the shape of a pipeline's; nothing else can be a path of ours.
func IsPipeline(name string) bool { return pipelineName.MatchString(name) }

var pipelineName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]*$`)

// BadFilter stands in for the rows of a list whose address asks for what there is not: the form above it works all the same. Clear leads
// to the list without a filter.
func BadFilter(wrong error, clear string) templates.Empty {
	return templates.Empty{Heading: "This filter cannot be used", Text: show.ErrorText(wrong), Href: clear, Link: "Clear the filter"}
}

// NotConfigured says why a list is empty that keeps what is gone too: nothing of the name is configured. It is empty where something is, where
// no name is given, and before the first round, in which nothing is known yet.
func NotConfigured(snap *dedup.Snapshot, pipeline, store string) string {
	if snap.Round == 0 {
		return ""
	}
	if _, ok := snap.Pipeline(pipeline); pipeline != "" && !ok {
		return "No pipeline of that name is configured; nothing recorded."
	}
	if _, ok := snap.Store(store); store != "" && !ok {
		return "No store of that name is configured; nothing recorded."
	}
	return ""
}

// MissingPipeline says why a snapshot has no pipeline of this name: there is none, or nothing was read yet.
func MissingPipeline(snap *dedup.Snapshot, name string) error {
	if snap.Round == 0 && IsPipeline(name) {
		return Starting()
	}
	return NoPipeline(name)
}

// NoPipeline says that there is no pipeline of this name.
func NoPipeline(name string) error {
	return NotFound("There is no pipeline named " + show.ShortName(name) + ".")
}
