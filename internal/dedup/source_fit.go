package dedup

import "slices"

// Refuses says why a source can never tell the duplicate rate of a scheme, whatever is counted; empty where it can. The estimates
// themselves refuse by it, so that the docs, check and the pages say what they do.
func (s Scheme) Refuses(m Method) string {
	switch m {
	case MethodIDGap:
		return s.refusesIDGap()
	case MethodStoreHits:
		return s.refusesHits()
	case MethodStoreEvents:
		return s.refusesEvents()
	case MethodLive:
		if s.acksHits() {
			return ""
		}
		return s.refusesSettled()
	case MethodExports:
		return s.refusesSettled()
	case MethodResidual:
		return s.refusesResidual()
	}
	return ""
}

func (s Scheme) refusesIDGap() string {
	switch {
	case s.HasStore() && !s.CountsInserts():
		return "the store is no table whose ids tell of failed inserts"
	case !s.InsertFirst:
		return "consumers of this scheme do not begin each delivery with an insert, so that duplicates burn no ids"
	case s.OnInFlight == "nack":
		return "consumers of this scheme return deliveries that meet a row in flight, and each return burns an id as a duplicate does"
	case s.OnInFlight == "wait" && !s.Transactional:
		return "consumers of this scheme wait for rows in flight and insert again, and each try burns an id as a duplicate does"
	case s.OnFailed == "nack" || s.OnFailed == "run":
		return "consumers of this scheme do not ack deliveries that meet a failed row, and each burns an id as a duplicate does"
	}
	return ""
}

func (s Scheme) refusesHits() string {
	switch {
	case s.Lock:
		return "a lock keeps no marker of what is done, so that what meets it is no duplicate"
	case s.Business:
		return "deliveries of this scheme move a business row on, and what they met does not show"
	case s.HasStore() && !s.Notifies() && !s.CountsStatements():
		return "the store tells neither of questions nor of statements"
	case s.Notifies() && s.OnInFlight == "wait":
		return "consumers of this scheme wait for work in flight and ask again, so that questions are no deliveries"
	case s.CountsStatements() && (s.OnInFlight == "wait" && !s.Transactional || s.OnFailed == "run"):
		return "consumers of this scheme ask more than once for a delivery"
	}
	return ""
}

func (s Scheme) refusesEvents() string {
	switch {
	case s.Lock:
		return "a lock keeps no marker of what is done, so its events do not tell of duplicates"
	case s.HasStore() && !s.Notifies():
		return "only Redis strings give store events"
	case s.OnInFlight == "wait":
		return "consumers of this scheme wait for work in flight and ask again, so that calls are no deliveries"
	case s.Mark != "before":
		return "consumers of this scheme mark only after the work: a call that finds nothing does not show in the events"
	case s.OnFail != "delete" && s.OnInFlight != "ack":
		return "consumers of this scheme ack or keep failed work, whose hits the events do not tell from duplicates"
	}
	return ""
}

// refusesSettled says why what the store settled cannot be told as it happens.
func (s Scheme) refusesSettled() string {
	if s.HasStore() && !s.Notifies() {
		return "only Redis strings tell of each completion as it happens"
	}
	if s.Mark == "before" && slices.Contains(s.States, Failed) {
		return "consumers of this scheme write failed markers, which the events do not tell from completions"
	}
	return s.refusesAcks()
}

// acksHits reports whether consumers claim each message before its work, delete the claim of a failure and ack whatever meets one: the deliveries
// that claimed nothing are then all that can be duplicates.
func (s Scheme) acksHits() bool {
	return s.Notifies() && s.Mark == "before" && s.OnInFlight == "ack" && s.OnFail == "delete" && !s.Lock
}

func (s Scheme) refusesResidual() string {
	if why := s.refusesAcks(); why != "" {
		return why
	}
	if s.DoneTTL <= 0 {
		return "markers of this scheme never expire, so the time of a completion cannot be known"
	}
	return ""
}

// refusesAcks says why acks less completions are no duplicates.
func (s Scheme) refusesAcks() string {
	switch {
	case s.OnInFlight == "ack":
		return "consumers of this scheme ack messages that are still in flight, so lost messages look like duplicates"
	case s.OnFail == "ack" && s.GiveUp == 0:
		return "consumers of this scheme ack failed messages, which look like duplicates"
	case s.Lock:
		return "a lock keeps no marker of what is done"
	case s.Mark == "before" && slices.Contains(s.States, Present):
		return "markers of this scheme do not tell whether their work was done"
	}
	return ""
}

// BoundsOnly reports whether a source tells an upper bound of the rate alone in a scheme: its low end is 0.
func (s Scheme) BoundsOnly(m Method) bool {
	switch m {
	case MethodIDGap:
		return s.OnFail == "delete" || s.Transactional
	case MethodStoreEvents:
		return s.OnInFlight == "ack"
	case MethodLive:
		return s.acksHits()
	case MethodStoreHits:
		return s.Notifies() && s.OnInFlight == "ack"
	}
	return false
}

// RateSources lists the sources that can tell the rate of a scheme, or bound it, beside the counters that consumers report, which always can.
func (s Scheme) RateSources() []Method {
	var all []Method
	for _, m := range Methods() {
		if m != MethodReported && s.HasStore() && s.Refuses(m) == "" {
			all = append(all, m)
		}
	}
	return all
}
