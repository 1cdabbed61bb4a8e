// Package docs holds the pages of the documentation, so that the program can show them where they are needed.
package docs

import (
	"embed"
	"io/fs"
	"regexp"
	"strings"
)

// Pages are the pages as Markdown, by file name: alerts.md.
//
//go:embed *.md
var Pages embed.FS

// page matches a reference to a page of the documentation: docs/alerts.md#backlog.
var page = regexp.MustCompile(`^(?:docs/)?([a-z-]+\.md)(#[a-z0-9_-]+)?$`)

// Path returns the address below the base path of what the documentation calls alerts.md#backlog or docs/alerts.md#backlog;
// empty for anything else.
func Path(reference string) string {
	m := page.FindStringSubmatch(reference)
	if m == nil {
		return ""
	}
	if _, err := fs.Stat(Pages, m[1]); err != nil {
		return ""
	}
	return "/docs/" + strings.TrimSuffix(m[1], ".md") + m[2]
}
