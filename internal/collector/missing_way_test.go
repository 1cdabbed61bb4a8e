package collector

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

func TestLostMessagesAreUnknownWhereDeadLettersAreDropped(t *testing.T) {
	at := func(v float64) dedup.WindowFigures {
		f := dedup.Exact(dedup.Measured, dedup.Count, v, time.Now(), eventSource)
		f.AtLeast = true
		return dedup.WindowFigures{Window: time.Hour, Lost: f}
	}
	missing, kept := exchangeMissing("loyalty", routing{}), exchangeMissing("loyalty", routing{})
	kept.Text = strings.Replace(kept.Text, beingDropped, "are held back in it for ever", 1)
	for _, c := range []struct {
		name    string
		finding dedup.Finding
		lost    float64
		known   bool
	}{{"none seen, way missing", missing, 0, false}, {"some seen, way missing", missing, 3, true}, {"none seen, held back", kept, 0, true}, {"no finding", dedup.Finding{}, 0, true}} {
		st := dedup.PipelineStatus{Windows: []dedup.WindowFigures{at(c.lost)}, Findings: []dedup.Finding{c.finding}}
		missingWay(&st)
		if f := st.Windows[0].Lost; f.Known() != c.known || !c.known && (!strings.Contains(f.Why, "being dropped") || f.Window != time.Hour) {
			t.Errorf("%s: %+v", c.name, f)
		}
	}
}
