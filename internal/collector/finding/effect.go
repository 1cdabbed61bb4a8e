package finding

import (
	"fmt"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

// EffectsFresh is how long a new double effect is an emergency.
const EffectsFresh = 24 * time.Hour

// DoubleEffects finds work that was done twice. What the first run found, or what is older than a day, is known by now and
// does not alarm for ever.
func DoubleEffects(e *dedup.EffectCheck, now time.Time) []dedup.Finding {
	if e == nil || e.At.IsZero() || e.Fresh == 0 && e.Total == 0 {
		return nil
	}
	f := dedup.Finding{
		Kind: "double_effects", Tier: dedup.Emergency,
		Remedy: "Undo the second effect of each listed key. Then see why no marker stopped it: one that expired before the work ended or was evicted, a lock that was lost, a message with another id, or none.",
	}
	old := e.Total
	for _, k := range e.Keys {
		if now.Sub(k.Found) < EffectsFresh {
			old--
		}
	}
	if e.Fresh == 0 {
		f.Tier = dedup.Warning
		f.Text = fmt.Sprintf("The work of %s%s was done more than once, all of it longer than a day ago", atLeast(e.AtLeast), text.Counted(e.Total, "business key"))
		f.Evidence = oldEffects(e, old, now)
		return []dedup.Finding{f}
	}
	f.Text = fmt.Sprintf("The work of %s%s was done more than once: new in the last 24 h", atLeast(e.AtLeast || e.FreshAtLeast), text.Counted(e.Fresh, "business key"))
	f.Evidence = "for example: " + text.SomeNames(e.FreshKeys)
	if old > 0 {
		f.Evidence += "; beside them, " + oldEffects(e, old, now)
	}
	return []dedup.Finding{f}
}

// oldEffects words the keys that do not alarm.
func oldEffects(e *dedup.EffectCheck, old int64, now time.Time) string {
	if e.Baseline == 0 {
		return fmt.Sprintf("%s%s found earlier", atLeast(e.AtLeast), text.Counted(old, "key"))
	}
	known := fmt.Sprintf("%s%s %s there at the first check, %s", atLeast(e.AtLeast), text.Counted(e.Baseline, "key"), text.Agree(e.Baseline, "was", "were"), text.Clock(e.Since, now))
	if later := old - e.Baseline; later > 0 {
		known += fmt.Sprintf(", and %s found later", text.Counted(later, "key"))
	}
	return known
}

func atLeast(is bool) string {
	if is {
		return "at least "
	}
	return ""
}

// EffectCheckFails finds an effect check that has not succeeded for two turns: double effects do not show then.
func EffectCheckFails(e *dedup.EffectCheck, now time.Time) []dedup.Finding {
	const turns = 2
	if e == nil || e.Err == "" || !e.At.IsZero() && now.Sub(e.At) < turns*e.Every {
		return nil
	}
	evidence := "it has not succeeded yet"
	if !e.At.IsZero() {
		evidence = "it last succeeded at " + text.Clock(e.At, now)
	}
	why, remedy, found := strings.Cut(text.Plain(e.Err, 400), ": ")
	if !found {
		remedy = "see the effect check of the pipeline's configuration"
	}
	return []dedup.Finding{{
		Kind: "effect_check_failing", Tier: dedup.Warning,
		Text:     "The effect check fails, so that work that is done twice does not show: " + why,
		Evidence: evidence, Remedy: remedy,
	}}
}
