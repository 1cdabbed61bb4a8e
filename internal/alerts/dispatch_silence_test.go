package alerts

import "time"

// silenceOfPipeline covers all alerts of a pipeline for a time.
func silenceOfPipeline(name string, from, to time.Time) Silence {
	return Silence{ID: "s-" + name, Matchers: []Matcher{{Name: "pipeline", Op: MatchEqual, Value: name}}, Author: "ann", Reason: "deploy", Starts: from, Ends: to}
}
