// Package docs holds the pages of the documentation, so that the program can show them where they are needed.
package docs

import "embed"

// Pages are the pages as Markdown, by file name: alerts.md.
//
//go:embed *.md
var Pages embed.FS
