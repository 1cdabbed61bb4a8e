// Package templates holds the pages: templ components and the view models they show. View models hold only strings,
// numbers, bools and times, so that a page can be rendered without anything else of the program.
package templates

// A LivePage is what pages share that follow what is judged or read.
type LivePage struct {
	Frame Frame
	// Self is the page's own address with its filters, which live regions fetch again.
	Self string
	// AsOf is when the shown round or evaluation ended, Late why that is old; Every is the interval, Seconds the same for the script.
	AsOf    Moment
	Every   string
	Seconds int
	Late    string
}

// Frame is what every page shares: title, navigation, who is asking, and the state of the whole.
type Frame struct {
	Title string
	// Path is the current path below the base path, for aria-current.
	Path string
	// Base is the base path without a trailing slash.
	Base string
	User string
	Role string
	// ReadOnly says that nothing can be changed through this dashboard.
	ReadOnly bool
	// Bundle reports whether the JavaScript and CSS bundle is part of this build.
	Bundle  bool
	Version string
	// Now is the server's time, RFC 3339 in UTC, and Zone the zone that times are shown in.
	Now  string
	Zone string
	// Banner is the worst of the whole in one sentence: tiers and sources that do not answer; empty unless severe or worse.
	Banner     string
	BannerTier string
	// BannerHref leads to what the banner is about.
	BannerHref string
	// Live is the path of the event stream with its topics; empty on pages that do not change.
	Live string
	// Theme is light or dark; empty follows the system.
	Theme string
	// Looks offers the look-up of messages, Audit the record of actions: where they exist and the reader may see them.
	Looks bool
	Audit bool
	// Dead is the number of dead letters, for the navigation; empty while it is not known, and where it is 0.
	Dead string
	// Alerts offers the list of alerts, NeedEyes is how many of them need eyes; empty where none does.
	Alerts   bool
	NeedEyes string
	// Jobs offers the list of moves of messages.
	Jobs bool
	// Refresh makes a page without the script load itself again after so many seconds, from Reload; 0 for never.
	Refresh int
	Reload  string
	// Slow makes a page with the script wait for the stream alone rather than ask every two seconds.
	Slow bool
}

// LoginView is the sign-in form.
type LoginView struct {
	Frame Frame
	Name  string
	Next  string
	// Error is shown above the form; empty at first. Told is what was done just before, if anything.
	Error string
	Told  string
}

// SetupView is the form behind the one-time link that makes the first admin.
type SetupView struct {
	Frame Frame
	Token string
	Name  string
	Error string
}

// AccountView is the page of whoever is signed in.
type AccountView struct {
	Frame Frame
	Name  string
	Role  string
	// Token is true for a program, which has no password; Configured for an account that is kept in the configuration, and changed there.
	Token      bool
	Configured bool
	// MinPassword is how many characters a new password has at least.
	MinPassword int
	// Changed is true right after the password was.
	Changed bool
	// Error is shown above the form; empty at first.
	Error string
}

// ErrorView is every error page.
type ErrorView struct {
	Frame     Frame
	Status    int
	Heading   string
	Message   string
	RequestID string
	// BackWord words the way back, where that leads elsewhere than to a form.
	BackWord string
	// Back leads to where the form was; empty leads to the overview.
	Back string
	// Again sends the form that was refused once more, changed so that it can be done; nil where it cannot.
	Again *FormAgain
}

// A FormAgain is a form of one button that sends what is known already.
type FormAgain struct {
	Action string
	Label  string
	Fields []FormField
}

// A FormField is what a form sends without showing it.
type FormField struct {
	Name  string
	Value string
}
