// Package guide shows the documentation.
package guide

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"dedup-dashboard/docs"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// pages show the documentation. They are safe for concurrent use.
type pages struct{ site web.Site }

// New returns the routes of the documentation.
func New() web.Pages {
	return func(site web.Site) []web.Route {
		s := pages{site}
		return []web.Route{web.Get("/docs", auth.Viewer, s.index), web.Get("/docs/{name}", auth.Viewer, s.page)}
	}
}

// index lists all pages of the documentation.
func (s pages) index(r *web.Request) (web.Response, error) {
	files, err := fs.Glob(docs.Pages, "*.md")
	if err != nil {
		return nil, fmt.Errorf("list the documentation: %w", err)
	}
	v := templates.GuideIndex{Frame: s.site.Frame(r, "Documentation")}
	for _, file := range files {
		markdown, err := fs.ReadFile(docs.Pages, file)
		if err != nil {
			return nil, fmt.Errorf("list the documentation: %w", err)
		}
		v.Pages = append(v.Pages, templates.GuideLink{Title: titleOf(markdown), Href: s.site.Base + docs.Path(file)})
	}
	return web.Page{Component: templates.GuideIndexPage(v)}, nil
}

// page shows one page of the documentation, so that what a page or a notification refers to is one click away at night.
func (s pages) page(r *web.Request) (web.Response, error) {
	markdown, err := fs.ReadFile(docs.Pages, r.PathValue("name")+".md")
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		return nil, &web.LedBack{Err: web.NotFound("There is no such page in the documentation"), Href: s.site.Base + "/docs", Word: "To the documentation"}
	}
	if err != nil {
		return nil, fmt.Errorf("read the documentation: %w", err)
	}
	html, err := toHTML(markdown, s.site.Base)
	if err != nil {
		return nil, err
	}
	title := titleOf(markdown)
	return web.Page{Component: templates.GuidePage(templates.Guide{
		Frame: s.site.Frame(r, title), HTML: html,
		Crumbs: []templates.Crumb{show.Crumb("Documentation", s.site.Base+"/docs"), show.Crumb(title, "")},
	})}, nil
}

// titleOf is the first heading of a page.
func titleOf(markdown []byte) string {
	first, _, _ := bytes.Cut(markdown, []byte("\n"))
	return strings.TrimSpace(strings.TrimLeft(string(first), "#"))
}

// toHTML renders a page whose links lead to other pages of ours. Raw HTML in it is left out.
func toHTML(markdown []byte, base string) (string, error) {
	md := goldmark.New(
		// Attributes in place of styles, which the content security policy refuses.
		goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))),
		goldmark.WithParserOptions(parser.WithAutoHeadingID(), parser.WithASTTransformers(util.Prioritized(links{base}, 100))),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(scrolled{}, 100))),
	)
	var html bytes.Buffer
	if err := md.Convert(markdown, &html, parser.WithContext(parser.NewContext(parser.WithIDs(anchors{})))); err != nil {
		return "", fmt.Errorf("render the documentation: %w", err)
	}
	return html.String(), nil
}

// scrolled let a table that is wider than the screen scroll by itself, with the keyboard too.
type scrolled struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (scrolled) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(tables.KindTable, func(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
		part := "</table></div>\n"
		if entering {
			part = "<div class=\"scroll\" role=\"group\" aria-label=\"Table\" tabindex=\"0\"><table>\n"
		}
		_, err := w.WriteString(part)
		return ast.WalkContinue, err
	})
}

// anchors names headings as the places where people read Markdown do, underscores kept: the ones of alerts.md are names of rules.
type anchors map[string]int

// Generate implements parser.IDs.
func (g anchors) Generate(heading []byte, _ ast.NodeKind) []byte {
	name := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(string(heading)))
	if g[name]++; g[name] > 1 {
		name += "-" + strconv.Itoa(g[name]-1)
	}
	return []byte(name)
}

// Put implements parser.IDs.
func (g anchors) Put(name []byte) { g[string(name)]++ }

// links turns links between files into links between pages.
type links struct{ base string }

// Transform implements parser.ASTTransformer.
func (g links) Transform(doc *ast.Document, _ text.Reader, _ parser.Context) {
	var lost []*ast.Link
	// The walk fails only where its function does.
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		link, ok := n.(*ast.Link)
		if !ok || !entering {
			return ast.WalkContinue, nil
		}
		to := string(link.Destination)
		switch page := docs.Path(to); {
		case page != "":
			link.Destination = []byte(g.base + page)
		case !strings.HasPrefix(to, "https://") && !strings.HasPrefix(to, "#"):
			lost = append(lost, link)
		}
		return ast.WalkContinue, nil
	})
	for _, link := range lost { // a file that the program does not hold: its name stays as text
		for link.FirstChild() != nil {
			link.Parent().InsertBefore(link.Parent(), link, link.FirstChild())
		}
		link.Parent().RemoveChild(link.Parent(), link)
	}
}
