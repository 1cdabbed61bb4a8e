package static

import (
	"compress/gzip"
	"io"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

func TestACloneWithoutTheBundleServesItsOwnStylesheet(t *testing.T) {
	a := load(source, fstest.MapFS{"dist/.gitkeep": {}})
	if _, ok := a.names["app.js"]; ok {
		t.Error("there is a script without a bundle")
	}
	name := a.names["app.css"]
	if !regexp.MustCompile(`^app-[0-9a-f]{8}\.css$`).MatchString(name) {
		t.Fatalf("app.css is named %q", name)
	}
	if got := a.files[name]; got.gzip == nil || !strings.HasPrefix(got.kind, "text/css") {
		t.Errorf("kind %q, gzip %d bytes", got.kind, len(got.gzip))
	}
}

func TestTheBundleTakesThePlaceOfTheSources(t *testing.T) {
	a := load(source, fstest.MapFS{
		"dist/manifest.json": {Data: []byte(`{"app.js":"app-X.js","app.css":"app-Y.css","gone.js":"gone-Z.js"}`)},
		"dist/app-X.js":      {Data: []byte("script")}, "dist/app-X.js.br": {Data: []byte("br")}, "dist/app-Y.css": {Data: []byte("style")},
	})
	if a.names["app.js"] != "app-X.js" || a.names["app.css"] != "app-Y.css" {
		t.Errorf("names %v", a.names)
	}
	if string(a.files["app-X.js"].br) != "br" {
		t.Error("the compressed file was not found")
	}
	if _, ok := a.names["gone.js"]; ok {
		t.Error("a file that the manifest names but the bundle lacks is served")
	}
}

func TestABrokenManifestLeavesTheSources(t *testing.T) {
	a := load(source, fstest.MapFS{"dist/manifest.json": {Data: []byte("{")}})
	if a.names["app.css"] == "" {
		t.Error("no stylesheet")
	}
}

func TestAssetsAreCompressedAndKeptForEver(t *testing.T) {
	r := httptest.NewRequest("GET", URL("app.css"), nil)
	r.Header.Set("Accept-Encoding", "gzip, deflate")
	w := httptest.NewRecorder()
	Handler().ServeHTTP(w, r)
	if w.Code != 200 || w.Header().Get("Cache-Control") != "public, max-age=31536000, immutable" || w.Header().Get("Vary") != "Accept-Encoding" {
		t.Fatalf("%d %v", w.Code, w.Header())
	}
	z, err := gzip.NewReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(z)
	if err != nil || !strings.Contains(string(body), "light-dark") {
		t.Errorf("body of %d bytes, error %v", len(body), err)
	}
}

func TestUnknownAssetsAreNotFound(t *testing.T) {
	for _, path := range []string{"/static/", "/static/app.css", "/static/../static.go", "/static/dist/manifest.json"} {
		w := httptest.NewRecorder()
		Handler().ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if w.Code != 404 {
			t.Errorf("%s answers %d", path, w.Code)
		}
	}
}

func TestAnEncodingIsUsedOnlyIfItIsAccepted(t *testing.T) {
	for _, tt := range []struct {
		header string
		want   bool
	}{
		{"br", true}, {"gzip, br", true}, {"gzip, br;q=0.5", true}, {"br;q=0", false}, {"gzip", false}, {"", false}, {"brotli", false}, {"BR ; q=0", false},
	} {
		if got := accepts(tt.header, "br"); got != tt.want {
			t.Errorf("accepts(%q, br) = %v", tt.header, got)
		}
	}
}
