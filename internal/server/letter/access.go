package letter

import (
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
)

// NoAccess says that nothing is behind the pages of dead letters.
const NoAccess = "This dashboard was started without access to single messages"

// guard says why nothing can be looked at or moved in a pipeline, "" when it can.
type guard interface{ WhyNot(pipeline string) string }

// WhyNot says why a reader cannot look at or move the messages of a pipeline, and "" if they can; g is nil without access to messages.
func WhyNot(r *web.Request, site web.Site, g guard, pipeline string) string {
	switch {
	case g == nil:
		return show.EndSentence(NoAccess)
	case site.ReadOnly:
		return "This dashboard is read-only: it looks at no message and moves none."
	}
	if why := g.WhyNot(pipeline); why != "" {
		return "Nothing can be looked at or moved here: " + show.EndSentence(why)
	}
	if !r.Who.Can(auth.Operator) {
		return r.NeedsRole("Looking at messages and moving them", auth.Operator)
	}
	return ""
}

// NeedsAdmin is why an operator cannot use a control: "Discarding needs the role admin."; empty for admins. The service refuses in any case:
// this saves the way to a refusal.
func NeedsAdmin(who auth.Principal, what string) string {
	if who.Can(auth.Admin) {
		return ""
	}
	return what + " needs the role " + auth.Admin.String() + "."
}
