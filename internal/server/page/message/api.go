package message

import (
	"dedup-dashboard/internal/server/letter"
	"dedup-dashboard/internal/server/web"
)

// oneLetterJSON is one dead letter with its headers, and its body as far as the role may see it.
type oneLetterJSON struct {
	letter.JSON
	Failure    string           `json:"failure"`
	Exchange   string           `json:"exchange"`
	RoutingKey string           `json:"routing_key"`
	Properties propertiesJSON   `json:"properties"`
	Headers    map[string]typed `json:"headers"`
	Deaths     []pastDeathJSON  `json:"deaths"`
	Malformed  string           `json:"malformed"`
	// NotUTF8 holds the bytes of what JSON cannot say of the texts above, by their names.
	NotUTF8 map[string][]byte `json:"not_utf8_base64,omitempty"`
	Body    []byte            `json:"body_base64"`
	bodyHashes
	Masked bool   `json:"masked"`
	Hidden string `json:"hidden"`
}

// apiLetter gives one dead letter of a scan, masked.
func (s pages) apiLetter(r *web.Request) (web.Response, error) {
	query := r.URL.Query()
	scanID, ref := query.Get("scan"), query.Get("ref")
	if scanID == "" || ref == "" || len(scanID) > web.MaxRef || len(ref) > web.MaxRef {
		return nil, web.Invalid("Name a message as ?scan=ID&ref=REF")
	}
	scan, err := s.letters.Kept(r.Context(), r.Asker(), scanID)
	if err != nil {
		return nil, scanGone(err)
	}
	l, err := s.letters.Letter(r.Context(), r.Asker(), scanID, ref)
	if err != nil {
		return nil, err
	}
	j := oneLetterJSON{
		JSON: letter.JSONOf(l, scan), Failure: l.Failure, Exchange: l.Exchange, RoutingKey: l.RoutingKey, Properties: propertiesOf(l.Properties), Headers: headersOf(l.Headers),
		Deaths: historyOf(l), NotUTF8: notUTF8(l), Malformed: l.Malformed, Body: l.Body, bodyHashes: bodyHashesOf(s.site.Masker, r.Who, l.Hash), Masked: l.Masked, Hidden: l.Hidden,
	}
	return web.JSON{Value: j}, nil
}
