package figure

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/sample"
)

// TestAPaceOfRestartsIsOverTheTimeThatIsCovered, as it says, though it is a lower bound.
func TestAPaceOfRestartsIsOverTheTimeThatIsCovered(t *testing.T) {
	six := sample.Increase{Delta: 6, Covered: 10 * time.Minute, At: time.Unix(1000, 0), Known: true}
	restarts := Restarts{Window: 24 * time.Hour, Restarted: six, Closed: six}.Figure()
	if restarts.Low < 35.9 || restarts.Low > 36.1 || !restarts.AtLeast || restarts.N != 6 {
		t.Errorf("restarts %+v", restarts)
	}
}

func TestRestartsAreAtLeastOnlyWhereChannelsWereClosed(t *testing.T) {
	for _, tt := range []struct {
		name    string
		sample  Restarts
		known   bool
		value   float64
		atLeast bool
		words   string
	}{
		{"none, and no channel was closed", Restarts{Restarted: known(0), Closed: known(0)}, true, 0, false, ""},
		{"two, and channels were closed", Restarts{Restarted: known(2), Closed: known(9)}, true, 8, true, "at least"},
		{"a broker that counts no channels", Restarts{Restarted: known(0), Closed: known(0), Blind: true}, true, 0, true, "at least"},
		{"consumers that cannot be listed", Restarts{Why: "statistics are disabled"}, false, 0, false, "statistics are disabled"},
		{"no history", Restarts{}, false, 0, false, "too little"},
	} {
		if f := tt.sample.Figure(); f.Known() != tt.known || f.Value != tt.value || f.AtLeast != tt.atLeast || !strings.Contains(f.Why, tt.words) {
			t.Errorf("%s: %+v", tt.name, f)
		}
	}
}
