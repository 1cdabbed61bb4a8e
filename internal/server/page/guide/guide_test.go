package guide

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"dedup-dashboard/docs"
)

func TestThePagesOfTheDocumentationLinkToOneAnother(t *testing.T) {
	files, err := fs.Glob(docs.Pages, "*.md")
	if err != nil || len(files) < 10 {
		t.Fatalf("pages %v, error %v", files, err)
	}
	anchors, links := map[string]bool{}, map[string]string{}
	for _, file := range files {
		markdown, err := fs.ReadFile(docs.Pages, file)
		if err != nil {
			t.Fatal(err)
		}
		html, err := toHTML(markdown, "/dedup")
		if err != nil {
			t.Fatal(err)
		}
		page := "/dedup" + docs.Path(file)
		anchors[page] = true
		for _, m := range regexp.MustCompile(`<h\d id="([^"]+)"`).FindAllStringSubmatch(html, -1) {
			anchors[page+"#"+m[1]] = true
		}
		for _, m := range regexp.MustCompile(`<a href="([^"]+)"`).FindAllStringSubmatch(html, -1) {
			if to := m[1]; strings.HasPrefix(to, "#") {
				links[page+to] = file
			} else if !strings.HasPrefix(to, "https://") {
				links[to] = file
			}
		}
		if comments := strings.Count(string(markdown), "<!--"); strings.Contains(html, "style=") || strings.Count(html, "<!-- raw HTML omitted -->") > comments {
			t.Errorf("%s has a style or HTML of its own, which is not shown", file)
		}
		if strings.Contains(html, "<th></th>") {
			t.Errorf("%s has a table whose column has no name", file)
		}
	}
	for to, from := range links {
		if !anchors[to] {
			t.Errorf("%s links to %s, which there is not", from, to)
		}
	}
	if len(links) < 10 {
		t.Errorf("only %d links found", len(links))
	}
}
