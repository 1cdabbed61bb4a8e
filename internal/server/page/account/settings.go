package account

import (
	"net/http"
	"strings"
	"time"

	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
)

// settingsAge is how long a browser keeps how it wants its pages.
const settingsAge = 365 * 24 * time.Hour

// settings stores theme and time zone in the browser and goes back to the page it came from.
func (s pages) settings(r *web.Request) (web.Response, error) {
	chosen := r.PostForm.Get("theme")
	if chosen != "light" && chosen != "dark" {
		chosen = ""
	}
	name := strings.TrimSpace(r.PostForm.Get("tz"))
	if _, err := web.LoadZone(name); err != nil {
		return nil, web.Invalid("There is no time zone " + show.Clean(name, 64) + "; write it as Europe/Berlin or UTC")
	}
	r.SetCookie(s.settingsCookie(web.ThemeCookie, chosen))
	r.SetCookie(s.settingsCookie(web.ZoneCookie, name))
	return web.Redirect{To: web.Back(s.site.Base, r)}, nil
}

func (s pages) settingsCookie(name, value string) *http.Cookie {
	c := &http.Cookie{
		Name: name, Value: value, Path: s.site.Base + "/", MaxAge: int(settingsAge.Seconds()),
		HttpOnly: true, Secure: s.site.Secure, SameSite: http.SameSiteLaxMode,
	}
	if value == "" {
		c.MaxAge = -1
	}
	return c
}
