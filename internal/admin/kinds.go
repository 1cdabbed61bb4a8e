package admin

import (
	"slices"
	"strings"
)

// A Subject is what an action is about; the audit groups its kinds of actions by it.
type Subject string

// The subjects of actions, as people read them.
const (
	AboutLetters Subject = "Dead letters"
	AboutJobs    Subject = "Jobs"
	AboutMarkers Subject = "Markers"
	AboutAlerts  Subject = "Alerts"
	// AboutPipelines is what is done to a pipeline itself.
	AboutPipelines Subject = "Pipelines"
	AboutAccounts  Subject = "Accounts"
	// AboutReading is what leaves an entry only where it is refused.
	AboutReading Subject = "Reading, where it was refused"
)

// An ActionKind is one kind of action that the audit can hold.
type ActionKind struct {
	// Name is the stable word for machines in Entry.Action, Label the words for people.
	Name  string
	Label string
	About Subject
	// Step marks what is no action of its own but a part of one, marker by marker.
	Step bool
}

// The names of actions that are written as they stand here; the others are made by MoveAction, MovePlanAction and the deeds on markers.
const (
	actFirstAdmin  = "create_first_admin"
	actAcknowledge = "acknowledge_dead_letters"
	actForget      = "forget_acknowledged_dead_letters"
	actMark        = "add_mark"
	actAckAlert    = "acknowledge_alert"
	actUnackAlert  = "unacknowledge_alert"
	actSilence     = "add_silence"
	// actExpireSilence ends a silence before its time.
	actExpireSilence = "expire_silence"
	actTestChannel   = "test_channel"

	actLook   = "scan_dead_letters"
	actReveal = "reveal_dead_letter"
	actExport = "export_dead_letters"
	actPause  = "pause_job"
	actResume = "resume_job"
	actCancel = "cancel_job"
)

// MoveAction is how the audit names a job that does this.
func MoveAction(do Move) string {
	return strings.TrimSuffix(string(do), "_letters") + "_dead_letters"
}

// MovePlanAction is how the audit names a plan of such a job.
func MovePlanAction(do Move) string { return "plan_" + string(do) }

// ActionKinds returns every kind of action that the audit can hold: what acts first, what leaves an entry only when it is refused last.
// It is the one list of them: no other name is written.
func ActionKinds() []ActionKind {
	return slices.Concat(letterKinds(), jobKinds(), markerKinds(), alertKinds(), []ActionKind{
		{Name: actAcknowledge, Label: "acknowledge dead letters", About: AboutPipelines},
		{Name: actForget, Label: "take an acknowledgement back", About: AboutPipelines},
		{Name: actMark, Label: "mark what happened", About: AboutPipelines},
		{Name: actFirstAdmin, Label: "make the first admin", About: AboutAccounts},
	}, readingKinds())
}

// KindOf returns the kind of action with a name; one of that name alone where there is none, as in an audit of another version.
func KindOf(name string) ActionKind {
	for _, k := range ActionKinds() {
		if k.Name == name {
			return k
		}
	}
	return ActionKind{Name: name, Label: strings.ReplaceAll(name, "_", " ")}
}

func letterKinds() []ActionKind {
	kinds := []ActionKind{
		{Name: actLook, Label: "look at a queue"},
		{Name: actReveal, Label: "reveal a message, or open it to edit it"},
		{Name: actExport, Label: "export messages"},
		{Name: MoveAction(Requeue), Label: "requeue messages"},
		{Name: MoveAction(Discard), Label: "discard messages"},
		{Name: MoveAction(RestoreLetters), Label: "restore discarded messages"},
		{Name: MovePlanAction(Requeue), Label: "plan a requeue"},
		{Name: MovePlanAction(Discard), Label: "plan a discard"},
		{Name: MovePlanAction(RestoreLetters), Label: "plan to restore discarded messages"},
	}
	return about(AboutLetters, kinds)
}

func jobKinds() []ActionKind {
	return about(AboutJobs, []ActionKind{{Name: actPause, Label: "pause a job"}, {Name: actResume, Label: "resume a job"}, {Name: actCancel, Label: "cancel a job"}})
}

func alertKinds() []ActionKind {
	return about(AboutAlerts, []ActionKind{
		{Name: actAckAlert, Label: "acknowledge an alert"},
		{Name: actUnackAlert, Label: "take the acknowledgement of an alert back"},
		{Name: actSilence, Label: "silence alerts"},
		{Name: actExpireSilence, Label: "end a silence"},
		{Name: actTestChannel, Label: "send a notification for trial"},
	})
}

func markerKinds() []ActionKind {
	var kinds []ActionKind
	for _, d := range []struct {
		deed              Deed
		whole, plan, step string
	}{
		{ClearMarkers, "clear markers", "plan to clear markers", "clear one marker"},
		{SetExpiry, "give markers an expiry", "plan an expiry of markers", "give one marker an expiry"},
		{RestoreMarkers, "undo: restore markers", "plan an undo", "restore one marker"},
	} {
		kinds = append(kinds, ActionKind{Name: string(d.deed) + "_markers", Label: d.whole}, ActionKind{Name: "plan_" + string(d.deed), Label: d.plan},
			ActionKind{Name: string(d.deed) + "_marker", Label: d.step, Step: true})
	}
	return about(AboutMarkers, kinds)
}

// readingKinds are what is allowed without an entry: only who lacks the role leaves one.
func readingKinds() []ActionKind {
	var kinds []ActionKind
	for _, name := range []string{
		"plan_move", "start_move", "start_" + string(Requeue), "start_" + string(Discard), "start_" + string(RestoreLetters), "plan", "execute_plan", "clear_for_requeue",
		"look_at_dead_letter_queue", "look_at_parking_queue", "read_scan", "read_letter", "look_up_dead_letters", "read_move_plan", "read_job", "read_jobs", "look_up_jobs",
		"browse_markers", "look_at_marker", "look_up", "read_plan", "read_operation", "read_operations", "read_audit", "verify_audit",
	} {
		kinds = append(kinds, ActionKind{Name: name, Label: strings.ReplaceAll(name, "_", " ")})
	}
	return about(AboutReading, kinds)
}

func about(s Subject, kinds []ActionKind) []ActionKind {
	for i := range kinds {
		kinds[i].About = s
	}
	return kinds
}
