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
	AboutAudit     Subject = "The audit itself"
	// AboutRefusedLetters and AboutRefusedMarkers are what leaves an entry only where it is refused.
	AboutRefusedLetters Subject = "Dead letters and jobs, where refused"
	AboutRefusedMarkers Subject = "Markers and records, where refused"
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

// ActionKeyAudit is the entry from which on the chain of the audit carries the key of the installation.
const ActionKeyAudit = "key_audit"

// The names of actions that are written as they stand here; the others are made by MoveAction, MovePlanAction and the deeds on markers.
const (
	actFirstAdmin = "create_first_admin"
	actSignIn     = "sign_in"
	actSignOutAll = "sign_out_everywhere"
	actPassword   = "change_password"
	// actRefusedRequest is a request that no action came of: from another site, without the role, or with a token that is not known.
	actRefusedRequest = "refused_request"

	ActAcknowledge = "acknowledge_dead_letters"
	ActForget      = "forget_acknowledged_dead_letters"
	ActMark        = "add_mark"
	ActMeasure     = "measure_pipeline"
	// ActStopMeasuring ends a measurement before its time.
	ActStopMeasuring = "stop_measurement"
	ActAckAlert      = "acknowledge_alert"
	ActUnackAlert    = "unacknowledge_alert"
	ActSilence       = "add_silence"
	// ActExpireSilence ends a silence before its time.
	ActExpireSilence = "expire_silence"
	ActTestChannel   = "test_channel"

	ActLook   = "scan_dead_letters"
	ActReveal = "reveal_dead_letter"
	ActExport = "export_dead_letters"
	ActPause  = "pause_job"
	ActResume = "resume_job"
	ActCancel = "cancel_job"
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
		{Name: ActAcknowledge, Label: "acknowledge dead letters", About: AboutPipelines},
		{Name: ActForget, Label: "take an acknowledgement back", About: AboutPipelines},
		{Name: ActMark, Label: "mark what happened", About: AboutPipelines},
		{Name: ActMeasure, Label: "measure a pipeline exactly", About: AboutPipelines},
		{Name: ActStopMeasuring, Label: "stop a measurement", About: AboutPipelines},
		{Name: actFirstAdmin, Label: "make the first admin", About: AboutAccounts},
		{Name: actSignIn, Label: "sign in", About: AboutAccounts},
		{Name: actSignOutAll, Label: "sign out everywhere", About: AboutAccounts},
		{Name: actPassword, Label: "change the own password", About: AboutAccounts},
		{Name: actRefusedRequest, Label: "send a request that was refused", About: AboutAccounts},
		{Name: ActionKeyAudit, Label: "begin to key the chain of the audit", About: AboutAudit},
	}, refusedKinds())
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
		{Name: ActLook, Label: "look at the messages of a queue"},
		{Name: ActReveal, Label: "reveal a message, or open it to edit it"},
		{Name: ActExport, Label: "export messages"},
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
	return about(AboutJobs, []ActionKind{{Name: ActPause, Label: "pause a job"}, {Name: ActResume, Label: "resume a job"}, {Name: ActCancel, Label: "cancel a job"}})
}

func alertKinds() []ActionKind {
	return about(AboutAlerts, []ActionKind{
		{Name: ActAckAlert, Label: "acknowledge an alert"},
		{Name: ActUnackAlert, Label: "take the acknowledgement of an alert back"},
		{Name: ActSilence, Label: "silence alerts"},
		{Name: ActExpireSilence, Label: "end a silence"},
		{Name: ActTestChannel, Label: "send a notification for trial"},
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

// refusedKinds are what is allowed without an entry, or leaves one of another kind: only where it is refused it leaves these.
func refusedKinds() []ActionKind {
	return slices.Concat(about(AboutRefusedLetters, []ActionKind{
		{Name: "look_at_dead_letter_queue", Label: "open the page of a dead-letter queue"},
		{Name: "look_at_parking_queue", Label: "open the page of discarded messages"},
		{Name: "read_scan", Label: "open what a look found"},
		{Name: "read_letter", Label: "open a message"},
		{Name: "look_up_dead_letters", Label: "look up a message in what looks found"},
		{Name: "plan_move", Label: "plan to move messages"},
		{Name: "read_move_plan", Label: "open a plan to move messages"},
		{Name: "start_move", Label: "carry out a plan to move messages"},
		{Name: "start_" + string(Requeue), Label: "carry out a requeue"},
		{Name: "start_" + string(Discard), Label: "carry out a discard"},
		{Name: "start_" + string(RestoreLetters), Label: "carry out a plan to restore discarded messages"},
		{Name: "clear_for_requeue", Label: "clear markers for a requeue"},
		{Name: "read_job", Label: "open a job"},
		{Name: "read_jobs", Label: "open the list of jobs"},
		{Name: "look_up_jobs", Label: "look up a message in jobs"},
	}), about(AboutRefusedMarkers, []ActionKind{
		{Name: "browse_markers", Label: "open the list of markers"},
		{Name: "look_at_marker", Label: "open a marker"},
		{Name: "look_up", Label: "look up a marker"},
		{Name: "plan", Label: "plan a change of markers"},
		{Name: "read_plan", Label: "open a plan of markers"},
		{Name: "execute_plan", Label: "carry out a plan of markers"},
		{Name: "read_operation", Label: "open an operation"},
		{Name: "read_operations", Label: "open the list of operations"},
		{Name: "read_audit", Label: "open the audit"},
		{Name: "verify_audit", Label: "check the chain of the audit"},
	}))
}

func about(s Subject, kinds []ActionKind) []ActionKind {
	for i := range kinds {
		kinds[i].About = s
	}
	return kinds
}
