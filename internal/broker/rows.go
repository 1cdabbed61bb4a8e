package broker

import (
	"encoding/json"
	"errors"
	"fmt"
)

// rows decodes a list of objects row by row, either a bare list or a page {"items": [...], "page_count": n, ...}.
type rows[T any] struct {
	each func(*T)
	// pages is the number of pages, 1 for a bare list, 0 if the page does not say.
	pages int
}

// decode implements streamed.
func (r *rows[T]) decode(d *json.Decoder) error {
	r.pages = 0
	opening, err := d.Token()
	if err != nil {
		return err
	}
	switch opening {
	case json.Delim('['):
		r.pages = 1
		return r.list(d)
	case json.Delim('{'):
		return r.page(d)
	}
	return unexpected(opening)
}

func (r *rows[T]) page(d *json.Decoder) error {
	found := false
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		switch key {
		case "items":
			found = true
			err = r.items(d)
		case "page_count":
			var n number
			if err = d.Decode(&n); err == nil && n.value != nil {
				r.pages = int(*n.value)
			}
		default:
			err = d.Decode(&ignored{})
		}
		if err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return err
	}
	if !found {
		return errors.New("a page without items")
	}
	return nil
}

func (r *rows[T]) items(d *json.Decoder) error {
	opening, err := d.Token()
	if err != nil {
		return err
	}
	if opening != json.Delim('[') {
		return unexpected(opening)
	}
	return r.list(d)
}

// list decodes the rest of a list whose bracket was read. A row that is no object is left out; as the fields of rows
// accept any type, no other type error can occur.
func (r *rows[T]) list(d *json.Decoder) error {
	for d.More() {
		var row T
		err := d.Decode(&row)
		var shape *json.UnmarshalTypeError
		if errors.As(err, &shape) {
			continue
		}
		if err != nil {
			return err
		}
		r.each(&row)
	}
	_, err := d.Token()
	return err
}

// ignored is a value that is read over.
type ignored struct{}

// UnmarshalJSON implements json.Unmarshaler.
func (*ignored) UnmarshalJSON([]byte) error { return nil }

func unexpected(token json.Token) error {
	return fmt.Errorf("%v where a list of objects belongs", token)
}
