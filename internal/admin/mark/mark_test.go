package mark

import (
	"testing"

	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/admintest"
)

func TestAMarkThatIsRefusedLeavesOneDeniedEntryWithItsReason(t *testing.T) {
	audit := &admintest.Recorder{}
	_, err := New(Deps{Gate: audit.Gate(), ReadOnly: true}).Add(t.Context(), admintest.Caller("rae", auth.Operator), dedup.Mark{Text: "deployed"})
	admintest.Denied(t, "add_mark", err, audit.Entries)
}
