package api

import (
	"bytes"
	"encoding/json"
	"io"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
)

// Read reads the body of a request strictly: an unknown field is an error, so that a typing mistake cannot widen a plan.
func Read(r *web.Request, into any) error {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return web.FormError(err)
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return &dedup.Error{Kind: dedup.Invalid, Public: "The body is not the JSON that this address takes: " + show.Clean(err.Error(), 200), Err: err}
	}
	if _, err := dec.Token(); err != io.EOF {
		return web.Invalid("The body has something after its JSON object")
	}
	return nil
}
