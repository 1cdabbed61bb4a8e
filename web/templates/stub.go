package templates

import "github.com/a-h/templ"

// Login is the sign-in page.
func Login(v LoginView) templ.Component { return templ.NopComponent }

// Setup is the page that makes the first admin.
func Setup(v SetupView) templ.Component { return templ.NopComponent }

// Error is every error page.
func Error(v ErrorView) templ.Component { return templ.NopComponent }
