package static

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"regexp"
	"strings"
	"sync"
	"time"
)

// source holds what is served without a bundle: the stylesheets as they were written, and the icon.
//
//go:embed *.css favicon.svg
var source embed.FS

// bundle holds what the build made of the npm packages and our sources; in a fresh clone it is empty.
//
//go:embed all:dist
var bundle embed.FS

// assets are the files by hashed name, and the hashed names by plain name.
type assets struct {
	files map[string]asset
	names map[string]string
}

// asset is one file, plain and compressed; gzip and br are nil where compression is not worth it or was not made.
type asset struct {
	kind  string
	plain []byte
	gzip  []byte
	br    []byte
}

// loaded reads the embedded files once; they cannot change while the program runs.
var loaded = sync.OnceValue(func() assets { return load(source, bundle) })

// load prefers the bundle, and hashes the sources itself where there is none.
func load(source, bundle fs.FS) assets {
	a := assets{files: map[string]asset{}, names: map[string]string{}}
	for _, name := range []string{"app.css", "favicon.svg"} {
		if body, err := fs.ReadFile(source, name); err == nil {
			a.addSource(name, inlineImports(source, body))
		}
	}
	manifest, err := fs.ReadFile(bundle, "dist/manifest.json")
	if err != nil {
		return a
	}
	var built map[string]string
	if err := json.Unmarshal(manifest, &built); err != nil {
		return a
	}
	for name, hashed := range built {
		a.addBuilt(bundle, name, hashed)
	}
	return a
}

func (a assets) addSource(name string, body []byte) {
	sum := sha256.Sum256(body)
	ext := path.Ext(name)
	hashed := strings.TrimSuffix(name, ext) + "-" + hex.EncodeToString(sum[:4]) + ext
	a.files[hashed] = asset{kind: mime.TypeByExtension(ext), plain: body, gzip: compress(body)}
	a.names[name] = hashed
}

func (a assets) addBuilt(bundle fs.FS, name, hashed string) {
	body, err := fs.ReadFile(bundle, "dist/"+hashed)
	if err != nil {
		return
	}
	file := asset{kind: mime.TypeByExtension(path.Ext(hashed)), plain: body}
	if b, err := fs.ReadFile(bundle, "dist/"+hashed+".gz"); err == nil {
		file.gzip = b
	}
	if b, err := fs.ReadFile(bundle, "dist/"+hashed+".br"); err == nil {
		file.br = b
	}
	a.files[hashed] = file
	a.names[name] = hashed
}

var importRule = regexp.MustCompile(`@import "\./([a-z]+\.css)";`)

// inlineImports puts the files that a stylesheet imports in place of its rules, as the bundler does: one name with one
// hash stands for all of them.
func inlineImports(source fs.FS, body []byte) []byte {
	return importRule.ReplaceAllFunc(body, func(rule []byte) []byte {
		part, err := fs.ReadFile(source, string(importRule.FindSubmatch(rule)[1]))
		if err != nil {
			return nil
		}
		return part
	})
}

// compress returns the gzip of a file, or nil if that saves nothing.
func compress(body []byte) []byte {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil
	}
	if _, err := w.Write(body); err != nil {
		return nil
	}
	if err := w.Close(); err != nil || b.Len() >= len(body) {
		return nil
	}
	return b.Bytes()
}

func serve(w http.ResponseWriter, r *http.Request) {
	_, name, _ := strings.Cut(r.URL.Path, "/static/")
	file, ok := loaded().files[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", file.kind)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Vary", "Accept-Encoding")
	body := file.plain
	switch accepted := r.Header.Get("Accept-Encoding"); {
	case file.br != nil && accepts(accepted, "br"):
		body = file.br
		h.Set("Content-Encoding", "br")
	case file.gzip != nil && accepts(accepted, "gzip"):
		body = file.gzip
		h.Set("Content-Encoding", "gzip")
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

// accepts reports whether an Accept-Encoding header names an encoding without refusing it.
func accepts(header, encoding string) bool {
	for part := range strings.SplitSeq(header, ",") {
		name, parameter, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.EqualFold(strings.TrimSpace(name), encoding) {
			q := strings.ReplaceAll(parameter, " ", "")
			return q != "q=0" && q != "q=0.0" && q != "q=0.00" && q != "q=0.000"
		}
	}
	return false
}
